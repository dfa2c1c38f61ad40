// Decodes captured frames, tolerating what the core's own parsers refuse.
#include "tools/base/capture/decode.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "tools/base/capture/layers.hpp"
#include "tools/base/capture/octets.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/base/text/units.hpp"

namespace lockstep::tools {
namespace {

using Bytes = std::span<const std::byte>;

/// Fields of the IP header, and the transport's bytes as far as they were captured.
struct Transport {
  FrameKind kind = FrameKind::tcp;
  IpAddress source, destination;
  std::uint8_t protocol = 0;
  std::uint8_t traffic_class = 0;
  std::uint8_t hop_limit = 0;
  std::uint16_t identification = 0;
  SumState header_sum = SumState::good;
  bool ipv6 = false;
  bool sum_known = true;  ///< the addresses are the ones that the checksum covers
  bool begins = true;     ///< a fragment with the beginning of the packet
  Bytes bytes;
  std::uint32_t missing = 0;
};

IpAddress address_v4(Bytes bytes, std::size_t at) {
  return IpAddress::from(Ipv4{long_at(bytes, at)});
}

/// The sum of the pseudo-header without the length.
std::uint32_t sum_of_addresses(const Transport& from) {
  std::uint32_t pseudo = 6;
  for (const IpAddress& address : {from.source, from.destination}) {
    std::uint64_t const high = from.ipv6 ? address.high : 0;
    std::uint64_t const low = from.ipv6 ? address.low : address.as_v4().value;
    for (int shift = 0; shift < 64; shift += 16) {
      pseudo += static_cast<std::uint16_t>(high >> shift);
      pseudo += static_cast<std::uint16_t>(low >> shift);
    }
  }
  return pseudo;
}

/// Whether the length of the packet is that of the first part into which hardware will split it:
/// FreeBSD writes it so, before the packet is captured, with a checksum that it gives no packet
/// which stays whole. Ethernet pads only smaller frames.
bool is_to_be_split(const Transport& from, Bytes ip, std::size_t header) {
  constexpr std::size_t padded_most = 46;
  constexpr std::uint8_t tcp = 6;
  return ip.size() > padded_most && from.protocol == tcp && ip.size() >= header + 20 &&
         word_at(ip, header + 16) == ones_fold(sum_of_addresses(from));
}

Transport open_v4(Bytes ip, std::uint32_t lost) {
  Transport out;
  if (ip.size() < 20) {
    out.kind = FrameKind::cut_short;
    return out;
  }
  std::size_t const header = static_cast<std::size_t>(octet_at(ip, 0) & 0x0f) * 4;
  std::size_t total = word_at(ip, 2);
  if (total == 0) {
    total = ip.size() + lost;  // segmentation offload: the length field is still 0
  }
  if (header < 20 || total < header) {
    out.kind = FrameKind::malformed;
    return out;
  }
  if (ip.size() < header) {
    out.kind = FrameKind::cut_short;
    return out;
  }
  out.source = address_v4(ip, 12);
  out.destination = address_v4(ip, 16);
  out.protocol = octet_at(ip, 9);
  out.traffic_class = octet_at(ip, 1);
  out.hop_limit = octet_at(ip, 8);
  out.identification = word_at(ip, 4);
  if (ones_fold(ones_sum(ip.first(header))) != 0xffff) {
    out.header_sum = word_at(ip, 10) == 0 ? SumState::partial : SumState::bad;
  }
  std::size_t const frame = ip.size() + lost;
  if (frame > total && is_to_be_split(out, ip, header)) {
    total = frame;
  }
  std::size_t const have = std::min(total, ip.size());
  out.bytes = ip.subspan(header, have - header);
  out.missing = static_cast<std::uint32_t>(total - have);
  if ((word_at(ip, 6) & 0x3fff) != 0) {
    out.kind = FrameKind::fragment;
    out.begins = (word_at(ip, 6) & 0x1fff) == 0;
  }
  return out;
}

IpAddress address_v6(Bytes bytes, std::size_t at) {
  return {wide_at(bytes, at), wide_at(bytes, at + 8)};
}

/// The headers of IPv6 that are skipped. An authentication header has another unit of length, and a
/// fragment header none.
namespace extension {
constexpr std::uint8_t hop_by_hop = 0, routing = 43, fragment = 44, authentication = 51;
constexpr std::uint8_t destination_options = 60;
}  // namespace extension

bool is_extension(std::uint8_t next) {
  return next == extension::hop_by_hop || next == extension::routing ||
         next == extension::fragment || next == extension::authentication ||
         next == extension::destination_options;
}

std::size_t extension_length(std::uint8_t kind, std::uint8_t field) {
  if (kind == extension::fragment) {
    return 8;
  }
  return kind == extension::authentication ? (std::size_t{field} + 2) * 4
                                           : (std::size_t{field} + 1) * 8;
}

/// The final destination, which TCP's checksum covers (RFC 8200 8.1), while a routing header still
/// lists hops: the last address of type 0, the only one of type 2, the first of type 4.
void read_routing(Bytes header, Transport& out) {
  constexpr std::uint8_t compressed = 3;  // RFC 6554
  std::uint8_t const type = octet_at(header, 2);
  bool const goes_on = octet_at(header, 3) != 0;
  std::size_t const addresses = (header.size() - 8) / 16;
  if (!goes_on || addresses == 0) {
    return;
  }
  if (type == compressed) {
    out.sum_known = false;
  } else if (type == 0 || type == 2 || type == 4) {
    out.destination = address_v6(header, 8 + (type == 0 ? addresses - 1 : 0) * 16);
  }
}

/// The home address of a mobile node replaces its source address (RFC 6275 6.3).
void read_destination_options(Bytes header, Transport& out) {
  constexpr std::uint8_t home_address = 0xc9;
  std::size_t at = 2;
  while (at + 2 <= header.size()) {
    std::uint8_t const type = octet_at(header, at);
    if (type == 0) {
      ++at;
      continue;
    }
    std::size_t const length = octet_at(header, at + 1);
    if (type == home_address && length == 16 && at + 18 <= header.size()) {
      out.source = address_v6(header, at + 2);
    }
    at += 2 + length;
  }
}

Transport open_v6(Bytes ip, std::uint32_t lost) {
  Transport out;
  out.ipv6 = true;
  if (ip.size() < 40) {
    out.kind = FrameKind::cut_short;
    return out;
  }
  out.source = address_v6(ip, 8);
  out.destination = address_v6(ip, 24);
  out.traffic_class = static_cast<std::uint8_t>(word_at(ip, 0) >> 4);
  out.hop_limit = octet_at(ip, 7);
  std::size_t total = std::size_t{40} + word_at(ip, 4);
  if (total == 40) {
    total = ip.size() + lost;
  }
  std::size_t const have = std::min(total, ip.size());
  std::uint8_t next = octet_at(ip, 6);
  std::size_t at = 40;
  constexpr int extensions_max = 8;
  for (int count = 0; is_extension(next) && count < extensions_max; ++count) {
    if (at + 8 > have) {
      out.kind = FrameKind::cut_short;
      return out;
    }
    std::uint8_t const kind = next;
    std::size_t const length = extension_length(kind, octet_at(ip, at + 1));
    next = octet_at(ip, at);
    if (at + length > have) {
      out.kind = FrameKind::cut_short;
      return out;
    }
    if (kind == extension::routing) {
      read_routing(ip.subspan(at, length), out);
    } else if (kind == extension::destination_options) {
      read_destination_options(ip.subspan(at, length), out);
    } else if (kind == extension::fragment && (word_at(ip, at + 2) & 0xfff9) != 0) {
      // Otherwise the packet is whole (RFC 6946).
      out.kind = FrameKind::fragment;
      out.begins = (word_at(ip, at + 2) & 0xfff8) == 0;
      out.protocol = next;
      out.bytes = ip.subspan(at + length, have - at - length);
      return out;
    }
    at += length;
  }
  if (at > have) {
    out.kind = FrameKind::cut_short;
    return out;
  }
  out.protocol = next;
  out.bytes = ip.subspan(at, have - at);
  out.missing = static_cast<std::uint32_t>(total - have);
  return out;
}

/// Windows and FreeBSD leave out the length if hardware will split the segment, because each part
/// has its own.
SumState sum_state(const Transport& from) {
  if (from.missing != 0 || !from.sum_known) {
    return SumState::unverifiable;
  }
  std::uint32_t const addresses = sum_of_addresses(from);
  std::uint32_t const pseudo = addresses + static_cast<std::uint32_t>(from.bytes.size());
  if (ones_fold(ones_sum(from.bytes, pseudo)) == 0xffff) {
    return SumState::good;
  }
  std::uint32_t const field = word_at(from.bytes, 16);
  bool const partial = field == ones_fold(pseudo) || field == ones_fold(addresses);
  return partial ? SumState::partial : SumState::bad;
}

FrameKind read_tcp(const Transport& from, Segment& out) {
  Bytes const tcp = from.bytes;
  out.sum = SumState::unverifiable;
  if (tcp.size() < 20) {
    return from.missing != 0 ? FrameKind::cut_short : FrameKind::malformed;
  }
  out.sum = sum_state(from);
  std::size_t const header = static_cast<std::size_t>(octet_at(tcp, 12) >> 4) * 4;
  if (header < 20 || header > tcp.size() + from.missing) {
    return FrameKind::malformed;
  }
  if (header > tcp.size()) {
    return FrameKind::cut_short;
  }
  out.source = {from.source, Port{word_at(tcp, 0)}};
  out.destination = {from.destination, Port{word_at(tcp, 2)}};
  out.sequence = long_at(tcp, 4);
  out.acknowledgment = long_at(tcp, 8);
  out.reserved = octet_at(tcp, 12) & 0x0f;
  out.flags = octet_at(tcp, 13);
  out.window = word_at(tcp, 14);
  out.urgent = word_at(tcp, 18);
  Bytes const options = tcp.subspan(20, header - 20);
  Bytes const payload = tcp.subspan(header);
  out.options.assign(options.begin(), options.end());
  out.payload.assign(payload.begin(), payload.end());
  out.missing = from.missing;
  out.traffic_class = from.traffic_class;
  out.hop_limit = from.hop_limit;
  out.identification = from.identification;
  out.ipv6 = from.ipv6;
  out.header_sum = from.header_sum;
  return FrameKind::tcp;
}

bool is_icmp_error(std::uint8_t type) {
  return type == 3 || type == 4 || type == 5 || type == 11 || type == 12;
}

/// ICMPv6 errors have types below 128. The quoted packet is used if TCP follows IPv6 directly.
FrameKind read_icmpv6(const Transport& from, IcmpError& out) {
  constexpr std::size_t header = 40;
  Bytes const icmp = from.bytes;
  if (icmp.size() < 8 + header + 8 || octet_at(icmp, 0) >= 128 || octet_at(icmp, 8 + 6) != 6) {
    return FrameKind::not_tcp;
  }
  Bytes const quoted = icmp.subspan(8);
  out.sender = from.source;
  out.quoted_source = {address_v6(quoted, 8), Port{word_at(quoted, header)}};
  out.quoted_destination = {address_v6(quoted, 24), Port{word_at(quoted, header + 2)}};
  out.quoted_sequence = long_at(quoted, header + 4);
  out.message.assign(icmp.begin(), icmp.end());
  return FrameKind::icmp_error;
}

FrameKind read_icmp(const Transport& from, IcmpError& out) {
  Bytes const icmp = from.bytes;
  if (icmp.size() < 8 + 20 + 8 || !is_icmp_error(octet_at(icmp, 0))) {
    return FrameKind::not_tcp;
  }
  Bytes const quoted = icmp.subspan(8);
  std::size_t const header = static_cast<std::size_t>(octet_at(quoted, 0) & 0x0f) * 4;
  if (header < 20 || quoted.size() < header + 8 || octet_at(quoted, 9) != 6) {
    return FrameKind::not_tcp;
  }
  out.sender = from.source;
  out.quoted_source = {address_v4(quoted, 12), Port{word_at(quoted, header)}};
  out.quoted_destination = {address_v4(quoted, 16), Port{word_at(quoted, header + 2)}};
  out.quoted_sequence = long_at(quoted, header + 4);
  out.message.assign(icmp.begin(), icmp.end());
  return FrameKind::icmp_error;
}

/// Whether the first fragment of a UDP datagram is that of a tunnel: a scan of the port is too
/// short.
bool begins_tunnel(const Transport& transport) {
  constexpr std::uint16_t least = 8 + 8;  // UDP's header and the tunnel's
  Bytes const udp = transport.bytes;
  return udp.size() >= 8 && word_at(udp, 4) >= least &&
         open_tunnel(transport.protocol, udp).has_value();
}

void set_addresses(const Transport& transport, Decoded& out) {
  out.segment.source.address = transport.source;
  out.segment.destination.address = transport.destination;
}

/// Of a fragment, whether it may hide a part of a TCP segment, and between which addresses. Later
/// fragments of a tunnel over UDP are not known as such, but the first one is.
void read_fragment(const Transport& transport, Decoded& out) {
  constexpr std::uint8_t tcp = 6, udp = 17;
  std::uint8_t const protocol = transport.protocol;
  bool const tunnel = protocol == 4 || protocol == 41 || protocol == 47 ||
                      (protocol == udp && transport.begins && begins_tunnel(transport));
  // What follows another extension header is unknown: TCP, or a tunnel.
  bool const behind = transport.ipv6 && is_extension(protocol);
  if (protocol == tcp) {
    set_addresses(transport, out);
  } else if (!tunnel && !behind) {
    out.kind = FrameKind::not_tcp;
    set_addresses(transport, out);
  }
}

/// Fills in the payload of the innermost IP packet.
void read_transport(const Transport& transport, const CapturedFrame& frame, Decoded& out) {
  if (transport.protocol == 6) {
    out.kind = read_tcp(transport, out.segment);
    out.segment.number = frame.number;
    out.segment.time = frame.time;
  } else if (transport.protocol == (transport.ipv6 ? 58 : 1)) {
    out.kind = (transport.ipv6 ? read_icmpv6 : read_icmp)(transport, out.icmp);
    out.icmp.number = frame.number;
    out.icmp.time = frame.time;
    set_addresses(transport, out);
  } else {
    out.kind = FrameKind::not_tcp;
    set_addresses(transport, out);
  }
}

}  // namespace

std::string_view name_of(FrameKind kind) {
  constexpr std::array<std::string_view, 7> names{
      "TCP", "ICMP error", "not IP", "IP but not TCP", "a fragment", "cut short", "malformed"};
  return names[static_cast<std::size_t>(kind)];
}

std::string other_frames(const FrameCounts& counts) {
  std::string out;
  for (std::size_t kind = 0; kind < counts.size(); ++kind) {
    if (kind != static_cast<std::size_t>(FrameKind::tcp) && counts[kind] != 0) {
      out += fmt::format("{}{} {}", out.empty() ? "" : ", ", counts[kind],
                         name_of(static_cast<FrameKind>(kind)));
    }
  }
  return out;
}

// The filter `tcp` leaves out TCP behind an IPv6 extension header, as that of a jumbo payload.
void expect_tcp(const std::string& capture, std::uint64_t packets, const FrameCounts& counts) {
  if (counts[static_cast<std::size_t>(FrameKind::tcp)] +
          counts[static_cast<std::size_t>(FrameKind::malformed)] !=
      0) {
    return;
  }
  std::string const others = other_frames(counts);
  std::uint64_t const cut = counts[static_cast<std::size_t>(FrameKind::cut_short)];
  throw Failure(
      ExitCode::bad_input,
      fmt::format("{}: no TCP in {} packets ({}); expected TCP over IPv4 or IPv6: record "
                  "it with tcpdump {}'ip6 or tcp'",
                  capture, packets, others.empty() ? "none" : others, cut == 0 ? "" : "-s 0 "));
}

namespace {

/// Whether an IP packet says that it is longer than what there is of it.
bool is_incomplete(Bytes ip, std::uint8_t version) {
  std::size_t const at = version == 4 ? 2 : 4;
  return ip.size() < at + 2 || word_at(ip, at) + (version == 4 ? 0u : 40u) > ip.size();
}

/// Whether a tunnel holds the beginning of a packet, and not only octets that look like a version:
/// a mirror may have cut the packet before it wrapped it.
bool begins_packet(Bytes ip, std::uint8_t version) {
  if (version == 4) {
    std::size_t const header = (octet_at(ip, 0) & 15u) * std::size_t{4};
    return header >= 20 && ip.size() >= header && ones_fold(ones_sum(ip.first(header))) == 0xffff;
  }
  constexpr std::array<std::uint8_t, 3> usual{6, 17, 58};  // TCP, UDP, ICMPv6
  return ip.size() >= 40 && std::find(usual.begin(), usual.end(), octet_at(ip, 6)) != usual.end();
}

/// Opens the frame down to the innermost packet. `cut`: whether octets of that may be missing.
Decoded opened(const CapturedFrame& frame, LinkLayer link, bool& cut) {
  Decoded out;
  IpPart ip = strip_link(frame.bytes, link);
  auto lost = static_cast<std::uint32_t>(frame.original_bytes - frame.bytes.size());
  for (int depth = 0; depth <= tunnels_max; ++depth) {
    cut = lost != 0;
    out.kind = ip.kind;
    if (ip.kind != FrameKind::tcp) {
      return out;
    }
    if (ip.bytes.empty()) {
      out.kind = FrameKind::cut_short;
      return out;
    }
    std::uint8_t const version = octet_at(ip.bytes, 0) >> 4;
    if (version != 4 && version != 6) {
      out.kind = FrameKind::not_ip;
      return out;
    }
    cut = cut ||
          (is_incomplete(ip.bytes, version) && (depth == 0 || begins_packet(ip.bytes, version)));
    Transport const transport = version == 4 ? open_v4(ip.bytes, lost) : open_v6(ip.bytes, lost);
    out.kind = transport.kind;
    if (out.kind == FrameKind::fragment) {
      read_fragment(transport, out);
    }
    if (out.kind != FrameKind::tcp) {
      return out;
    }
    std::optional<IpPart> const inner = open_tunnel(transport.protocol, transport.bytes);
    if (!inner) {
      read_transport(transport, frame, out);
      out.segment.network = ip.network;
      return out;
    }
    ip = *inner;
    lost = transport.missing;
  }
  out.kind = FrameKind::not_tcp;  // nested deeper than any real network
  return out;
}

}  // namespace

Decoded decode(const CapturedFrame& frame, LinkLayer link) {
  // The largest packets of a sender's offload have 512 KiB (Linux's BIG TCP).
  constexpr std::size_t frame_most = std::size_t{640} << 10;
  if (frame.bytes.size() > frame_most) {
    return {};
  }
  bool cut = false;
  Decoded out = opened(frame, link, cut);
  // Where nothing was cut, what is too short is not TCP: a scan of a tunnel's port, or a runt.
  if (out.kind == FrameKind::cut_short && !cut) {
    out.kind = FrameKind::not_tcp;
  }
  return out;
}

std::vector<TcpOption> options_of(const Segment& segment) {
  std::vector<TcpOption> out;
  Bytes const all = segment.options;
  std::size_t at = 0;
  while (at < all.size()) {
    std::uint8_t const kind = octet_at(all, at);
    if (kind == 0) {
      break;
    }
    if (kind == 1) {
      ++at;
      continue;
    }
    if (at + 2 > all.size()) {
      break;
    }
    std::size_t const length = octet_at(all, at + 1);
    if (length < 2 || at + length > all.size()) {
      break;
    }
    out.push_back({kind, all.subspan(at + 2, length - 2)});
    at += length;
  }
  return out;
}

std::string flags_text(std::uint8_t flags) {
  constexpr std::array<std::string_view, 8> names{"FIN", "SYN", "RST", "PSH",
                                                  "ACK", "URG", "ECE", "CWR"};
  std::string out;
  for (unsigned bit : {1u, 2u, 0u, 3u, 4u, 5u, 6u, 7u}) {
    if ((flags >> bit & 1u) != 0) {
      out += (out.empty() ? "" : ",");
      out += names[bit];
    }
  }
  return out.empty() ? "none" : out;
}

std::string text_of(const Endpoint& endpoint) {
  std::string const host = text_of(endpoint.address);
  std::string const shown = endpoint.address.is_v4() ? host : "[" + host + "]";
  return shown + ":" + std::to_string(endpoint.port.value);
}

}  // namespace lockstep::tools
