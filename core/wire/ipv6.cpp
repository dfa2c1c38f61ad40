// Parsing and writing of IPv6 headers, and the walk along extension headers.
#include "core/wire/ipv6.hpp"

#include "core/units/check.hpp"
#include "core/wire/octets.hpp"

namespace lockstep::wire {
namespace {

constexpr std::uint8_t next_hop_by_hop = 0;
constexpr std::uint8_t next_routing = 43;
constexpr std::uint8_t next_fragment = 44;
constexpr std::uint8_t next_none = 59;
constexpr std::uint8_t next_destination = 60;

constexpr std::uint8_t option_pad1 = 0;
constexpr std::uint8_t option_padn = 1;

// The part of a transport header that a first fragment must contain.
std::uint32_t transport_header_bytes(std::uint8_t protocol) {
  return protocol == static_cast<std::uint8_t>(IpProtocol::tcp) ? 20 : 8;
}

// The position of the walk: `next` is the type of the header at `at`, given in the octet at
// `named_at`.
struct Place {
  std::uint8_t next = 0;
  std::uint32_t named_at = 0;
  std::uint32_t at = 0;
};

Drop refuse(Ipv6Packet& packet, Drop drop, std::uint8_t code, std::uint32_t pointer) {
  packet.problem = {true, false, code, pointer};
  return drop;
}

//= rfc8200#4.2
//# 8200:V6-7 the two highest bits of an unknown option's type determine what happens to the packet
Drop check_unknown_option(Ipv6Packet& packet, std::uint8_t type, std::uint32_t at) {
  switch (type >> 6) {
    case 0:
      return Drop::none;
    case 1:
      return Drop::ip_option_unknown;
    default:
      packet.problem = {true, type >> 6 == 2, problem_option, at};
      return Drop::ip_option_unknown;
  }
}

//= rfc8200#4.2
//# 8200:V6-8 options are processed in order; Pad1 is a single octet, PadN has a length
Drop walk_options(Ipv6Packet& packet, std::uint32_t at, std::uint32_t end) {
  while (at < end) {
    std::uint8_t const type = load8(packet.bytes.data() + at);
    if (type == option_pad1) {
      ++at;
      continue;
    }
    if (end - at < 2) {
      return refuse(packet, Drop::ip_option_malformed, problem_field, at);
    }
    std::uint32_t const length = load8(packet.bytes.data() + at + 1);
    if (length > end - at - 2) {
      return refuse(packet, Drop::ip_option_malformed, problem_field, at + 1);
    }
    if (type != option_padn) {
      Drop const drop = check_unknown_option(packet, type, at);
      if (drop != Drop::none) {
        return drop;
      }
    }
    at += 2 + length;
  }
  return Drop::none;
}

// A header of options or a routing header, whose lengths are encoded in the same way.
Drop walk_sized(Ipv6Packet& packet, Place& place) {
  if (packet.bytes.size() - place.at < 8) {
    return Drop::ip_header_chain;
  }
  std::byte const* const at = packet.bytes.data() + place.at;
  std::uint32_t const length = (load8(at + 1) + 1u) * 8;
  if (length > packet.bytes.size() - place.at) {
    return Drop::ip_header_chain;
  }
  if (place.next == next_routing) {
    //= rfc8200#4.4
    //# 8200:V6-9 without segments left it is skipped, whatever its type
    //# 8200:V6-10 with segments left it is refused: no type is supported
    if (load8(at + 3) != 0) {
      return refuse(packet, Drop::ip_routing_header, problem_field, place.at + 2);
    }
  } else {
    Drop const drop = walk_options(packet, place.at + 2, place.at + length);
    if (drop != Drop::none) {
      return drop;
    }
  }
  place = {load8(at), place.at, place.at + length};
  return Drop::none;
}

Drop walk_fragment(Ipv6Packet& packet, Place& place) {
  if (packet.bytes.size() - place.at < ipv6_fragment_bytes) {
    return Drop::ip_header_chain;
  }
  std::byte const* const at = packet.bytes.data() + place.at;
  std::uint16_t const word = load16(at + 2);
  //= rfc8200#4.5
  //# 8200:V6-21 the reserved fields are ignored
  Ipv6Fragment const fragment{load32(at + 4), static_cast<std::uint16_t>(word >> 3),
                              (word & 1) != 0};
  //= rfc6946#4
  //# 6946:ATOM-3 the payload after an atomic fragment header is shorter by its eight octets
  // Only the first fragment header counts.
  if (!packet.has_fragment) {
    packet.has_fragment = true;
    packet.fragment = fragment;
    packet.fragment_at = static_cast<std::uint16_t>(place.at);
    packet.fragment_named_at = static_cast<std::uint16_t>(place.named_at);
  } else if (!fragment.is_atomic()) {
    return Drop::ip_header_chain;
  }
  place = {load8(at), place.at, place.at + ipv6_fragment_bytes};
  return Drop::none;
}

void arrive(Ipv6Packet& packet, const Place& place) {
  packet.payload = packet.bytes.subspan(place.at);
  packet.protocol = static_cast<IpProtocol>(place.next);
}

// The end of the walk: a transport that we know, no next header, or an unknown one.
Drop finish(Ipv6Packet& packet, const Place& place) {
  arrive(packet, place);
  if (place.next == next_none) {
    //= rfc8200#4.7
    //# 8200:V6-22 what follows is ignored
    return Drop::ip_no_next_header;
  }
  bool const known = packet.protocol == IpProtocol::tcp || packet.protocol == IpProtocol::icmpv6;
  //= rfc8200#4
  //# 8200:V6-4 an unknown next header is refused, with a pointer to where it is named
  //# 8200:V6-5 so is a hop-by-hop header anywhere but first
  return known ? Drop::none
               : refuse(packet, Drop::ip_protocol_unknown, problem_next_header, place.named_at);
}

// Finds the transport of a refused packet: an ICMPv6 error must not be answered by another.
void seek_transport(Ipv6Packet& packet) {
  Place place{packet.header.next_header, 6, ipv6_header_bytes};
  for (std::uint32_t i = 0; i < ipv6_headers_max; ++i) {
    bool const sized = place.next == next_hop_by_hop || place.next == next_routing ||
                       place.next == next_destination;
    if ((!sized && place.next != next_fragment) || packet.bytes.size() - place.at < 8) {
      break;
    }
    std::byte const* const at = packet.bytes.data() + place.at;
    std::uint32_t const length = sized ? (load8(at + 1) + 1u) * 8 : ipv6_fragment_bytes;
    if (length > packet.bytes.size() - place.at) {
      break;
    }
    place = {load8(at), place.at, place.at + length};
  }
  arrive(packet, place);
}

// Whether the walk is in a non-atomic fragment. It goes no further, except along the headers of the
// first fragment, which must contain all of them.
bool in_fragment(const Ipv6Packet& packet) {
  return packet.has_fragment && !packet.fragment.is_atomic();
}

// The first fragment must contain all headers, including the transport's.
//= rfc8200#4.5
//# 8200:V6-16 a first fragment without them is refused
Drop check_first_fragment(Ipv6Packet& packet, Place place) {
  Place const begin = place;
  for (std::uint32_t i = 0; i < ipv6_headers_max; ++i) {
    bool const sized = place.next == next_routing || place.next == next_destination;
    if (!sized) {
      std::uint32_t const need = place.next == next_none ? 0 : transport_header_bytes(place.next);
      if (packet.bytes.size() - place.at < need) {
        return refuse(packet, Drop::ip_header_chain, problem_first_fragment, 0);
      }
      arrive(packet, begin);
      return Drop::none;
    }
    Drop const drop = walk_sized(packet, place);
    if (drop == Drop::ip_header_chain) {
      return refuse(packet, Drop::ip_header_chain, problem_first_fragment, 0);
    }
    if (drop != Drop::none) {
      return drop;
    }
  }
  return Drop::ip_header_chain;
}

}  // namespace

Drop parse(std::span<const std::byte> bytes, Ipv6Packet& out) {
  if (bytes.size() < ipv6_header_bytes) {
    return Drop::ip_too_short;
  }
  std::byte const* const at = bytes.data();
  std::uint32_t const first = load32(at);
  //= rfc8200#3
  //# 8200:V6-1 version 6; the payload length counts what follows the 40 octets
  if (first >> 28 != 6) {
    return Drop::ip_version;
  }
  std::size_t const total = std::size_t{ipv6_header_bytes} + load16(at + 4);
  if (total > bytes.size()) {
    return Drop::ip_total_length;
  }
  out = Ipv6Packet{};
  out.header.traffic_class = static_cast<std::uint8_t>(first >> 20);
  out.header.flow_label = first & 0xf'ffff;
  out.header.next_header = load8(at + 6);
  //= rfc8200#3
  //# 8200:V6-2 stored, not checked: 0 is valid at the destination
  out.header.hop_limit = load8(at + 7);
  out.header.source = load_ipv6(at + 8);
  out.header.destination = load_ipv6(at + 24);
  out.bytes = bytes.first(total);
  return Drop::none;
}

//= rfc8200#4
//# 8200:V6-3 the headers are processed strictly in order
//= rfc8200#4.1
//# 8200:V6-6 in any order and number, but hop-by-hop only directly after the IPv6 header
static Drop walk_strictly(Ipv6Packet& packet) {
  Place place{packet.header.next_header, 6, ipv6_header_bytes};
  for (std::uint32_t i = 0; i < ipv6_headers_max; ++i) {
    Drop drop = Drop::none;
    if (place.next == next_fragment) {
      drop = walk_fragment(packet, place);
      if (drop == Drop::none && in_fragment(packet)) {
        if (packet.fragment.offset == 0) {
          return check_first_fragment(packet, place);
        }
        arrive(packet, place);
        return Drop::none;
      }
    } else if (place.next == next_routing || place.next == next_destination ||
               (place.next == next_hop_by_hop && i == 0)) {
      drop = walk_sized(packet, place);
    } else {
      return finish(packet, place);
    }
    if (drop != Drop::none) {
      return drop;
    }
  }
  return Drop::ip_header_chain;
}

Drop walk(Ipv6Packet& packet) {
  Drop const drop = walk_strictly(packet);
  if (packet.problem.send_icmp_error && drop != Drop::ip_protocol_unknown) {
    seek_transport(packet);
  }
  return drop;
}

Bytes write(const Ipv6Header& header, Bytes payload, std::span<std::byte> into) {
  CHECK(into.size() >= ipv6_header_bytes);
  CHECK(payload.count <= 0xffff);
  CHECK(header.flow_label <= 0xf'ffff);
  std::byte* const at = into.data();
  //= rfc8200#3
  //# 8200:V6-1 version 6, and the length of all that follows
  store32(at, 6u << 28 | std::uint32_t{header.traffic_class} << 20 | header.flow_label);
  store16(at + 4, static_cast<std::uint16_t>(payload.count));
  store8(at + 6, header.next_header);
  store8(at + 7, header.hop_limit);
  store_ipv6(at + 8, header.source);
  store_ipv6(at + 24, header.destination);
  return {ipv6_header_bytes};
}

}  // namespace lockstep::wire
