// Writes Ethernet, IP, TCP, ARP, and frames without content. rebuild_icmp.cpp writes ICMP errors.
#include "tools/verbs/anonymise/rebuild.hpp"

#include <algorithm>
#include <array>

#include "tools/base/capture/octets.hpp"
#include "tools/verbs/anonymise/rebuild_parts.hpp"
#include "tools/verbs/anonymise/secret.hpp"

namespace lockstep::tools {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::uint16_t type_ipv4 = 0x0800, type_arp = 0x0806, type_ipv6 = 0x86dd;
constexpr std::uint16_t type_experiment = 0x88b5;  // IEEE 802, for local experiments
constexpr std::uint8_t protocol_experiment = 253;  // RFC 3692
constexpr std::uint8_t protocol_tcp = 6;
constexpr std::size_t link_octets = 14;

Mac mac_at(Bytes bytes, std::size_t at) {
  Mac out;
  for (std::size_t i = 0; i < out.octets.size(); ++i) {
    out.octets[i] = octet_at(bytes, at + i);
  }
  return out;
}

void put_mac(std::vector<std::byte>& out, const Mac& mac) {
  for (std::uint8_t const octet : mac.octets) {
    put_octet(out, octet);
  }
}

bool is_vlan_tag(std::uint16_t type) { return type == 0x8100 || type == 0x88a8 || type == 0x9100; }

/// What follows the link header, if that says ARP; empty otherwise.
Bytes arp_octets(Bytes frame, LinkLayer link) {
  std::size_t type = 12, body = 14;
  if (link == LinkLayer::linux_cooked) {
    type = 14;
    body = 16;
  } else if (link == LinkLayer::linux_cooked_2) {
    type = 0;
    body = 20;
  } else if (link != LinkLayer::ethernet) {
    return {};
  }
  while (type + 2 <= frame.size() && link == LinkLayer::ethernet &&
         is_vlan_tag(word_at(frame, type))) {
    type += 4;
    body += 4;
  }
  bool const is_arp = body <= frame.size() && word_at(frame, type) == type_arp;
  return is_arp ? frame.subspan(body) : Bytes{};
}

/// The routing header of RFC 6554, which hides the address that the checksum covers.
void put_hiding_header(std::vector<std::byte>& out) {
  constexpr std::size_t octets = 24;
  constexpr std::array<std::uint8_t, 4> begin{protocol_tcp, octets / 8 - 1, 3, 1};
  for (std::size_t i = 0; i < octets; ++i) {
    put_octet(out, i < begin.size() ? begin[i] : 0);
  }
}

}  // namespace

std::uint16_t sum_like(SumState state, std::uint16_t right, const PartialSums& partial) {
  switch (state) {
    case SumState::good:
      return right;
    case SumState::partial:
      // By chance it may be right.
      return partial.whole % 0xffff == right % 0xffff ? partial.without_length : partial.whole;
    case SumState::unverifiable:
      return 0;
    case SumState::bad:
      break;
  }
  // None of these differs from the right one by a multiple of 0xffff.
  std::uint16_t wrong = 0;
  for (unsigned const flip : {0x5555u, 0xaaaau, 0x1111u, 0x2222u}) {
    wrong = static_cast<std::uint16_t>(right ^ flip);
    if (wrong != partial.whole && wrong != partial.without_length && wrong != 0) {
      break;
    }
  }
  return wrong;
}

PartialSums partial_sums(const IpHeader& ip, std::size_t octets) {
  return {ones_fold(pseudo_sum(ip, octets)), ones_fold(pseudo_sum(ip, 0))};
}

std::optional<Arp> arp_of(const CapturedFrame& frame, LinkLayer link) {
  constexpr std::size_t octets = 28;
  Bytes const arp = arp_octets(frame.bytes, link);
  if (arp.size() < octets || word_at(arp, 0) != 1 || word_at(arp, 2) != type_ipv4 ||
      word_at(arp, 4) != 0x0604) {
    return std::nullopt;
  }
  return Arp{word_at(arp, 6), mac_at(arp, 8), mac_at(arp, 18), IpAddress::from({long_at(arp, 14)}),
             IpAddress::from({long_at(arp, 24)})};
}

void put_ip_address(std::vector<std::byte>& out, const IpAddress& address, bool v6) {
  if (!v6) {
    put_long(out, address.as_v4().value);
    return;
  }
  for (std::uint64_t const half : {address.high, address.low}) {
    put_long(out, static_cast<std::uint32_t>(half >> 32));
    put_long(out, static_cast<std::uint32_t>(half));
  }
}

std::uint32_t pseudo_sum(const IpHeader& ip, std::size_t octets) {
  std::vector<std::byte> addresses;
  put_ip_address(addresses, ip.source, ip.v6);
  put_ip_address(addresses, ip.destination, ip.v6);
  return ones_sum(addresses, ip.protocol + static_cast<std::uint32_t>(octets));
}

void put_ip(std::vector<std::byte>& out, const IpHeader& ip) {
  std::size_t const begin = out.size();
  constexpr std::size_t most = 0xffff;
  if (ip.v6) {
    put_long(out, 6u << 28 | std::uint32_t{ip.traffic_class} << 20);
    put_word(out, ip.octets > most ? 0 : static_cast<std::uint32_t>(ip.octets));
    put_octet(out, ip.hides_route ? 43 : ip.protocol);
    put_octet(out, ip.hop_limit);
  } else {
    std::size_t const total = ip.octets + 20;
    put_octet(out, 0x45);
    put_octet(out, ip.traffic_class);
    put_word(out, total > most ? 0 : static_cast<std::uint32_t>(total));
    put_word(out, ip.identification);
    put_word(out, ip.fragment);
    put_octet(out, ip.hop_limit);
    put_octet(out, ip.protocol);
    put_word(out, 0);
  }
  put_ip_address(out, ip.source, ip.v6);
  put_ip_address(out, ip.destination, ip.v6);
  if (ip.hides_route) {
    put_hiding_header(out);
  }
  if (!ip.v6) {
    std::span<std::byte> const header = std::span(out).subspan(begin);
    auto const right = static_cast<std::uint16_t>(~ones_fold(ones_sum(header)));
    set_word(header, 10, sum_like(ip.header_sum, right, {}));
  }
}

void Rebuilder::begin_frame(const CapturedFrame& frame, LinkLayer link, std::uint16_t type) {
  constexpr Mac unknown{{2, 0, 0, 0, 0, 0}};
  bool const has_macs = link == LinkLayer::ethernet && frame.bytes.size() >= 12;
  for (std::size_t const at : {std::size_t{0}, std::size_t{6}}) {
    put_mac(out_.bytes, has_macs ? aliases_.of(mac_at(frame.bytes, at)) : unknown);
  }
  put_word(out_.bytes, type);
}

OptionShifts Rebuilder::shifts_of(const IpAddress& source, const IpAddress& destination) const {
  return {aliases_.number_shift(destination), aliases_.stamp_shift(source),
          aliases_.stamp_shift(destination)};
}

/// Without ACK the field means nothing, and 0 shows that nobody has filled it in.
std::uint32_t Rebuilder::acknowledgment_of(std::uint32_t number, bool counts,
                                           const IpAddress& destination) const {
  return number == 0 && !counts ? 0 : number + aliases_.number_shift(destination);
}

/// A reset that answers a segment without ACK has the number 0.
std::uint32_t Rebuilder::sequence_of(std::uint32_t number, bool reset,
                                     const IpAddress& source) const {
  return number == 0 && reset ? 0 : number + aliases_.number_shift(source);
}

void Rebuilder::put_tcp(const Segment& segment) {
  IpHeader ip;
  ip.v6 = segment.ipv6;
  ip.source = aliases_.of(segment.source.address);
  ip.destination = aliases_.of(segment.destination.address);
  ip.protocol = protocol_tcp;
  ip.traffic_class = segment.traffic_class;
  ip.hop_limit = segment.hop_limit;
  ip.identification = segment.identification;
  ip.header_sum = segment.header_sum;
  ip.hides_route = segment.sum == SumState::unverifiable && segment.missing == 0;
  std::size_t const header = 20 + segment.options.size();
  std::size_t const octets = header + segment.payload.size();
  ip.octets = octets + segment.missing + (ip.hides_route ? 24 : 0);
  put_ip(out_.bytes, ip);

  std::vector<std::byte>& out = out_.bytes;
  std::size_t const begin = out.size();
  put_word(out, aliases_.of(segment.source.port).value);
  put_word(out, aliases_.of(segment.destination.port).value);
  put_long(out, sequence_of(segment.sequence, segment.any(tcp_flag::rst), segment.source.address));
  put_long(out, acknowledgment_of(segment.acknowledgment, segment.any(tcp_flag::ack),
                                  segment.destination.address));
  put_octet(out, static_cast<std::uint32_t>(header / 4) << 4 | segment.reserved);
  put_octet(out, segment.flags);
  put_word(out, segment.window);
  put_word(out, 0);
  put_word(out, segment.urgent);
  std::vector<std::byte> const options = anonymised_options(
      segment.options, shifts_of(segment.source.address, segment.destination.address),
      aliases_.secret(), counts_.options);
  out.insert(out.end(), options.begin(), options.end());
  out.insert(out.end(), segment.payload.begin(), segment.payload.end());
  std::span<std::byte> const tcp = std::span(out).subspan(begin);
  StreamMask const mask(aliases_.secret(), segment.source, segment.destination);
  mask.apply(tcp.subspan(header), segment.sequence + (segment.any(tcp_flag::syn) ? 1u : 0u));
  counts_.payload_octets += segment.payload.size();
  std::uint32_t const pseudo = pseudo_sum(ip, octets);
  auto const right = static_cast<std::uint16_t>(~ones_fold(ones_sum(tcp, pseudo)));
  set_word(tcp, 16, sum_like(segment.sum, right, partial_sums(ip, octets)));
  out_.cut = segment.missing;
}

void Rebuilder::put_arp(const Arp& arp) {
  std::vector<std::byte>& out = out_.bytes;
  put_word(out, 1);
  put_word(out, type_ipv4);
  put_word(out, 0x0604);
  put_word(out, arp.operation);
  put_mac(out, aliases_.of(arp.sender_mac));
  put_ip_address(out, aliases_.of(arp.sender), false);
  put_mac(out, aliases_.of(arp.target_mac));
  put_ip_address(out, aliases_.of(arp.target), false);
}

/// The header alone. Without addresses it is that of a tunnel's packet.
void Rebuilder::put_fragment(const Decoded& decoded) {
  constexpr std::uint8_t fragment_header = 44, ip_in_ip = 4;
  const Segment& segment = decoded.segment;
  IpHeader ip;
  ip.source = IpAddress::from({});
  ip.destination = ip.source;
  ip.fragment = 0x2000;
  ip.protocol = ip_in_ip;
  if (segment.source.address != IpAddress{}) {
    ip.v6 = !segment.source.address.is_v4();
    ip.source = aliases_.of(segment.source.address);
    ip.destination = aliases_.of(segment.destination.address);
    ip.protocol = ip.v6 ? fragment_header : protocol_tcp;
    ip.octets = ip.v6 ? 8 : 0;
  }
  put_ip(out_.bytes, ip);
  if (ip.v6) {
    put_long(out_.bytes, std::uint32_t{protocol_tcp} << 24 | 1);  // more fragments follow
    put_long(out_.bytes, 0);
  }
}

/// TCP whose header has length 0, or IP whose header has.
void Rebuilder::put_malformed(const Decoded& decoded) {
  constexpr std::size_t header = 20;
  if (decoded.segment.number == 0) {
    put_octet(out_.bytes, 0x40);
    out_.bytes.resize(out_.bytes.size() + header - 1);
    return;
  }
  IpHeader ip;
  ip.source = IpAddress::from({});
  ip.destination = ip.source;
  ip.protocol = protocol_tcp;
  ip.octets = header;
  put_ip(out_.bytes, ip);
  out_.bytes.resize(out_.bytes.size() + header);
  std::uint32_t const pseudo = pseudo_sum(ip, header);
  bool const good = decoded.segment.sum == SumState::good;
  set_word(std::span(out_.bytes).last(header), 16,
           sum_like(good ? SumState::good : SumState::bad,
                    static_cast<std::uint16_t>(~ones_fold(pseudo)), partial_sums(ip, header)));
}

/// Another protocol's packet: its header alone.
void Rebuilder::put_empty(const Decoded& decoded) {
  const Segment& segment = decoded.segment;
  IpHeader ip;
  ip.v6 = !segment.source.address.is_v4();
  ip.source = aliases_.of(segment.source.address);
  ip.destination = aliases_.of(segment.destination.address);
  ip.protocol = protocol_experiment;
  put_ip(out_.bytes, ip);
}

Rebuilt Rebuilder::rebuild(const CapturedFrame& frame, LinkLayer link, const Decoded& decoded) {
  out_ = {};
  out_.bytes.reserve(frame.bytes.size() + link_octets);
  const Segment& segment = decoded.segment;
  auto const begin_ip = [&](bool v6) { begin_frame(frame, link, v6 ? type_ipv6 : type_ipv4); };
  switch (decoded.kind) {
    case FrameKind::tcp:
      begin_ip(segment.ipv6);
      put_tcp(segment);
      break;
    case FrameKind::icmp_error:
      begin_ip(!segment.source.address.is_v4());
      put_icmp(frame, decoded);
      break;
    case FrameKind::not_ip: {
      std::optional<Arp> const arp = arp_of(frame, link);
      begin_frame(frame, link, arp ? type_arp : type_experiment);
      if (arp) {
        put_arp(*arp);
      }
      break;
    }
    case FrameKind::not_tcp:
      begin_ip(!segment.source.address.is_v4());
      put_empty(decoded);
      break;
    case FrameKind::fragment: {
      bool const known = segment.source.address != IpAddress{};
      begin_ip(known && !segment.source.address.is_v4());
      put_fragment(decoded);
      break;
    }
    case FrameKind::cut_short:
      begin_ip(false);
      out_.cut = 20;  // no octet of its IP header was captured
      break;
    case FrameKind::malformed:
      begin_ip(false);
      put_malformed(decoded);
      break;
  }
  return std::move(out_);
}

}  // namespace lockstep::tools
