// A device as the server of a simulated world, with any number of connections.
#include "conformance/interop/server.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "conformance/interop/station.hpp"
#include "core/wire/ethernet.hpp"
#include "core/wire/ipv4.hpp"

namespace lockstep::conformance {
namespace {

constexpr std::uint32_t backlog = 64;
constexpr std::uint64_t read_most = 65'536, write_most = 16'384;

}  // namespace

DeviceServer::DeviceServer(std::unique_ptr<DevicePeer> peer, Link link,
                           const std::vector<DeviceService>& services)
    : DeviceNode(std::move(peer)), link_(std::move(link)) {
  for (const char* const call : {"listen", "accept", "send", "receive", "finish", "close"}) {
    if (!peer_->about().calls.contains(call)) {
      throw DeviceFault(
          fmt::format("device {}: {}: the device has no such call", peer_->about().name, call));
    }
  }
  for (DeviceService const& service : services) {
    DeviceAnswer const answer = ask(LOCKSTEP_CALL_LISTEN, service.port.value, backlog);
    if (answer.result < 0) {
      throw DeviceFault(fmt::format("device {}: listen: port {} was refused", peer_->about().name,
                                    service.port.value));
    }
    listeners_.push_back({service, static_cast<std::uint64_t>(answer.result)});
  }
}

void DeviceServer::put(sim::StationDesk& desk, const DeviceAnswer& answer) {
  std::vector<std::byte> frame;
  for (auto const& packet : answer.packets) {
    wire::Ipv4Packet parsed;
    bool const whole = wire::parse(packet, parsed) == Drop::none;
    Mac to = link_.gateway;
    for (auto const& [address, mac] : link_.neighbours) {
      to = whole && parsed.header.destination == address ? mac : to;
    }
    frame.resize(wire::ethernet_header_bytes + packet.size());
    wire::write(wire::EthernetHeader{to, link_.own, wire::EtherType::ipv4}, frame);
    std::memcpy(frame.data() + wire::ethernet_header_bytes, packet.data(), packet.size());
    desk.send(frame);
  }
}

void DeviceServer::take(sim::StationDesk& desk, std::span<const std::byte> frame) {
  wire::EthernetFrame parsed;
  if (wire::parse(frame, parsed) != Drop::none || parsed.header.destination != link_.own ||
      parsed.header.type != wire::EtherType::ipv4) {
    return;
  }
  go_to(desk);
  std::string_view const octets(reinterpret_cast<const char*>(parsed.payload.data()),
                                parsed.payload.size());
  put(desk, ask(LOCKSTEP_CALL_PACKET, 0, 0, octets));
  worked_ = desk.now();
  work();
  go_to(desk);
}

void DeviceServer::work_at_deadline(sim::StationDesk& desk) {
  go_to(desk);
  // A timer may have ended a connection.
  if (desk.now() >= worked_ + Duration::seconds(1)) {
    worked_ = desk.now();
    work();
    go_to(desk);
  }
}

void DeviceServer::work() {
  for (Listener const& listener : listeners_) {
    for (DeviceAnswer answer = ask(LOCKSTEP_CALL_ACCEPT, listener.handle); answer.result > 0;
         answer = ask(LOCKSTEP_CALL_ACCEPT, listener.handle)) {
      Connection fresh;
      fresh.service = listener.service;
      fresh.handle = static_cast<std::uint64_t>(answer.result);
      connections_.push_back(fresh);
    }
  }
  std::erase_if(connections_, [this](Connection& each) { return !serve(each); });
}

/// False: the connection is over.
bool DeviceServer::serve(Connection& connection) {
  if (!read(connection) || !write(connection)) {
    ask(LOCKSTEP_CALL_CLOSE, connection.handle);
    return false;
  }
  return true;
}

bool DeviceServer::read(Connection& connection) {
  while (!connection.peer_finished) {
    DeviceAnswer const answer = ask(LOCKSTEP_CALL_RECEIVE, connection.handle, read_most);
    if (answer.result == LOCKSTEP_DEVICE_AGAIN || answer.result == LOCKSTEP_DEVICE_REFUSED) {
      return true;
    }
    if (answer.result < 0) {
      return false;
    }
    connection.received += answer.octets.size();
    connection.peer_finished = answer.result == 0;
  }
  return true;
}

bool DeviceServer::write(Connection& connection) {
  DeviceService const& service = connection.service;
  std::uint64_t const goal = connection.received / service.request * service.reply;
  while (connection.sent < goal) {
    std::string piece(std::min(write_most, goal - connection.sent), '\0');
    for (std::size_t i = 0; i < piece.size(); ++i) {
      piece[i] = static_cast<char>(pattern_octet(service.pattern, connection.sent + i));
    }
    DeviceAnswer const answer = ask(LOCKSTEP_CALL_SEND, connection.handle, 0, piece);
    if (answer.result <= 0) {
      return answer.result != LOCKSTEP_DEVICE_GONE;
    }
    connection.sent += static_cast<std::uint64_t>(answer.result);
  }
  // The end follows what is due; the connection is then left to the device.
  return !connection.peer_finished;
}

}  // namespace lockstep::conformance
