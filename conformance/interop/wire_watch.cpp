// Follows sequence numbers of a device's connections.
#include "conformance/interop/wire_watch.hpp"

#include <array>

#include "core/internet/ipv6_input.hpp"

namespace lockstep::conformance {
namespace {

struct Seen {
  Endpoint source, destination;
  wire::Segment segment;
};

std::optional<Seen> read_segment(std::span<const std::byte> bytes) {
  wire::IpPacket packet;
  Seen out;
  if (internet::read_packet(bytes, packet) != Drop::none || packet.header.is_fragment() ||
      packet.header.protocol != wire::IpProtocol::tcp ||
      wire::parse(packet.payload, out.segment) != Drop::none) {
    return std::nullopt;
  }
  out.source = {packet.header.source, out.segment.source};
  out.destination = {packet.header.destination, out.segment.destination};
  return out;
}

WireWatch::Connection begun(const FourTuple& tuple, bool opens, Sequence iss) {
  WireWatch::Connection out;
  out.tuple = tuple;
  out.opens = opens;
  out.opener_iss = iss;
  return out;
}

}  // namespace

bool WireWatch::Order::operator()(const FourTuple& a, const FourTuple& b) const {
  const auto key = [](const FourTuple& tuple) {
    return std::array<std::uint64_t, 5>{
        tuple.local.address.high, tuple.local.address.low, tuple.remote.address.high,
        tuple.remote.address.low,
        std::uint64_t{tuple.local.port.value} << 16 | tuple.remote.port.value};
  };
  return key(a) < key(b);
}

std::optional<FourTuple> WireWatch::sent(std::span<const std::byte> packet) {
  auto const seen = read_segment(packet);
  if (!seen) {
    return std::nullopt;
  }
  wire::Segment const& segment = seen->segment;
  FourTuple const tuple{seen->source, seen->destination};
  bool const opens = segment.flags.syn() && !segment.flags.ack();
  auto const found = connections_.find(tuple);
  bool const fresh =
      opens && (found == connections_.end() || found->second.opener_iss != segment.sequence);
  if (fresh) {
    connections_[tuple] = begun(tuple, true, segment.sequence);
  } else if (found == connections_.end()) {
    return std::nullopt;
  }
  Connection& c = connections_[tuple];
  ++c.segments;
  bool const first = !c.known && !segment.flags.rst();
  if (first) {
    c.known = true;
    c.iss = c.una = c.nxt = segment.sequence;
  }
  bool const takes_space = !segment.length().empty();
  c.retransmissions += takes_space && segment.sequence.before(c.nxt) ? 1 : 0;
  if (segment.end().after(c.nxt)) {
    c.nxt = segment.end();
  }
  return fresh ? std::optional(tuple) : std::nullopt;
}

std::optional<FourTuple> WireWatch::arrives(std::span<const std::byte> packet) {
  auto const seen = read_segment(packet);
  if (!seen) {
    return std::nullopt;
  }
  wire::Segment const& segment = seen->segment;
  FourTuple const tuple{seen->destination, seen->source};
  auto const found = connections_.find(tuple);
  if (segment.flags.syn() && !segment.flags.ack()) {
    bool const fresh =
        found == connections_.end() || (!found->second.opens && found->second.known &&
                                        found->second.opener_iss != segment.sequence);
    if (fresh) {
      connections_[tuple] = begun(tuple, false, segment.sequence);
    }
  } else if (found != connections_.end() && segment.flags.ack() && !segment.flags.rst()) {
    acknowledge(found->second, segment.acknowledgment);
  }
  return tuple;
}

void WireWatch::acknowledge(Connection& c, Sequence number) {
  if (!c.known || !number.after(c.una) || number.after(c.nxt)) {
    return;
  }
  // The first octet that is acknowledged is the SYN.
  c.acked += number.since(c.una).count - (c.handshake ? 0u : 1u);
  c.una = number;
  if (!c.opens && !c.handshake) {
    accepted_[c.tuple.local.port.value].push_back(c.tuple);
  }
  c.handshake = true;
}

std::optional<FourTuple> WireWatch::next_accepted(Port port) {
  auto& waiting = accepted_[port.value];
  if (waiting.empty()) {
    return std::nullopt;
  }
  FourTuple const out = waiting.front();
  waiting.pop_front();
  return out;
}

const WireWatch::Connection* WireWatch::find(const FourTuple& tuple) const {
  auto const found = connections_.find(tuple);
  return found == connections_.end() ? nullptr : &found->second;
}

}  // namespace lockstep::conformance
