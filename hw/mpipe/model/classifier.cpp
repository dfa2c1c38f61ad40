// Parses what the classifier parses: tags, SNAP, IPv4, IPv6, TCP and UDP.
#include "hw/mpipe/model/classifier.hpp"

#include <array>

#include "core/stack/shard.hpp"
#include "core/units/random.hpp"
#include "core/wire/checksum.hpp"
#include "core/wire/octets.hpp"

namespace lockstep::hw::mpipe {
namespace {

using Octets = std::span<const std::byte>;
constexpr std::uint8_t tcp = 6;
constexpr std::uint8_t udp = 17;
constexpr std::uint32_t tags_max = 2;

bool is_tag(std::uint32_t type) {
  return type == 0x8100 || type == 0x88a8 || type == 0x9100 || type == 0x9200;
}

std::uint32_t octet(Octets frame, std::size_t at) {
  return std::to_integer<std::uint32_t>(frame[at]);
}

// The network layer of a frame, as far as hash and checksum need it.
struct Network {
  Octets source, destination;
  Octets payload;
  std::uint8_t protocol = 0;  // 0: a fragment, or after extension headers
  bool whole = false;
};

// The offset of the payload of the link layer; 0: it cannot be parsed.
std::uint32_t parse_link(Octets frame, Classified& out) {
  if (frame.size() < 14) {
    return 0;
  }
  std::uint32_t at = 12;
  std::uint32_t type = wire::load16(frame.data() + at);
  for (std::uint32_t tags = 0; tags < tags_max && is_tag(type) && frame.size() >= at + 6; ++tags) {
    if (out.vlan == 0xffff) {
      out.vlan = static_cast<std::uint16_t>(wire::load16(frame.data() + at + 2) & 0xfff);
    }
    at += 4;
    type = wire::load16(frame.data() + at);
  }
  at += 2;
  if (type < 0x600) {
    constexpr std::uint32_t snap_bytes = 8;
    if (frame.size() < at + snap_bytes || octet(frame, at) != 0xaa ||
        octet(frame, at + 1) != 0xaa) {
      return 0;
    }
    type = wire::load16(frame.data() + at + 6);
    at += snap_bytes;
  }
  out.ethertype = static_cast<std::uint16_t>(type);
  return at;
}

bool parse_ipv4(Octets packet, Classified& out, Network& network) {
  if (packet.size() < 20 || octet(packet, 0) >> 4 != 4) {
    return false;
  }
  std::uint32_t const header = (octet(packet, 0) & 0xf) * 4;
  std::uint32_t const total = wire::load16(packet.data() + 2);
  if (header < 20 || packet.size() < header) {
    return false;
  }
  network.source = packet.subspan(12, 4);
  network.destination = packet.subspan(16, 4);
  bool const fragment = (wire::load16(packet.data() + 6) & 0x3fff) != 0;
  network.protocol = fragment ? std::uint8_t{0} : static_cast<std::uint8_t>(octet(packet, 9));
  if (!wire::sum(packet.first(header)).verifies()) {
    out.status |= Classified::bad_header;
  }
  network.whole = total >= header && total <= packet.size();
  network.payload = network.whole ? packet.subspan(header, total - header) : packet.subspan(header);
  out.l4_offset = static_cast<std::uint8_t>(out.l3_offset + header);
  return true;
}

bool parse_ipv6(Octets packet, Classified& out, Network& network) {
  constexpr std::uint32_t header = 40;
  if (packet.size() < header || octet(packet, 0) >> 4 != 6) {
    return false;
  }
  std::uint32_t const length = wire::load16(packet.data() + 4);
  network.source = packet.subspan(8, 16);
  network.destination = packet.subspan(24, 16);
  // After an extension header the pseudo-header may differ: no checksum verdict, addresses hashed
  // only.
  std::uint32_t const next = octet(packet, 6);
  network.protocol = next == tcp || next == udp ? static_cast<std::uint8_t>(next) : std::uint8_t{0};
  network.whole = header + length <= packet.size();
  network.payload = network.whole ? packet.subspan(header, length) : packet.subspan(header);
  out.l4_offset = static_cast<std::uint8_t>(out.l3_offset + header);
  return true;
}

void judge_transport(const Network& network, Classified& out) {
  std::size_t const least = network.protocol == tcp ? 20 : 8;
  if (!network.whole || (network.protocol != tcp && network.protocol != udp) ||
      network.payload.size() < least) {
    return;
  }
  if (network.protocol == udp && wire::load16(network.payload.data() + 6) == 0) {
    return;
  }
  std::array<std::byte, 4> const rest{std::byte{0}, std::byte{network.protocol},
                                      static_cast<std::byte>(network.payload.size() >> 8),
                                      static_cast<std::byte>(network.payload.size() & 0xff)};
  wire::Partial all = wire::combine(wire::sum(network.source), wire::sum(network.destination));
  all = wire::combine(all, wire::sum(rest));
  all = wire::combine(all, wire::sum(network.payload));
  out.summed = true;
  out.sum = all.folded();
  out.sum_start = out.l4_offset;
}

std::uint16_t port_at(const Network& network, std::size_t at) {
  bool const ports =
      (network.protocol == tcp || network.protocol == udp) && network.payload.size() >= at + 2;
  return ports ? static_cast<std::uint16_t>(wire::load16(network.payload.data() + at))
               : std::uint16_t{0};
}

// A hash of ends and protocol; without a network layer (nullptr) of the link addresses.
std::uint16_t flow_hash(Octets frame, const Network* network, HashSeed seed) {
  std::uint16_t from = 0;
  std::uint16_t to = 0;
  if (network != nullptr) {
    from = end_hash(network->source, port_at(*network, 0), seed);
    to = end_hash(network->destination, port_at(*network, 2), seed);
  } else if (frame.size() >= 12) {
    to = end_hash(frame.first(6), 0, seed);
    from = end_hash(frame.subspan(6, 6), 0, seed);
  }
  if (seed.by == FlowHash::lopsided) {
    from = static_cast<std::uint16_t>(from << 1 | from >> 15);
  }
  return add_hashes(std::array{
      from, to, std::uint16_t{network != nullptr ? network->protocol : std::uint8_t{0}}});
}

// Frames for all workers go to the first.
std::uint16_t home_hash(Octets frame, ShardCount workers) {
  ShardId const home = home_of(LinkType::ethernet, frame, workers);
  return home == ShardId::everyone() ? std::uint16_t{0} : static_cast<std::uint16_t>(home.value);
}

}  // namespace

std::uint16_t add_hashes(std::span<const std::uint16_t> parts) {
  std::uint32_t sum = 0;
  for (std::uint16_t const part : parts) {
    sum += part;
    sum = (sum & 0xffff) + (sum >> 16);
  }
  return static_cast<std::uint16_t>(sum);
}

std::uint16_t end_hash(std::span<const std::byte> address, std::uint16_t port, HashSeed seed) {
  std::uint64_t mixed = seed.value ^ port;
  for (std::byte const each : address) {
    mixed = Random(mixed ^ std::to_integer<std::uint64_t>(each)).next();
  }
  return static_cast<std::uint16_t>(Random(mixed).next() >> 48);
}

Classified classify(std::span<const std::byte> frame, HashSeed seed) {
  Classified out;
  std::uint32_t const at = parse_link(frame, out);
  Network network;
  bool parsed = false;
  if (at != 0) {
    out.l3_offset = static_cast<std::uint8_t>(at);
    if (out.ethertype == 0x0800) {
      parsed = parse_ipv4(frame.subspan(at), out, network);
    } else if (out.ethertype == 0x86dd) {
      parsed = parse_ipv6(frame.subspan(at), out, network);
    }
  }
  if (parsed) {
    judge_transport(network, out);
  }
  switch (seed.by) {
    case FlowHash::nic:
    case FlowHash::lopsided:
      out.hash = flow_hash(frame, parsed ? &network : nullptr, seed);
      break;
    case FlowHash::ours:
      out.hash = home_hash(frame, {seed.workers});
      break;
    case FlowHash::one:
      out.hash = static_cast<std::uint16_t>(seed.value);
      break;
  }
  return out;
}

}  // namespace lockstep::hw::mpipe
