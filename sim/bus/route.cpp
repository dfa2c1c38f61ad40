// Forwards frames at routers: RFC 1812 5.2 and RFC 8200, with the errors of RFC 4443.
#include <algorithm>

#include "core/wire/arp.hpp"
#include "core/wire/ethernet.hpp"
#include "core/wire/ipv4.hpp"
#include "core/wire/ipv6.hpp"
#include "sim/bus/bus.hpp"
#include "sim/bus/icmp_error.hpp"

namespace lockstep::sim {
namespace {

// The source and destination of an IP packet and its hops left; false: it is not valid.
struct Routed {
  IpAddress source;
  IpAddress destination;
  std::uint32_t hops = 0;
  bool may_fragment = false;
};

bool read_packet(std::span<const std::byte> ip, Routed& out) {
  wire::Ipv4Packet v4;
  wire::Ipv6Packet v6;
  if (wire::parse(ip, v4) == Drop::none) {
    out = {v4.header.source, v4.header.destination, v4.header.time_to_live,
           !v4.header.dont_fragment};
    return true;
  }
  if (wire::parse(ip, v6) == Drop::none) {
    out = {v6.header.source, v6.header.destination, v6.header.hop_limit, false};
    return true;
  }
  return false;
}

// One hop less; updates the checksum of IPv4 (RFC 1624, equation 3).
void count_hop(std::span<std::byte> ip) {
  if ((wire::load8(ip.data()) >> 4) == 6) {
    ip[7] = static_cast<std::byte>(wire::load8(ip.data() + 7) - 1);
    return;
  }
  std::uint32_t const before = wire::load16(ip.data() + 8);
  std::uint32_t const after = before - 0x100;
  wire::store16(ip.data() + 8, static_cast<std::uint16_t>(after));
  std::uint32_t const sum =
      (~std::uint32_t{wire::load16(ip.data() + 10)} & 0xffff) + (~before & 0xffff) + after;
  std::uint32_t const once = (sum & 0xffff) + (sum >> 16);
  wire::store16(ip.data() + 10, static_cast<std::uint16_t>(~((once & 0xffff) + (once >> 16))));
}

void address_frame(std::span<std::byte> frame, Mac destination, Mac source) {  // NOLINT
  for (std::size_t i = 0; i < 6; ++i) {
    frame[i] = static_cast<std::byte>(destination.octets[i]);
    frame[6 + i] = static_cast<std::byte>(source.octets[i]);
  }
}

// The address of the port of the error, or of another one with the right family, or one of its own.
IpAddress source_of_error(const std::vector<RouterPort>& ports, std::uint32_t port, bool v4) {
  if (ports[port].address.is_v4() == v4) {
    return ports[port].address;
  }
  for (const RouterPort& each : ports) {
    if (each.address.is_v4() == v4) {
      return each.address;
    }
  }
  std::uint64_t const own = std::uint64_t{ports[0].mac.octets[2]} << 8 | ports[0].mac.octets[3];
  return v4 ? IpAddress::v4(100, 127, ports[0].mac.octets[2], ports[0].mac.octets[3])
            : IpAddress{std::uint64_t{0xfd00} << 48, own + 1};
}

}  // namespace

void Bus::route(Instant now, FrameId frame, Schedule& schedule, const Watch& watch) {
  LaneId const came{frames_.lane(frame)};
  const Router& at = routers_[ends_[came.value].index];
  const RouterPort& in = at.ports[ports_[came.value]];
  wire::EthernetFrame parsed;
  if (wire::parse(frames_.bytes(frame), parsed) != Drop::none || parsed.header.vlan != 0) {
    drop(now, frame, LinkDrop::not_forwarded, watch);
    return;
  }
  if (parsed.header.type == wire::EtherType::arp) {
    answer_arp({now, at.out[ports_[came.value]], frame}, in, schedule, watch);
    return;
  }
  Routed packet;
  bool const ours = parsed.header.destination == in.mac && read_packet(parsed.payload, packet);
  bool const to_router = std::any_of(at.ports.begin(), at.ports.end(), [&](const RouterPort& port) {
    return port.address == packet.destination;
  });
  if (!ours || to_router || packet.destination.is_multicast()) {
    drop(now, frame, LinkDrop::not_forwarded, watch);
    return;
  }
  if (packet.hops <= 1) {
    refuse(now, frame, LinkDrop::hops_exceeded, {RouterError::hops_exceeded, 0, {}, {}}, schedule,
           watch);
    return;
  }
  const ForwardEntry* const entry = at.table.entry_for(packet.destination);
  const Mac* const next = entry == nullptr       ? nullptr
                          : entry->next == Mac{} ? at.table.mac_of(packet.destination)
                                                 : &entry->next;
  if (next == nullptr) {
    refuse(now, frame, LinkDrop::no_route,
           {entry == nullptr ? RouterError::no_network : RouterError::no_host, 0, {}, {}}, schedule,
           watch);
    return;
  }
  LaneId const out = at.out[entry->port];
  std::uint32_t const mtu = lanes_[out.value].spec().mtu_bytes;
  if (parsed.payload.size() > mtu) {
    refuse(now, frame, LinkDrop::mtu_exceeded,
           {packet.may_fragment ? RouterError::no_host : RouterError::too_big, mtu, {}, {}},
           schedule, watch);
    return;
  }
  lanes_[came.value].count_delivered(frames_.length(frame));
  std::span<std::byte> const bytes = frames_.bytes(frame);
  count_hop(bytes.subspan(bytes.size() - parsed.payload.size()));
  address_frame(bytes, *next, at.ports[entry->port].mac);
  send({now, out, frame}, schedule, watch);
}

bool Bus::may_send_error(Router& at, Instant now) const {
  constexpr Duration span = Duration::milliseconds(100);
  constexpr std::uint32_t errors_max = 100;
  if (now.since(at.errors_from) >= span) {
    at.errors_from = now;
    at.errors = 0;
  }
  return ++at.errors <= errors_max;
}

// Sends the error to the source of the packet, and drops it. A packet that may be fragmented and
// does not fit is dropped without one.
void Bus::refuse(Instant now, FrameId frame, LinkDrop why, IcmpErrorAbout about, Schedule& schedule,
                 const Watch& watch) {
  LaneId const came{frames_.lane(frame)};
  const Router& at = routers_[ends_[came.value].index];
  wire::EthernetFrame parsed;
  Routed packet;
  bool const valid = wire::parse(frames_.bytes(frame), parsed) == Drop::none &&
                     read_packet(parsed.payload, packet);
  const ForwardEntry* const back = valid ? at.table.entry_for(packet.source) : nullptr;
  const Mac* const next = back == nullptr       ? nullptr
                          : back->next == Mac{} ? at.table.mac_of(packet.source)
                                                : &back->next;
  bool const silent = !may_send_error(routers_[ends_[came.value].index], now) ||
                      (why == LinkDrop::mtu_exceeded && about.error != RouterError::too_big);
  if (next != nullptr && !silent) {
    about.packet = parsed.payload;
    about.router = source_of_error(at.ports, back->port, packet.source.is_v4());
    FrameId const answer = frames_.take();
    constexpr std::uint32_t link = 14;
    std::uint32_t const length = write_icmp_error(about, frames_.room(answer).subspan(link));
    if (length == 0) {
      frames_.give(answer);
    } else {
      wire::write(wire::EthernetHeader{*next, at.ports[back->port].mac, parsed.header.type, 0},
                  frames_.room(answer));
      frames_.set_length(answer, link + length);
      send({now, at.out[back->port], answer}, schedule, watch);
    }
  }
  drop(now, frame, why, watch);
}

// Answers a request for the address of the port on which it came; hosts know it already, devices
// ask.
void Bus::answer_arp(const Sending& back, const RouterPort& in, Schedule& schedule,
                     const Watch& watch) {
  wire::EthernetFrame parsed;
  wire::ArpPacket asked;
  bool const valid = wire::parse(frames_.bytes(back.frame), parsed) == Drop::none &&
                     wire::parse(parsed.payload, asked) == Drop::none;
  if (valid && asked.operation == wire::ArpOperation::request && in.address.is_v4() &&
      asked.target == in.address.as_v4()) {
    FrameId const answer = frames_.take();
    std::uint32_t const link =
        wire::write(wire::EthernetHeader{asked.sender_mac, in.mac, wire::EtherType::arp, 0},
                    frames_.room(answer))
            .count;
    wire::ArpPacket const reply{wire::ArpOperation::reply, in.mac, asked.target, asked.sender_mac,
                                asked.sender};
    frames_.set_length(answer, link + wire::write(reply, frames_.room(answer).subspan(link)).count);
    send({back.now, back.lane, answer}, schedule, watch);
  }
  drop(back.now, back.frame, LinkDrop::not_forwarded, watch);
}

}  // namespace lockstep::sim
