// Skips the headers around IP packets, one function for each kind.
#include "tools/base/capture/layers.hpp"

#include "tools/base/capture/octets.hpp"

namespace lockstep::tools {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::uint16_t type_ipv4 = 0x0800;
constexpr std::uint16_t type_ipv6 = 0x86dd;
constexpr std::uint16_t type_mpls = 0x8847;
constexpr std::uint16_t type_pppoe = 0x8864;
constexpr std::uint16_t type_bridged = 0x6558;
constexpr std::uint16_t type_erspan = 0x88be;
constexpr std::uint16_t type_erspan_3 = 0x22eb;

/// One number for a network within another.
std::uint32_t joined_number(std::uint32_t outer, std::uint32_t inner) {
  return outer * 0x9e37'79b1u + inner;
}

/// The part of a tunnel's packet that belongs to a network with this number.
IpPart within(std::uint32_t network, IpPart part) {
  part.network = joined_number(part.network, network);
  return part;
}

bool is_vlan(std::uint16_t type) { return type == 0x8100 || type == 0x88a8 || type == 0x9100; }

/// PPP (RFC 1661): the protocol field, after RFC 1662's address and control fields if those were
/// captured.
IpPart after_ppp(Bytes bytes) {
  constexpr std::uint16_t address_and_control = 0xff03;
  if (bytes.size() >= 2 && word_at(bytes, 0) == address_and_control) {
    bytes = bytes.subspan(2);
  }
  if (bytes.size() < 2) {
    return {FrameKind::cut_short, {}};
  }
  constexpr std::uint16_t ppp_ipv4 = 0x0021;
  constexpr std::uint16_t ppp_ipv6 = 0x0057;
  std::uint16_t const protocol = word_at(bytes, 0);
  if (protocol != ppp_ipv4 && protocol != ppp_ipv6) {
    return {FrameKind::not_ip, {}};
  }
  return {FrameKind::tcp, bytes.subspan(2)};
}

IpPart after_pppoe(Bytes bytes) {
  constexpr std::size_t header = 6;
  return bytes.size() < header ? IpPart{FrameKind::cut_short, {}}
                               : after_ppp(bytes.subspan(header));
}

/// Label stack entries (RFC 3032) up to the bottom of the stack. What follows is identified only by
/// its IP version.
IpPart after_labels(Bytes bytes) {
  constexpr int labels_max = 8;
  for (int label = 0; label < labels_max; ++label) {
    if (bytes.size() < 4) {
      return {FrameKind::cut_short, {}};
    }
    bool const last = (octet_at(bytes, 2) & 1) != 0;
    bytes = bytes.subspan(4);
    if (last) {
      return {FrameKind::tcp, bytes};
    }
  }
  return {FrameKind::malformed, {}};
}

/// The payload for an EtherType other than a VLAN tag's.
IpPart of_type(std::uint16_t type, Bytes bytes) {
  switch (type) {
    case type_ipv4:
    case type_ipv6:
      return {FrameKind::tcp, bytes};
    case type_pppoe:
      return after_pppoe(bytes);
    case type_mpls:
      return after_labels(bytes);
    default:
      return {FrameKind::not_ip, {}};
  }
}

/// Skips at most four VLAN tags. `at` is the offset of the EtherType.
IpPart after_ethertype(Bytes bytes, std::size_t at) {
  constexpr int tags_max = 4;
  std::uint32_t network = 0;
  for (int tag = 0; tag <= tags_max; ++tag) {
    if (at + 2 > bytes.size()) {
      return {FrameKind::cut_short, {}};
    }
    std::uint16_t const type = word_at(bytes, at);
    if (!is_vlan(type)) {
      IpPart out = of_type(type, bytes.subspan(at + 2));
      out.network = network;
      return out;
    }
    std::uint16_t const vlan = at + 4 <= bytes.size() ? word_at(bytes, at + 2) & 0xfffu : 0;
    network = vlan != 0 ? joined_number(network, vlan) : network;  // 0: only a priority
    at += 4;
  }
  return {FrameKind::malformed, {}};
}

IpPart after_ethernet(Bytes bytes) { return after_ethertype(bytes, 12); }

/// ERSPAN, in which switches mirror: an Ethernet frame behind a header. Type I has none, and no
/// sequence number in GRE; type III may have eight octets more.
IpPart after_erspan(std::uint16_t type, bool numbered, Bytes bytes) {
  std::size_t header = numbered ? 8 : 0;
  if (type == type_erspan_3) {
    header = 12;
    if (bytes.size() >= header && (octet_at(bytes, 11) & 1) != 0) {
      header += 8;
    }
  }
  return bytes.size() < header ? IpPart{FrameKind::cut_short, {}}
                               : after_ethernet(bytes.subspan(header));
}

/// GRE: flags indicate a checksum, a key and a sequence number. Version 1 is PPTP's, which does not
/// name the protocol inside PPP; it is not opened.
std::optional<IpPart> after_gre(Bytes bytes) {
  if (bytes.size() < 4) {
    return IpPart{FrameKind::cut_short, {}};
  }
  std::uint16_t const flags = word_at(bytes, 0);
  if ((flags & 7u) != 0 || (flags & 0x4000u) != 0) {
    return std::nullopt;
  }
  std::size_t header = 4;
  for (std::uint16_t bit : {std::uint16_t{0x8000}, std::uint16_t{0x2000}, std::uint16_t{0x1000}}) {
    header += (flags & bit) != 0 ? 4u : 0u;
  }
  if (bytes.size() < header) {
    return IpPart{FrameKind::cut_short, {}};
  }
  std::uint16_t const type = word_at(bytes, 2);
  if (type == type_bridged) {
    return after_ethernet(bytes.subspan(header));
  }
  if (type == type_erspan || type == type_erspan_3) {
    return after_erspan(type, (flags & 0x1000u) != 0, bytes.subspan(header));
  }
  IpPart const inner = of_type(type, bytes.subspan(header));
  return inner.kind == FrameKind::not_ip ? std::nullopt : std::optional(inner);
}

std::optional<IpPart> after_vxlan(Bytes bytes) {
  constexpr std::size_t header = 8;
  if (bytes.size() < header) {
    return IpPart{FrameKind::cut_short, {}};
  }
  bool const has_network = (octet_at(bytes, 0) & 0x08) != 0;
  std::uint32_t const network = long_at(bytes, 4) >> 8;
  return has_network ? std::optional(within(network, after_ethernet(bytes.subspan(header))))
                     : std::nullopt;
}

std::optional<IpPart> after_geneve(Bytes bytes) {
  if (bytes.size() < 8) {
    return IpPart{FrameKind::cut_short, {}};
  }
  std::size_t const header = 8 + static_cast<std::size_t>(octet_at(bytes, 0) & 0x3f) * 4;
  if (bytes.size() < header) {
    return IpPart{FrameKind::cut_short, {}};
  }
  std::uint16_t const type = word_at(bytes, 2);
  std::uint32_t const network = long_at(bytes, 4) >> 8;
  return within(network, type == type_bridged ? after_ethernet(bytes.subspan(header))
                                              : of_type(type, bytes.subspan(header)));
}

/// TZSP, in which access points and MikroTik's routers mirror: fields up to one of kind 1.
std::optional<IpPart> after_tzsp(Bytes bytes) {
  constexpr std::uint16_t of_ethernet = 1;
  constexpr std::uint8_t padding = 0;
  constexpr std::uint8_t end = 1;
  if (bytes.size() < 4) {
    return IpPart{FrameKind::cut_short, {}};
  }
  bool const has_packet = octet_at(bytes, 0) == 1 && octet_at(bytes, 1) <= 1;
  if (!has_packet || word_at(bytes, 2) != of_ethernet) {
    return std::nullopt;
  }
  std::size_t at = 4;
  while (at < bytes.size() && octet_at(bytes, at) != end) {
    bool const single = octet_at(bytes, at) == padding;
    at += single || at + 1 >= bytes.size() ? 1u : 2u + octet_at(bytes, at + 1);
  }
  return at >= bytes.size() ? IpPart{FrameKind::cut_short, {}}
                            : after_ethernet(bytes.subspan(at + 1));
}

/// GTP-U: a user's packet (message 255), after four more octets and extension headers if any of
/// three flags is set.
std::optional<IpPart> after_gtp(Bytes bytes) {
  constexpr std::uint8_t user_packet = 255;
  if (bytes.size() < 8) {
    return IpPart{FrameKind::cut_short, {}};
  }
  std::uint8_t const flags = octet_at(bytes, 0);
  if (flags >> 4 != 3 || octet_at(bytes, 1) != user_packet) {
    return std::nullopt;
  }
  std::size_t at = 8;
  if ((flags & 7) != 0) {
    constexpr int extensions_max = 8;
    at = 12;
    for (int i = 0; i < extensions_max && at <= bytes.size() && octet_at(bytes, at - 1) != 0; ++i) {
      std::size_t const words = at < bytes.size() ? octet_at(bytes, at) : 0;
      if (words == 0) {
        return IpPart{FrameKind::malformed, {}};
      }
      at += words * 4;
    }
  }
  return at > bytes.size() ? IpPart{FrameKind::cut_short, {}}
                           : IpPart{FrameKind::tcp, bytes.subspan(at)};
}

/// PKTAP: the length of its header, the kind of record, and the number of the link layer behind it,
/// in the order of octets of Apple's machines, little-endian.
IpPart after_pktap(Bytes frame) {
  constexpr std::size_t least = 12;
  constexpr std::uint32_t packet = 1;
  if (frame.size() < least) {
    return {FrameKind::cut_short, {}};
  }
  std::uint32_t const header = little_long_at(frame, 0);
  std::uint32_t const type = little_long_at(frame, 8);
  std::optional<LinkLayer> const link =
      type <= 0xffff ? link_layer_of(static_cast<int>(type)) : std::nullopt;
  if (header < least || header > frame.size()) {
    return {header < least ? FrameKind::malformed : FrameKind::cut_short, {}};
  }
  if (little_long_at(frame, 4) != packet || !link || *link == LinkLayer::pktap) {
    return {FrameKind::not_ip, {}};
  }
  return strip_link(frame.subspan(header), *link);
}

std::optional<IpPart> after_udp(Bytes bytes) {
  constexpr std::size_t header = 8;
  if (bytes.size() < header) {
    return std::nullopt;
  }
  Bytes const payload = bytes.subspan(header);
  switch (word_at(bytes, 2)) {
    case 4789:
    case 8472:  // Linux's port before one was assigned
      return after_vxlan(payload);
    case 6081:
      return after_geneve(payload);
    case 2152:
      return after_gtp(payload);
    case 37008:
      return after_tzsp(payload);
    default:
      return std::nullopt;
  }
}

}  // namespace

IpPart strip_link(Bytes frame, LinkLayer link) {
  switch (link) {
    case LinkLayer::ethernet:
      return after_ethernet(frame);
    case LinkLayer::linux_cooked:
      return after_ethertype(frame, 14);
    case LinkLayer::linux_cooked_2:
      if (frame.size() < 20) {
        return {FrameKind::cut_short, {}};
      }
      return of_type(word_at(frame, 0), frame.subspan(20));
    case LinkLayer::loopback:
      if (frame.size() < 4) {
        return {FrameKind::cut_short, {}};
      }
      return {FrameKind::tcp, frame.subspan(4)};
    case LinkLayer::ppp:
      return after_ppp(frame);
    case LinkLayer::pktap:
      return after_pktap(frame);
    case LinkLayer::raw_ip:
      break;
  }
  return {FrameKind::tcp, frame};
}

std::optional<IpPart> open_tunnel(std::uint8_t protocol, Bytes payload) {
  switch (protocol) {
    case 4:   // IPv4 in either
    case 41:  // IPv6 in either
      return IpPart{FrameKind::tcp, payload};
    case 47:
      return after_gre(payload);
    case 17:
      return after_udp(payload);
    default:
      return std::nullopt;
  }
}

}  // namespace lockstep::tools
