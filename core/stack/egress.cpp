// Frames out: ARP, replies without a connection, then connections in turn.
#include <cstring>

#include "core/internet/ip_output.hpp"
#include "core/stack/body.hpp"
#include "core/tcp/ecn.hpp"
#include "core/tcp/lifecycle.hpp"
#include "core/tcp/output.hpp"
#include "core/units/check.hpp"
#include "core/wire/ethernet.hpp"

namespace lockstep {
namespace {

// How many connections one transmit() may find without a frame.
constexpr std::uint32_t futile_max = 64;

enum class Way : std::uint8_t { open, waiting, closed };

struct Found {
  Way way = Way::closed;
  Mac mac;
  tcp::Index neighbour = tcp::nil;
};

// The link address that leads to `destination`, asked for if it is not known.
[[gnu::noinline]] Found way_by_link(Stack::Body& b, IpAddress destination, IpAddress source,
                                    link::Asker asker) {
  link::Lookup found;
  if (destination.is_v4()) [[likely]] {
    internet::NextHop hop;
    if (!b.routes.next_hop(b.addresses, destination, hop)) {
      return {};
    }
    // A gateway is wanted by us, whoever is behind it.
    found = b.neighbours.resolve(
        {hop.address, source, hop.address == destination ? asker : link::Asker::ours});
  } else {
    found = b.resolve6(destination, source, asker);
  }
  if (found.kind == link::LookupKind::resolved) {
    return {Way::open, found.mac, found.neighbour};
  }
  return {
      found.kind == link::LookupKind::waiting ? Way::waiting : Way::closed, {}, found.neighbour};
}

Found way_to(Stack::Body& b, IpAddress destination, IpAddress source, link::Asker asker) {
  return b.has_link() ? way_by_link(b, destination, source, asker) : Found{Way::open, {}, tcp::nil};
}

[[gnu::cold]] void doubt_next_hop(Stack::Body& b, IpAddress remote) {
  internet::NextHop hop;
  if (!remote.is_v4()) {
    b.doubt6(remote);
  } else if (b.routes.next_hop(b.addresses, remote, hop)) {
    b.neighbours.doubt(hop.address, b.engine.state->now);
  }
}

// Link and IP headers before a transport of `payload` octets that is already in its place.
Egress finish_frame(Stack::Body& b, Mac to, const internet::Departure& departure,
                    std::span<std::byte> into) {
  if (b.has_link()) {
    wire::EtherType const type =
        departure.source.is_v4() ? wire::EtherType::ipv4 : wire::EtherType::ipv6;
    static_cast<void>(
        wire::write(wire::EthernetHeader{to, b.config.mac, type, b.config.vlan}, into));
  }
  Bytes const header = internet::write_ip_header(departure, into.subspan(b.link_bytes));
  Egress egress;
  egress.length = static_cast<std::uint16_t>(b.link_bytes + header.count + departure.payload.count);
  return egress;
}

}  // namespace

[[gnu::noinline]] Egress Stack::Body::transmit_reply(std::span<std::byte> into) {
  while (!engine.replies.empty()) {
    internet::ReplyHeader const header = engine.replies.front();
    Found way{Way::open, header.mac, tcp::nil};
    if (!header.has_mac) {
      way = way_to(*this, header.destination, header.source, link::Asker::stranger);
    }
    if (header.doubtful && has_link()) [[unlikely]] {
      doubt_next_hop(*this, header.destination);
    }
    //= rfc1122#2.3.2.2
    //# 1122:H-L3 what nobody asks for again, a reset above all, waits for its next hop
    if (way.way == Way::waiting) {
      move_reply(engine.replies, parked);
      continue;
    }
    // One whose next hop does not answer is lost, as on the wire.
    if (way.way != Way::open) {
      engine.replies.pop();
      continue;
    }
    auto const bytes = engine.replies.front_bytes();
    std::uint32_t const ip_bytes = internet::ip_header_bytes(header.source);
    CHECK(ip_bytes + bytes.size() <= config.mtu.count);
    std::memcpy(into.data() + link_bytes + ip_bytes, bytes.data(), bytes.size());
    internet::Departure const departure{
        header.source,       header.destination,   static_cast<wire::IpProtocol>(header.protocol),
        header.time_to_live, header.traffic_class, Bytes{header.length}};
    Egress const egress = finish_frame(*this, way.mac, departure, into);
    engine.replies.pop();
    ++statistics->replies_sent;
    return egress;
  }
  return {};
}

// A frame of the first connection that is ready; none if it has nothing to send, or no way to send
// it: then it is not the first any more. Apart from the loop around it, whose registers it needs.
[[gnu::noinline]] Egress Stack::Body::transmit_first(std::span<std::byte> into) {
  tcp::Index const at = engine.ready().first();
  tcp::Connection& c = engine.connection(engine.actives[at].owner);
  tcp::Plan const plan = tcp::plan_next(engine, c);
  if (plan.kind == tcp::PlanKind::none) {
    tcp::leave_ready(engine, c);
    tcp::release_if_idle(engine, c);
    return {};
  }
  // Anybody can send a SYN in the name of a host of our link.
  Found const way =
      way_to(*this, c.remote, engine.local_of(c),
             c.state == tcp::State::syn_received ? link::Asker::stranger : link::Asker::ours);
  if (way.way == Way::waiting) {
    tcp::leave_ready(engine, c);
    c.place = tcp::SendPlace::waiting;
    engine.actives[at].waiting_for = way.neighbour;
    engine.waiting(way.neighbour).push_back(at);
    return {};
  }
  if (c.doubt_next_hop && has_link()) {
    //= rfc9293#3.8.3
    //# 9293:MUST-20 negative advice: the next hop is put to the test
    c.doubt_next_hop = false;
    doubt_next_hop(*this, c.remote);
  }
  internet::Departure departure{engine.local_of(c),
                                c.remote,
                                wire::IpProtocol::tcp,
                                c.ttl,
                                tcp::ecn::traffic_class_of(c, plan),
                                {}};
  tcp::InFlightState& a = engine.active(c);
  departure.payload = tcp::write_plan(
      engine, c, a, plan, into.subspan(link_bytes + internet::ip_header_bytes(departure.source)));
  tcp::rotate_ready(engine, c, a);
  // No way: the segment counts as sent and lost, so that its timer brings it back.
  if (way.way != Way::open) {
    return {};
  }
  Egress egress = finish_frame(*this, way.mac, departure, into);
  egress.segment_bytes = static_cast<std::uint16_t>(plan.data.count);
  return egress;
}

Egress Stack::Body::transmit_connection(std::span<std::byte> into) {
  Egress egress;
  // Bounded: what has nothing to send, or no way to send it, is not walked to its end in one call.
  for (std::uint32_t left = futile_max; left != 0 && !engine.ready().empty(); --left) {
    egress = transmit_first(into);
    if (egress.length != 0) {
      break;
    }
  }
  return egress;
}

// What somebody else waits for: ARP or neighbour discovery, then replies.
Egress Stack::Body::transmit_answer(std::span<std::byte> into) {
  if (has_link() && neighbours.wants_transmit()) {
    Egress egress;
    egress.length =
        static_cast<std::uint16_t>(neighbours.write_next(engine.state->now, into).count);
    if (egress.length != 0) {
      ++statistics->arp_sent;
      return egress;
    }
  }
  if (has_discovery() && discovery.wants_transmit()) [[unlikely]] {
    Egress egress;
    egress.length = static_cast<std::uint16_t>(discovery.write_next(engine.state->now, into).count);
    ++statistics->discovery_sent;
    return egress;
  }
  return engine.replies.empty() ? Egress{} : transmit_reply(into);
}

Egress Stack::Body::transmit(std::span<std::byte> into) {
  bool const asked = has_link() || !engine.replies.empty();
  bool const turn_of_data = !asked || (common->reply_went_last && !engine.ready().empty());
  if (!turn_of_data) {
    Egress const egress = transmit_answer(into);
    if (egress.length != 0) {
      common->reply_went_last = true;
      return egress;
    }
  }
  common->reply_went_last = false;
  Egress const egress = transmit_connection(into);
  return egress.length != 0 ? egress : transmit_answer(into);
}

Egress Stack::transmit(Instant now, std::span<std::byte> into) {
  Body& b = body();
  CHECK(now >= b.engine.state->now);
  CHECK(into.size() >= b.link_bytes + b.config.mtu.count);
  b.engine.state->now = now;
  Egress egress = b.transmit(into);
  // An unresolved next hop may just have asked for an ARP request, or a solicitation.
  if (egress.length == 0 && b.has_link() &&
      (b.neighbours.wants_transmit() || (b.has_discovery() && b.discovery.wants_transmit()))) {
    egress = b.transmit(into);
  }
  if (egress.length != 0) {
    ++b.statistics->frames_sent;
    b.statistics->bytes_sent += egress.length;
  }
  return egress;
}

bool Stack::wants_transmit() const {
  Body const& b = body();
  return !b.engine.ready().empty() || !b.engine.replies.empty() ||
         (b.has_link() && (b.neighbours.wants_transmit() ||
                           (b.addresses.has_v6() && b.discovery.wants_transmit())));
}

}  // namespace lockstep
