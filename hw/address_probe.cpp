// Sends the probes by a packet socket, and reads ARP packets until one claims the address.
#include "hw/address_probe.hpp"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <span>

#include "core/wire/arp.hpp"
#include "core/wire/ethernet.hpp"
#include "hw/poll/clock.hpp"
#include "hw/poll/descriptor.hpp"

namespace lockstep::hw {
namespace {

constexpr int probes = 3;
constexpr Duration probe_wait = Duration::milliseconds(150);

// Whether an ARP packet of another host has the address as its sender's.
std::optional<Mac> owner_in(std::span<const std::byte> bytes, const Mac& ours, Ipv4 address) {
  wire::EthernetFrame frame;
  wire::ArpPacket packet;
  bool const claims = wire::parse(bytes, frame) == Drop::none &&
                      frame.header.type == wire::EtherType::arp &&
                      wire::parse(frame.payload, packet) == Drop::none &&
                      packet.sender == address && packet.sender_mac != ours;
  return claims ? std::optional(packet.sender_mac) : std::nullopt;
}

// Reads until a packet claims the address, or `until`.
std::optional<Mac> listen(const Descriptor& socket, const Mac& ours, Ipv4 address, Instant until) {
  MonotonicClock clock;
  for (Instant now = clock.now(); now < until; now = clock.now()) {
    pollfd what{socket.number(), POLLIN, 0};
    std::array<std::byte, 128> octets{};
    auto const left = static_cast<int>(until.since(now).ns / 1'000'000 + 1);
    if (poll(&what, 1, left) <= 0) {
      continue;
    }
    ssize_t const got = recv(socket.number(), octets.data(), octets.size(), MSG_DONTWAIT);
    if (got > 0) {
      auto const mac =
          owner_in(std::span(octets).first(static_cast<std::size_t>(got)), ours, address);
      if (mac) {
        return mac;
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Mac> owner_on_wire(const InterfaceFacts& interface, Ipv4 address) {
  Descriptor const opened(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ARP)));
  sockaddr_ll local{};
  local.sll_family = AF_PACKET;
  local.sll_protocol = htons(ETH_P_ARP);
  local.sll_ifindex = interface.index;
  if (!interface.ethernet || !interface.up || !opened.is_open() ||
      bind(opened.number(), reinterpret_cast<sockaddr*>(&local), sizeof local) != 0) {
    return std::nullopt;
  }
  std::array<std::byte, 60> frame{};
  Bytes const header =
      wire::write({Mac::broadcast(), interface.mac, wire::EtherType::arp, 0}, frame);
  wire::ArpPacket probe;
  probe.sender_mac = interface.mac;
  probe.target = address;
  wire::write(probe, std::span(frame).subspan(header.count));
  MonotonicClock clock;
  for (int i = 0; i != probes; ++i) {
    if (send(opened.number(), frame.data(), frame.size(), 0) < 0) {
      return std::nullopt;
    }
    if (auto const mac = listen(opened, interface.mac, address, clock.now() + probe_wait)) {
      return mac;
    }
  }
  return std::nullopt;
}

}  // namespace lockstep::hw
