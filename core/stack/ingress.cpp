// Arriving frames: one pass parses and prefetches them, a second one processes them in order.
#include <algorithm>
#include <cstring>

#include "core/link/ethernet_input.hpp"
#include "core/stack/body.hpp"
#include "core/stack/shard.hpp"
#include "core/tcp/arrives.hpp"
#include "core/tcp/calls.hpp"
#include "core/tcp/ecn.hpp"
#include "core/tcp/lifecycle.hpp"
#include "core/tcp/reassembly.hpp"
#include "core/units/check.hpp"
#include "core/units/shard.hpp"

namespace lockstep {

namespace {

// Of IPv4: RFC 792, RFC 1122 3.2.2.1 and RFC 1812 5.2.7.1 name the codes.
Cause cause_of_unreachable(std::uint8_t code) {
  switch (static_cast<wire::Unreachable>(code)) {
    case wire::Unreachable::protocol:
      return Cause::protocol_unreachable;
    case wire::Unreachable::port:
      // The host reports by ICMP that nothing listens on the port, as others do by a reset.
      return Cause::refused;
    case wire::Unreachable::source_route_failed:
      return Cause::source_route_failed;
    case wire::Unreachable::host:
    case wire::Unreachable::host_unknown:
    case wire::Unreachable::source_isolated:
    case wire::Unreachable::host_prohibited:
    case wire::Unreachable::host_not_by_service:
    case wire::Unreachable::filtered:
    case wire::Unreachable::precedence_violation:
    case wire::Unreachable::precedence_cutoff:
      return Cause::host_unreachable;
    case wire::Unreachable::network:
    case wire::Unreachable::fragmentation_needed:
    case wire::Unreachable::network_unknown:
    case wire::Unreachable::network_prohibited:
    case wire::Unreachable::network_not_by_service:
      return Cause::network_unreachable;
  }
  return Cause::network_unreachable;
}

// Of IPv6: RFC 4443 3.1 names the codes.
Cause cause_of_unreachable6(std::uint8_t code) {
  switch (code) {
    case wire::unreachable6_no_route:
      return Cause::network_unreachable;
    case wire::unreachable6_beyond_scope:
    case wire::unreachable6_address:
      return Cause::host_unreachable;
    case wire::unreachable6_port:
      return Cause::refused;
    case wire::unreachable6_prohibited:
    case wire::unreachable6_policy:
    case wire::unreachable6_reject_route:
      return Cause::prohibited;
    default:
      return Cause::parameter_problem;
  }
}

}  // namespace

Cause cause_of(const internet::IcmpError& error) {
  switch (error.type) {
    case wire::IcmpType::time_exceeded:
      return Cause::time_exceeded;
    case wire::IcmpType::parameter_problem:
      return Cause::parameter_problem;
    default:
      break;
  }
  return error.quoted.local.address.is_v4() ? cause_of_unreachable(error.code)
                                            : cause_of_unreachable6(error.code);
}

namespace {

// Parses and checks the TCP segment of the packet in out.ip.
[[gnu::always_inline]] inline void parse_segment(Stack::Body& b, Checksum checksum, Parsed& out) {
  wire::IpPacket const& packet = out.ip.packet;
  if (out.ip.to_group) {
    out.drop = Drop::tcp_to_group;
    return;
  }
  tcp::Config const& tcp = b.config.tcp;
  out.drop = wire::parse(packet.payload, out.segment);
  if (out.drop != Drop::none) {
    if (out.drop != Drop::tcp_option_malformed || !tcp.options_lenient) {
      return;
    }
    wire::parse_options_leniently(packet.payload, out.segment);
    out.drop = Drop::none;
  }
  if (tcp.shards.value != 1) [[unlikely]] {
    FourTuple const tuple{{packet.header.destination, out.segment.destination},
                          {packet.header.source, out.segment.source}};
    if (shard_of(tuple, {tcp.shards.value}).value != tcp.shard.value) {
      out.drop = Drop::wrong_shard;  // without a reset: its own shard may have the connection
      return;
    }
  }
  //= rfc9293#3.1
  //# 9293:MUST-3 the checksum of every segment is verified, by the hardware or here
  //= rfc8200#8.1
  //# 8200:V6-25 with the addresses, the length and next header 6 of IPv6
  wire::PseudoHeader const pseudo{packet.header.source, packet.header.destination,
                                  static_cast<std::uint8_t>(wire::IpProtocol::tcp),
                                  Bytes{static_cast<std::uint32_t>(packet.payload.size())}};
  bool const good = checksum == Checksum::good || (checksum == Checksum::unknown &&
                                                   wire::checksum_verifies(pseudo, packet.payload));
  if (!good) {
    out.drop = Drop::tcp_checksum;
    return;
  }
  out.kind = Parsed::Kind::tcp;
  if (out.segment.destination != b.recent.local || out.segment.source != b.recent.remote) {
    b.recent.local = out.segment.destination;
    b.recent.remote = out.segment.source;
    b.recent.hash = b.engine.demux.hash_of(
        {{packet.header.destination, b.recent.local}, {packet.header.source, b.recent.remote}});
  }
  out.hash = b.recent.hash;
  b.engine.demux.prefetch(out.hash);
}

}  // namespace

void Stack::Body::parse_ip(std::span<const std::byte> bytes, bool to_group, Checksum checksum,
                           Parsed& out) {
  out.drop = internet::ip_input(addresses, bytes, to_group, recent.path, out.ip);
  if (!out.ip.path_known) {
    recent.local = {};
  }
  if (out.drop != Drop::none) [[unlikely]] {
    if (out.drop == Drop::ip_protocol_unknown) {
      out.kind = Parsed::Kind::unknown_protocol;
    } else if (out.drop == Drop::ip_fragment && config.reassembly_datagrams.value != 0) {
      out.kind = Parsed::Kind::fragment;
    }
    return;
  }
  wire::IpPacket const& packet = out.ip.packet;
  if (packet.header.protocol == wire::IpProtocol::icmp) {
    out.kind = Parsed::Kind::icmp;
    return;
  }
  parse_segment(*this, checksum, out);
}

void Stack::Body::parse_ip6(std::span<const std::byte> bytes, bool to_group, Checksum checksum,
                            Parsed& out) {
  out.drop = internet::ipv6_input(addresses, bytes, to_group, out.six, out.ip);
  if (out.drop != Drop::none) {
    out.kind =
        out.six.problem.send_icmp_error ? Parsed::Kind::parameter_problem : Parsed::Kind::dropped;
    return;
  }
  //= rfc6946#4
  //# 6946:ATOM-1, 6946:ATOM-2 an atomic fragment is never joined with waiting fragments
  //= rfc8200#4.5
  //# 8200:V6-18 it is a whole packet
  if (out.six.has_fragment && !out.six.fragment.is_atomic()) {
    bool const taken = config.reassembly_datagrams.value != 0;
    out.kind = taken ? Parsed::Kind::fragment : Parsed::Kind::dropped;
    out.drop = Drop::ip_fragment;
    return;
  }
  if (out.six.protocol == wire::IpProtocol::icmpv6) {
    out.kind = Parsed::Kind::icmp6;
    return;
  }
  if (out.ip.packet.header.source == IpAddress{}) {
    out.drop = Drop::ip_source_invalid;
    return;
  }
  // `recent` is for IPv4 only.
  recent.local = {};
  parse_segment(*this, checksum, out);
  recent.local = {};
}

void Stack::Body::parse_frame(const Ingress& frame, Parsed& out) {
  out.kind = Parsed::Kind::dropped;
  out.arrived = frame.arrived;
  if (has_link()) {
    parse_ethernet(frame, out);
    return;
  }
  bool const six =
      addresses.has_v6() && !frame.bytes.empty() && (frame.bytes.front() >> 4) == std::byte{6};
  if (six) [[unlikely]] {
    parse_ip6(frame.bytes, false, frame.checksum, out);
  } else {
    parse_ip(frame.bytes, false, frame.checksum, out);
  }
}

[[gnu::noinline]] void Stack::Body::parse_ethernet(const Ingress& frame, Parsed& out) {
  link::LinkArrival arrival;
  link::LinkFilter const filter{config.mac, config.vlan, addresses.has_v6()};
  out.drop = link::ethernet_input(filter, frame.bytes, arrival);
  if (out.drop != Drop::none) {
    return;
  }
  out.from = arrival.frame.header.source;
  if (arrival.frame.header.type == wire::EtherType::arp) {
    out.drop = wire::parse(arrival.frame.payload, out.arp);
    out.kind = out.drop == Drop::none ? Parsed::Kind::arp : Parsed::Kind::dropped;
    return;
  }
  if (arrival.frame.header.type == wire::EtherType::ipv6) [[unlikely]] {
    parse_ip6(arrival.frame.payload, arrival.to_group, frame.checksum, out);
    return;
  }
  parse_ip(arrival.frame.payload, arrival.to_group, frame.checksum, out);
}

[[gnu::cold]] void Stack::Body::answer_echo(const Parsed& frame, wire::IcmpMessage request) {
  internet::Rate const rate{config.icmp_replies_per_second, Count{50}};
  if (!internet::allow(rate, common->echo_rate, engine.state->now)) {
    statistics->drops.count(Drop::icmp_rate);
    return;
  }
  //= rfc1122#3.2.2.6
  //# 1122:H-41 an answer that would need fragments is cut to what fits our link
  request.body = request.body.first(std::min(request.body.size(), icmp_body_max()));
  internet::ReplyHeader header;
  header.source = frame.ip.packet.header.destination;
  header.destination = frame.ip.packet.header.source;
  header.protocol = static_cast<std::uint8_t>(wire::IpProtocol::icmp);
  header.traffic_class = frame.ip.packet.header.traffic_class;
  header.time_to_live = config.tcp.ttl;
  header.has_mac = has_link();
  header.mac = frame.from;
  header.length = static_cast<std::uint16_t>(internet::echo_reply_bytes(request).count);
  auto const room = engine.replies.push(header);
  if (room.empty()) {
    statistics->drops.count(Drop::reply_queue_full);
    return;
  }
  static_cast<void>(internet::write_echo_reply(request, room));
  ++statistics->echo_replies;
}

// Sends an ICMP error about a packet to its source, through `hop` if that is known.
[[gnu::cold]] void Stack::Body::send_icmp_error(internet::IpArrival& about, std::optional<Mac> hop,
                                                const internet::IcmpErrorToSend& error) {
  internet::Rate const rate{config.icmp_replies_per_second, Count{50}};
  // The error must fit our link: the quotation is cut.
  std::span<const std::byte>& quoted = about.packet.bytes;
  quoted = quoted.first(std::min(quoted.size(), icmp_body_max()));
  if (about.local_address == internet::no_address || !internet::may_send_error(about) ||
      !internet::allow(rate, common->error_rate, engine.state->now)) {
    return;
  }
  internet::ReplyHeader header;
  header.source = about.packet.header.destination;
  header.destination = about.packet.header.source;
  header.protocol = static_cast<std::uint8_t>(wire::IpProtocol::icmp);
  header.time_to_live = config.tcp.ttl;
  header.has_mac = has_link() && hop.has_value();
  header.mac = hop.value_or(Mac{});
  header.length = static_cast<std::uint16_t>(internet::error_bytes(about).count);
  auto const room = engine.replies.push(header);
  if (room.empty()) {
    statistics->drops.count(Drop::reply_queue_full);
    return;
  }
  static_cast<void>(internet::write_error(error, about, room));
}

[[gnu::cold]] Drop Stack::Body::process_icmp(const Parsed& frame) {
  internet::IcmpArrival icmp;
  Drop const drop = internet::icmp_input(addresses, frame.ip, icmp);
  if (drop != Drop::none) {
    return drop;
  }
  if (icmp.act == internet::IcmpAct::echo) {
    answer_echo(frame, icmp.message);
    return Drop::none;
  }
  return process_error(icmp.error);
}

[[gnu::cold]] Drop Stack::Body::process_arp(const Parsed& frame) {
  Drop const drop = neighbours.receive(frame.arp, engine.state->now);
  // At once, so that the result does not depend on where a burst is cut (law 8).
  drain_neighbours();
  return drop;
}

// Every shard has this packet, and only shard 0 answers.
static bool others_answer(const Stack::Body& b, const Parsed& frame) {
  tcp::Config const& tcp = b.config.tcp;
  return tcp.shard.value != 0 &&
         home_of(LinkType::ip, frame.ip.packet.bytes, {tcp.shards.value}) == ShardId::everyone();
}

// A frame that is not a TCP segment.
[[gnu::cold]] Drop Stack::Body::process_other(Parsed& frame) {
  switch (frame.kind) {
    case Parsed::Kind::arp:
      return process_arp(frame);
    case Parsed::Kind::icmp:
      return process_icmp(frame);
    case Parsed::Kind::unknown_protocol: {
      constexpr std::uint8_t protocol_unreachable = 2;
      send_icmp_error(frame.ip, frame.from, {wire::IcmpType::unreachable, protocol_unreachable, 0});
      break;
    }
    case Parsed::Kind::icmp6:
      return process_icmp6(frame);
    case Parsed::Kind::parameter_problem: {
      if (others_answer(*this, frame)) {
        break;
      }
      wire::Ipv6Problem const& problem = frame.six.problem;
      send_icmp6_error(frame, {wire::Icmp6Type::parameter_problem, problem.code, problem.pointer,
                               problem.to_group_too});
      break;
    }
    case Parsed::Kind::dropped:
    case Parsed::Kind::follower:
    case Parsed::Kind::fragment:
    case Parsed::Kind::tcp:
      break;
  }
  return frame.drop;
}

// When the frame arrived: by its own time, if the driver gave one that is not in the future.
Instant Stack::Body::arrival_of(const Parsed& frame) const {
  Instant const now = engine.state->now;
  return frame.arrived.ns != 0 && frame.arrived < now ? frame.arrived : now;
}

Drop Stack::Body::process(Parsed& frame) {
  if (frame.kind == Parsed::Kind::fragment) [[unlikely]] {
    Drop const drop = reassemble(frame);
    if (drop != Drop::none || frame.kind == Parsed::Kind::fragment) {
      return drop;
    }
  }
  //= rfc5227#2.1
  //# 5227:ACD-1 an address that is being tested, or that another host has, is not used
  if (untested_v4() != 0) [[unlikely]] {
    bool const v4 = frame.kind != Parsed::Kind::arp && frame.kind != Parsed::Kind::icmp6;
    if (v4 && !is_usable(frame.ip.local_address)) {
      return Drop::ip_tentative;
    }
  }
  if (frame.kind != Parsed::Kind::tcp) [[unlikely]] {
    return process_other(frame);
  }
  wire::IpHeader const& ip = frame.ip.packet.header;
  tcp::InboundSegment const arrival{
      frame.segment,     ip.destination,
      ip.source,         frame.ip.local_address,
      frame.hash,        frame.from,
      arrival_of(frame), static_cast<std::uint8_t>(ip.traffic_class & tcp::ecn::field_mask)};
  if (addresses.has_v6() && !ip.source.is_v4()) [[unlikely]] {
    return is_usable(frame.ip.local_address) ? process_segment6(arrival) : Drop::ip_tentative;
  }
  return tcp::arrives(engine, arrival);
}

// Moves the oldest reply of one queue to the other; if that is full the reply is dropped and
// counted.
[[gnu::cold]] void Stack::Body::move_reply(internet::Replies& from, internet::Replies& to) {
  auto const bytes = from.front_bytes();
  auto const room = to.push(from.front());
  if (room.empty()) {
    statistics->drops.count(Drop::reply_queue_full);
  } else {
    std::memcpy(room.data(), bytes.data(), bytes.size());
  }
  from.pop();
}

void Stack::Body::notify_waiting(link::NeighbourChange change) {
  // All parked replies look up their next hop again: those that wait for another one are parked
  // again.
  for (std::uint32_t left = parked.count(); left != 0; --left) {
    move_reply(parked, engine.replies);
  }
  auto waiting = engine.waiting(change.neighbour);
  while (!waiting.empty()) {
    tcp::Index const at = waiting.pop_front();
    tcp::Connection& c = engine.connection(engine.actives[at].owner);
    c.place = tcp::SendPlace::none;
    tcp::make_ready(engine, c);
    if (!change.resolved && c.soft_errors) {
      c.soft_cause = Cause::no_neighbour;
      tcp::notify(engine, c, EventKind::soft_error);
    }
  }
}

[[gnu::cold]] void Stack::Body::drain_neighbours() {
  link::NeighbourChange change;
  while (neighbours.next_change(change)) {
    notify_waiting(change);
  }
  if (has_discovery()) [[unlikely]] {
    while (discovery.next_change(change)) {
      change.neighbour += config.neighbours_max.value;
      notify_waiting(change);
    }
  }
}

namespace {

// Whether followers may repeat the headers of this segment: data without IP options, flags that
// call for more than an ACK, or options besides timestamps.
bool may_lead(const Parsed& parsed, std::size_t link_bytes, const Ingress& frame) {
  if (parsed.kind != Parsed::Kind::tcp || parsed.segment.payload.empty() ||
      parsed.segment.flags.without(wire::flag::psh) != wire::flag::ack) {
    return false;
  }
  constexpr std::uint8_t plain_ipv4 = 0x45;
  std::byte const* const ip = frame.bytes.data() + link_bytes;
  if (wire::load8(ip) != plain_ipv4) {
    return false;
  }
  std::byte const* const tcp = ip + wire::ipv4_header_bytes;
  auto const header = static_cast<std::size_t>(parsed.segment.payload.data() - tcp);
  return header == wire::tcp_header_bytes ||
         (header == wire::tcp_header_bytes + wire::timestamps_padded_bytes &&
          wire::load32(tcp + wire::tcp_header_bytes) == wire::timestamps_padded);
}

// Whether the headers of two IPv4 segments without URG are equal but for the identification, the
// number, PSH and the checksums. `stamped`: they have timestamps.
bool same_headers(const std::byte* a, const std::byte* b, std::size_t link_bytes, bool stamped) {
  // The words that differ, with what may differ masked out.
  constexpr std::uint64_t no_identification = 0xffff'ffff'0000'ffff;
  constexpr std::uint64_t no_push = 0xffff'ffff'fff7'ffff;
  using wire::load16;
  using wire::load32;
  using wire::load64;
  std::uint64_t differs = 0;
  if (link_bytes != 0) {
    differs |= load64(a) ^ load64(b);
    differs |= load64(a + 4) ^ load64(b + 4);
    differs |= load64(a + link_bytes - 8) ^ load64(b + link_bytes - 8);
  }
  a += link_bytes;
  b += link_bytes;
  differs |= (load64(a) ^ load64(b)) & no_identification;
  differs |= static_cast<std::uint64_t>(load16(a + 8) ^ load16(b + 8));
  differs |= load64(a + 12) ^ load64(b + 12);
  differs |= load32(a + 20) ^ load32(b + 20);
  differs |= (load64(a + 28) ^ load64(b + 28)) & no_push;
  if (stamped) {
    differs |= load64(a + 40) ^ load64(b + 40);
    differs |= load32(a + 48) ^ load32(b + 48);
  }
  return differs == 0;
}

}  // namespace

// `before`: the frame before this one, which is `first` or one of its followers.
bool Stack::Body::parse_follower(const Ingress& before, const Parsed& first, const Ingress& frame,
                                 Parsed& out) const {
  std::byte const* const at = frame.bytes.data();
  auto const header =
      static_cast<std::size_t>(first.segment.payload.data() - first.ip.packet.bytes.data());
  bool const stamped = header != wire::ipv4_header_bytes + wire::tcp_header_bytes;
  if (frame.bytes.size() != before.bytes.size() || frame.checksum == Checksum::bad ||
      !same_headers(before.bytes.data(), at, link_bytes, stamped)) {
    return false;
  }
  std::span<const std::byte> const packet =
      frame.bytes.subspan(link_bytes, first.ip.packet.bytes.size());
  if (!wire::sum_of_ipv4_header(packet.data()).verifies()) {
    return false;
  }
  std::span<const std::byte> const segment = packet.subspan(wire::ipv4_header_bytes);
  wire::PseudoHeader const pseudo{first.ip.packet.header.source, first.ip.packet.header.destination,
                                  static_cast<std::uint8_t>(wire::IpProtocol::tcp),
                                  Bytes{static_cast<std::uint32_t>(segment.size())}};
  if (frame.checksum == Checksum::unknown && !wire::checksum_verifies(pseudo, segment)) {
    return false;
  }
  out.kind = Parsed::Kind::follower;
  out.arrived = frame.arrived;
  out.segment.sequence = {wire::load32(segment.data() + wire::tcp_sequence_offset)};
  out.segment.payload = packet.subspan(header);
  return true;
}

// What is not accepted at once is parsed and processed like any other frame.
Drop Stack::Body::process_follower(const Ingress& frame, const Parsed& first, Parsed& scratch) {
  tcp::Follower const segment{
      scratch.segment.sequence, first.segment.acknowledgment, scratch.segment.payload,
      arrival_of(scratch),
      static_cast<std::uint8_t>(first.ip.packet.header.traffic_class & tcp::ecn::field_mask)};
  if (tcp::accept_follower(engine, segment)) {
    return Drop::none;
  }
  parse_frame(frame, scratch);
  return process(scratch);
}

void Stack::receive(Instant now, std::span<const Ingress> burst) {
  Body& b = changing();
  CHECK(b.common->lent + burst.size() <= b.config.burst_frames.value);
  b.set_time(now);
  b.engine.state->draining = false;
  b.common->turn_open = b.common->turn_open || !burst.empty();
  b.common->lent += static_cast<std::uint32_t>(burst.size());
  CHECK(burst.size() <= b.parsed.count());
  Parsed* const parsed = b.parsed.data();
  Parsed const* first = nullptr;  // of segments with the same headers
  for (std::size_t i = 0; i < burst.size(); ++i) {
    if (first == nullptr || !b.parse_follower(burst[i - 1], *first, burst[i], parsed[i])) {
      b.parse_frame(burst[i], parsed[i]);
      first = may_lead(parsed[i], b.link_bytes, burst[i]) ? &parsed[i] : nullptr;
    }
  }
  b.engine.latest = nullptr;
  b.statistics->frames_received += burst.size();
  for (std::size_t i = 0; i < burst.size(); ++i) {
    bool const follows = parsed[i].kind == Parsed::Kind::follower;
    first = follows ? first : &parsed[i];
    Drop const drop =
        follows ? b.process_follower(burst[i], *first, parsed[i]) : b.process(parsed[i]);
    if (drop != Drop::none) {
      b.engine.latest = nullptr;
    }
    b.statistics->bytes_received += burst[i].bytes.size();
    b.statistics->drops.count(drop);
  }
}

}  // namespace lockstep
