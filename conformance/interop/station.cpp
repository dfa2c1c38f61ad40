// A device as a station of a simulated world, with a program that exchanges a stream.
#include "conformance/interop/station.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "core/wire/ethernet.hpp"

namespace lockstep::conformance {
namespace {

constexpr Port opener_port{40'000};

}  // namespace

std::byte pattern_octet(std::uint64_t pattern, std::uint64_t at) {
  std::uint64_t mixed = pattern ^ (at / 8 * 0x9e37'79b9'7f4a'7c15);
  mixed ^= mixed >> 29;
  mixed *= 0xbf58'476d'1ce4'e5b9;
  return static_cast<std::byte>(mixed >> (at % 8 * 8));
}

DeviceStation::DeviceStation(std::unique_ptr<DevicePeer> peer, const Link& link,
                             const StreamPlan& plan)
    : DeviceNode(std::move(peer)), link_(link), plan_(plan) {
  for (const char* const call :
       {"listen", "accept", "connect", "send", "receive", "finish", "close", "state"}) {
    if (!peer_->about().calls.contains(call)) {
      wrong(fmt::format("the device has no call {}", call));
      return;
    }
  }
  if (!plan_.opens) {
    DeviceAnswer const answer = ask(LOCKSTEP_CALL_LISTEN, plan_.port.value, 4);
    listener_ = static_cast<std::uint64_t>(answer.result);
    if (answer.result < 0) {
      wrong("listen() was refused");
    }
  }
}

/// The first thing that goes wrong counts.
void DeviceStation::wrong(const std::string& what) {
  if (progress_.wrong.empty()) {
    progress_.wrong = what;
  }
}

void DeviceStation::put(sim::StationDesk& desk, const DeviceAnswer& answer) {
  std::vector<std::byte> frame;
  for (auto const& packet : answer.packets) {
    if (packet.size() > link_.mtu) {
      wrong(fmt::format("a packet of {} octets exceeds the MTU of {}", packet.size(), link_.mtu));
      continue;
    }
    frame.resize(wire::ethernet_header_bytes + packet.size());
    auto const type = link_.ipv6 ? wire::EtherType::ipv6 : wire::EtherType::ipv4;
    wire::write(wire::EthernetHeader{link_.peer, link_.own, type}, frame);
    std::memcpy(frame.data() + wire::ethernet_header_bytes, packet.data(), packet.size());
    desk.send(frame);
  }
}

void DeviceStation::take(sim::StationDesk& desk, std::span<const std::byte> frame) {
  wire::EthernetFrame parsed;
  auto const type = link_.ipv6 ? wire::EtherType::ipv6 : wire::EtherType::ipv4;
  if (wire::parse(frame, parsed) != Drop::none || parsed.header.destination != link_.own ||
      parsed.header.type != type) {
    return;
  }
  go_to(desk);
  std::string_view const octets(reinterpret_cast<const char*>(parsed.payload.data()),
                                parsed.payload.size());
  put(desk, ask(LOCKSTEP_CALL_PACKET, 0, 0, octets));
  work(desk.now());
  go_to(desk);
}

void DeviceStation::work_at_deadline(sim::StationDesk& desk) {
  go_to(desk);
  // What the program can do changes when a packet arrives; but a timer may end the connection. Not
  // at each timer: some devices' timers run as long as their programs do something.
  Instant const now = desk.now();
  if (now >= program_due() || now >= worked_ + Duration::seconds(1)) {
    work(now);
    go_to(desk);
  }
}

Instant DeviceStation::deadline() const { return earlier(device_due(), program_due()); }

/// When the program opens the connection, or reads the next time.
Instant DeviceStation::program_due() const {
  if (!progress_.wrong.empty()) {
    return Instant::never();
  }
  if (!connection_) {
    return plan_.opens ? Instant{0} + plan_.start : Instant::never();
  }
  bool const waits = plan_.read_every.ns != 0 && !progress_.peer_finished;
  return waits ? read_at_ : Instant::never();
}

void DeviceStation::work(Instant now) {
  worked_ = now;
  if (!connection_) {
    open(now);
  }
  if (!connection_ || closed_ || !progress_.wrong.empty()) {
    return;
  }
  read(now);
  if (is_open()) {
    write();
  }
  if (progress_.done() && !closed_) {
    closed_ = true;
    ask(LOCKSTEP_CALL_CLOSE, *connection_);
  }
}

void DeviceStation::open(Instant now) {
  if (!plan_.opens) {
    DeviceAnswer const answer = ask(LOCKSTEP_CALL_ACCEPT, *listener_);
    if (answer.result > 0) {
      connection_ = static_cast<std::uint64_t>(answer.result);
    }
  } else if (now >= Instant{0} + plan_.start) {
    DeviceAnswer const answer = ask(LOCKSTEP_CALL_CONNECT, opener_port.value, plan_.port.value);
    connection_ = static_cast<std::uint64_t>(answer.result);
    if (answer.result < 0) {
      wrong("connect() was refused");
    }
  }
  read_at_ = now + plan_.read_every;
}

void DeviceStation::read(Instant now) {
  if (progress_.peer_finished || (plan_.read_every.ns != 0 && now < read_at_)) {
    return;
  }
  read_at_ = now + plan_.read_every;
  for (;;) {
    DeviceAnswer const answer = ask(LOCKSTEP_CALL_RECEIVE, *connection_, plan_.read_most);
    if (answer.result == LOCKSTEP_DEVICE_AGAIN || answer.result == LOCKSTEP_DEVICE_REFUSED) {
      return;  // nothing, or not connected yet
    }
    if (answer.result < 0) {
      wrong(fmt::format("the connection ended after {} of {} octets", progress_.received,
                        plan_.receive));
      return;
    }
    if (answer.result == 0) {
      progress_.peer_finished = true;
      if (progress_.received != plan_.receive) {
        wrong(fmt::format("the stream ended after {} of {} octets", progress_.received,
                          plan_.receive));
      }
      return;
    }
    for (char const octet : answer.octets) {
      if (static_cast<std::byte>(octet) != pattern_octet(plan_.peers_pattern, progress_.received)) {
        wrong(fmt::format("octet {} of the stream is not the one that was written",
                          progress_.received));
        return;
      }
      ++progress_.received;
    }
    if (plan_.read_every.ns != 0) {
      return;
    }
  }
}

/// Whether the connection is established; to close one before that would abandon it (RFC 9293
/// 3.10.4).
bool DeviceStation::is_open() {
  if (!open_ && plan_.opens) {
    std::string const state = ask(LOCKSTEP_CALL_STATE, opener_port.value, plan_.port.value).octets;
    open_ = state == "ESTABLISHED" || state == "CLOSE-WAIT";
  }
  return open_ || !plan_.opens;
}

void DeviceStation::write() {
  while (!progress_.finished && progress_.sent < plan_.send) {
    std::string piece(std::min<std::uint64_t>(plan_.write_most, plan_.send - progress_.sent), '\0');
    for (std::size_t i = 0; i < piece.size(); ++i) {
      piece[i] = static_cast<char>(pattern_octet(plan_.pattern, progress_.sent + i));
    }
    DeviceAnswer const answer = ask(LOCKSTEP_CALL_SEND, *connection_, 0, piece);
    if (answer.result == LOCKSTEP_DEVICE_GONE) {
      wrong(fmt::format("the connection ended after {} of {} octets were sent", progress_.sent,
                        plan_.send));
    }
    if (answer.result <= 0) {
      return;
    }
    progress_.sent += static_cast<std::uint64_t>(answer.result);
  }
  if (!progress_.finished && progress_.sent == plan_.send) {
    DeviceAnswer const answer = ask(LOCKSTEP_CALL_FINISH, *connection_);
    progress_.finished = answer.result >= 0;
    if (answer.result == LOCKSTEP_DEVICE_GONE) {
      wrong("the connection ended before its end could be sent");
    }
  }
}

}  // namespace lockstep::conformance
