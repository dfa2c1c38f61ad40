// IPv6 in the stack: neighbour discovery, ICMPv6, and next hops.
#include <algorithm>

#include "core/internet/icmpv6_errors.hpp"
#include "core/internet/icmpv6_input.hpp"
#include "core/stack/body.hpp"
#include "core/tcp/arrives.hpp"
#include "core/tcp/calls.hpp"
#include "core/tcp/inspect.hpp"

namespace lockstep {
namespace {

constexpr std::uint8_t icmpv6_number = static_cast<std::uint8_t>(wire::IpProtocol::icmpv6);

// The header of a reply to the sender of a packet, with `length` octets of ICMPv6.
internet::ReplyHeader reply_header(const Stack::Body& b, const Parsed& frame,
                                   const wire::Icmp6Path& path, std::size_t length) {
  internet::ReplyHeader header;
  header.source = path.source;
  header.destination = path.destination;
  header.protocol = icmpv6_number;
  header.time_to_live = b.engine.ttl_to(path.destination);
  header.has_mac = b.has_link();
  header.mac = frame.from;
  header.length = static_cast<std::uint16_t>(length);
  return header;
}

// The source is the destination of the request, or one of our addresses if that was a group.
//= rfc4443#2.2
//# 4443:ICMP6-2, 4443:ICMP6-15 the unicast destination of the message, or another address of ours
//= rfc4862#5.4
//# 4862:DAD-1 it has been tested for duplicates
// False: we have no such address that was tested.
bool path_back(const Stack::Body& b, const internet::IpArrival& about, wire::Icmp6Path& out) {
  wire::IpHeader const& header = about.packet.header;
  std::uint16_t const source =
      about.to_group ? internet::source_for(b.addresses, header.source, b.usable_addresses())
                     : about.local_address;
  if (source == internet::no_address || !b.is_usable(source)) {
    return false;
  }
  out = {about.to_group ? b.addresses.all()[source] : header.destination, header.source};
  return true;
}

}  // namespace

std::uint32_t Stack::Body::usable_addresses() const {
  std::uint32_t usable = 0;
  for (std::uint32_t i = 0; i < addresses.count(); ++i) {
    bool const tested = addresses.all()[i].is_v4()
                            ? (untested_v4() >> i & 1) == 0
                            : !has_discovery() || discovery.test_of(i) == link::TestState::usable;
    usable |= tested ? 1u << i : 0u;
  }
  return usable;
}

bool Stack::Body::is_usable(std::uint16_t address) const {
  return address == internet::no_address || (usable_addresses() >> address & 1) != 0;
}

bool Stack::Body::next_hop6(IpAddress destination, IpAddress& out) {
  if (!has_link()) {
    out = destination;
    return true;
  }
  Instant const now = engine.state->now;
  std::uint8_t const bits = discovery.on_link_bits(destination, now);
  return routes6.next_hop(addresses, destination, bits, out) || discovery.default_router(out, now);
}

link::Lookup Stack::Body::resolve6(IpAddress destination, IpAddress source, link::Asker asker) {
  IpAddress hop;
  if (!next_hop6(destination, hop)) {
    return {};
  }
  link::Lookup found = discovery.resolve(
      {hop, source, hop == destination ? asker : link::Asker::ours}, engine.state->now);
  if (found.neighbour != tcp::nil) {
    found.neighbour += config.neighbours_max.value;
  }
  return found;
}

void Stack::Body::doubt6(IpAddress destination) {
  IpAddress hop;
  if (next_hop6(destination, hop)) {
    discovery.doubt(hop, engine.state->now);
  }
}

//= rfc4861#7.3.1
//# 4861:ND-26 an ACK of new data, or new data in sequence, proves the path in both directions
//= rfc4861#7.3.3
//# 4861:ND-33 apart from that only an answer to a solicitation counts
void Stack::Body::confirm6(IpAddress source) {
  IpAddress hop;
  if (next_hop6(source, hop)) {
    discovery.confirm(hop, engine.state->now);
  }
}

Drop Stack::Body::process_segment6(const tcp::InboundSegment& arrival) {
  FourTuple const tuple{{arrival.local, arrival.segment.destination},
                        {arrival.remote, arrival.segment.source}};
  std::uint64_t const delivered = engine.counters->bytes_delivered;
  Bytes const before = tcp::acknowledged_of(engine, tuple, arrival.local_address);
  Drop const drop = tcp::arrives(engine, arrival);
  wire::Flags const flags = arrival.segment.flags;
  if (has_discovery() && drop == Drop::none && !flags.rst()) {
    // Data on a SYN does not prove that its sender receives our packets.
    bool const news = !flags.syn() && engine.counters->bytes_delivered != delivered;
    if (news || tcp::acknowledged_of(engine, tuple, arrival.local_address) != before) {
      confirm6(arrival.remote);
    }
  }
  return drop;
}

Drop Stack::Body::process_discovery(const Parsed& frame, const wire::Icmp6Message& message) {
  // Without Ethernet there are no link addresses to resolve.
  if (!has_discovery()) {
    return Drop::icmp_type_unknown;
  }
  wire::NdMessage discovery_message;
  Drop drop = wire::parse(message, discovery_message);
  if (drop != Drop::none) {
    return drop;
  }
  wire::IpHeader const& header = frame.ip.packet.header;
  drop = discovery.receive(
      {header.source, header.destination, frame.from, header.time_to_live, frame.six.has_fragment},
      discovery_message, engine.state->now);
  engine.state->hop_limit6 = discovery.hop_limit();
  follow_link();
  // At once, so that the result does not depend on how the burst is split (law 8).
  drain_neighbours();
  return drop;
}

// The MTU for IPv6 is the link's, or less by a router's advertisement.
void Stack::Body::follow_link() {
  tcp::EngineState& all = *engine.state;
  // A link that carries less than 1280 octets cannot carry IPv6: larger packets are lost there.
  Bytes const link = most(all.mtu4, Bytes{wire::ipv6_mtu_least});
  all.mtu6 = has_discovery() ? least(discovery.mtu(), link) : link;
  all.mtu_differs = all.mtu_differs || all.mtu4 < config.mtu || all.mtu6 < config.mtu;
}

Drop Stack::Body::process_icmp6(const Parsed& frame) {
  internet::Icmp6Arrival icmp;
  Drop const drop = internet::icmpv6_input(addresses, frame.ip, icmp);
  if (drop != Drop::none) {
    return drop;
  }
  if (icmp.act == internet::Icmp6Act::discovery) {
    return process_discovery(frame, icmp.message);
  }
  //= rfc4862#5.4
  //# 4862:DAD-3 a tentative address accepts only neighbour discovery
  if (!is_usable(frame.ip.local_address)) {
    return Drop::ip_tentative;
  }
  if (icmp.act == internet::Icmp6Act::echo) {
    answer_echo6(frame, icmp.message);
    return Drop::none;
  }
  return process_error(icmp.error);
}

void Stack::Body::answer_echo6(const Parsed& frame, wire::Icmp6Message request) {
  wire::Icmp6Path path;
  if (!path_back(*this, frame.ip, path)) {
    statistics->drops.count(Drop::ip_tentative);
    return;
  }
  internet::Rate const rate{config.icmp_replies_per_second, Count{50}};
  if (!internet::allow(rate, common->echo_rate, engine.state->now)) {
    statistics->drops.count(Drop::icmp_rate);
    return;
  }
  //= rfc4861#6.3.4
  //# 4861:ND-39 no more than the link carries
  std::size_t const body_max =
      engine.state->mtu6.count - wire::ipv6_header_bytes - wire::icmp6_header_bytes;
  request.body = request.body.first(std::min(request.body.size(), body_max));
  internet::ReplyHeader header =
      reply_header(*this, frame, path, wire::icmp6_header_bytes + request.body.size());
  header.traffic_class = frame.ip.packet.header.traffic_class;
  auto const room = engine.replies.push(header);
  if (room.empty()) {
    statistics->drops.count(Drop::reply_queue_full);
    return;
  }
  static_cast<void>(internet::write_echo_reply6(path, request, room));
  ++statistics->echo_replies;
}

//= rfc4443#3.4
//# 4443:ICMP6-13 the pointer gives the position of the invalid field
void Stack::Body::send_icmp6_error(const Parsed& frame,
                                   const internet::Icmp6ErrorToSend& complaint) {
  //= rfc4443#2.4
  //# 4443:ICMP6-9 one limit for all errors: a rate per second, and bursts of fifty
  internet::Rate const rate{config.icmp_replies_per_second, Count{50}};
  wire::Icmp6Path path;
  if (!path_back(*this, frame.ip, path) || !internet::may_send_error6(complaint, frame.ip) ||
      !internet::allow(rate, common->error_rate, engine.state->now)) {
    return;
  }
  auto const room =
      engine.replies.push(reply_header(*this, frame, path, internet::error6_bytes(frame.ip).count));
  if (room.empty()) {
    statistics->drops.count(Drop::reply_queue_full);
    return;
  }
  static_cast<void>(internet::write_error6(path, complaint, frame.ip, room));
}

}  // namespace lockstep
