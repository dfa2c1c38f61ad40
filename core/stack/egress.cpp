// Outgoing frames: ARP and neighbour discovery, replies without a connection, connections in turn.
#include <cstring>

#include "core/internet/ip_output.hpp"
#include "core/stack/body.hpp"
#include "core/tcp/transmit.hpp"
#include "core/units/check.hpp"
#include "core/wire/ethernet.hpp"

namespace lockstep {
namespace {

// How many connections without a frame to send one transmit() may try.
constexpr std::uint32_t futile_max = 64;

// The link address of the next hop to `destination`; a request for it is queued if it is unknown.
[[gnu::noinline]] link::Lookup resolve_next_hop(Stack::Body& b, IpAddress destination,
                                                IpAddress source, link::Asker asker) {
  if (!destination.is_v4()) [[unlikely]] {
    return b.resolve6(destination, source, asker);
  }
  internet::NextHop hop;
  if (!b.routes.next_hop(b.addresses, destination, hop)) {
    return {};
  }
  // It is we who need a gateway, even if a stranger's address lies behind it.
  return b.neighbours.resolve(
      {hop.address, source, hop.address == destination ? asker : link::Asker::ours});
}

// Without a link there is nothing to resolve.
link::Lookup next_hop_to(Stack::Body& b, IpAddress destination, IpAddress source,
                         link::Asker asker) {
  return b.has_link() ? resolve_next_hop(b, destination, source, asker)
                      : link::Lookup{link::LookupKind::resolved, tcp::nil, {}};
}

[[gnu::cold]] void doubt_next_hop(Stack::Body& b, IpAddress remote) {
  internet::NextHop hop;
  if (!remote.is_v4()) {
    b.doubt6(remote);
  } else if (b.routes.next_hop(b.addresses, remote, hop)) {
    b.neighbours.doubt(hop.address, b.engine.state->now);
  }
}

// Writes the link and IP headers in front of a payload that is in its place already.
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
  egress.length = b.link_bytes + header.count + departure.payload.count;
  return egress;
}

// The layers below TCP, as tcp::transmit_first needs them, for a frame that goes into `frame`.
struct LowerLayers {
  Stack::Body& b;
  std::span<std::byte> frame;

  link::Lookup next_hop(IpAddress destination, IpAddress source, link::Asker asker) const {
    return next_hop_to(b, destination, source, asker);
  }
  std::span<std::byte> room(IpAddress source) const {
    return frame.subspan(b.link_bytes + internet::ip_header_bytes(source));
  }
  bool doubt(IpAddress destination) const {
    if (!b.has_link()) {
      return false;
    }
    doubt_next_hop(b, destination);
    return true;
  }
};

}  // namespace

[[gnu::noinline]] Egress Stack::Body::transmit_reply(std::span<std::byte> into) {
  while (!engine.replies.empty()) {
    internet::ReplyHeader const header = engine.replies.front();
    link::Lookup hop{link::LookupKind::resolved, tcp::nil, header.mac};
    if (!header.has_mac) {
      hop = next_hop_to(*this, header.destination, header.source, link::Asker::stranger);
    }
    if (header.doubtful && has_link()) [[unlikely]] {
      doubt_next_hop(*this, header.destination);
    }
    //= rfc1122#2.3.2.2
    //# 1122:H-L3 a reply that the peer does not request again, a reset above all, waits for its hop
    if (hop.kind == link::LookupKind::waiting) {
      move_reply(engine.replies, parked);
      continue;
    }
    // A reply is dropped if its next hop does not answer.
    if (hop.kind != link::LookupKind::resolved) {
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
    Egress const egress = finish_frame(*this, hop.mac, departure, into);
    engine.replies.pop();
    ++statistics->replies_sent;
    return egress;
  }
  return {};
}

// A frame of the first connection that is ready; none if it has nothing to send, or if its next hop
// is unknown: then it is no longer the first. Not inlined: the loop around it needs the registers.
[[gnu::noinline]] Egress Stack::Body::transmit_first(std::span<std::byte> into) {
  LowerLayers lower{*this, into};
  tcp::Transmitted const segment = tcp::transmit_first(engine, lower);
  if (segment.departure.payload.empty()) {
    return {};
  }
  Egress egress = finish_frame(*this, segment.next_hop, segment.departure, into);
  egress.segment_bytes = static_cast<std::uint16_t>(segment.data.count);
  if (segment.sender != tcp::nil && answers_nothing()) {
    tcp::begin_train(engine, segment, into,
                     link_bytes + internet::ip_header_bytes(segment.departure.source), train);
  }
  return egress;
}

Egress Stack::Body::transmit_connection(std::span<std::byte> into) {
  Egress egress;
  // Bounded: one call does not walk a long list of connections without a frame to its end.
  for (std::uint32_t left = futile_max; left != 0 && !engine.ready().empty(); --left) {
    egress = transmit_first(into);
    if (egress.length != 0) {
      break;
    }
  }
  return egress;
}

// A frame of ARP or neighbour discovery, or a reply.
Egress Stack::Body::transmit_link_answer(std::span<std::byte> into) {
  if (has_link() && neighbours.wants_transmit()) {
    Egress egress;
    egress.length = neighbours.write_next(engine.state->now, into).count;
    if (egress.length != 0) {
      ++statistics->arp_sent;
      return egress;
    }
  }
  if (has_discovery() && discovery.wants_transmit()) [[unlikely]] {
    Egress egress;
    egress.length = discovery.write_next(engine.state->now, into).count;
    ++statistics->discovery_sent;
    return egress;
  }
  return {};
}

// ARP, neighbour discovery and replies without a connection take turns, so that neither delays the
// other for ever.
Egress Stack::Body::transmit_answer(std::span<std::byte> into) {
  bool const turn_of_replies = common->link_answer_went_last && !engine.replies.empty();
  common->link_answer_went_last = false;
  Egress egress = turn_of_replies ? transmit_reply(into) : Egress{};
  if (egress.length != 0) {
    return egress;
  }
  egress = transmit_link_answer(into);
  if (egress.length != 0) {
    common->link_answer_went_last = true;
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

// Whether the next frames are those of connections, whatever was sent last.
bool Stack::Body::answers_nothing() const {
  bool const link = has_link() && (neighbours.wants_transmit() || common->link_answer_went_last);
  return engine.replies.empty() && !link && !(has_discovery() && discovery.wants_transmit());
}

Egress Stack::Body::transmit_follower(std::span<std::byte> into) {
  Egress egress;
  egress.length = tcp::send_follower(engine, train, into).count;
  egress.segment_bytes = static_cast<std::uint16_t>(train.data.count);
  ++statistics->frames_sent;
  statistics->bytes_sent += egress.length;
  return egress;
}

Egress Stack::transmit(Instant now, std::span<std::byte> into) {
  Body& b = body();
  CHECK(now >= b.engine.state->now);
  CHECK(into.size() >= b.link_bytes + b.config.mtu.count);
  if (b.train.left != 0 && now == b.train.at) {
    return b.transmit_follower(into);
  }
  b.train.left = 0;
  b.engine.state->now = now;
  Egress egress = b.transmit(into);
  // An unresolved next hop may just have queued an ARP request or a solicitation.
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
