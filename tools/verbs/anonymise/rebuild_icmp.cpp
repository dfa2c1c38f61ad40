// Writes ICMP errors with the header and the data of the TCP segment that they quote.
#include <algorithm>

#include "tools/base/capture/octets.hpp"
#include "tools/verbs/anonymise/rebuild.hpp"
#include "tools/verbs/anonymise/rebuild_parts.hpp"
#include "tools/verbs/anonymise/secret.hpp"

namespace lockstep::tools {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::size_t icmp_octets = 8;
constexpr std::uint8_t icmp_v4 = 1, icmp_v6 = 58, quoted_protocol = 6;

/// The octets of the IP header that is quoted; options of IPv4 are included.
std::size_t quoted_header(Bytes quoted, bool v6) {
  return v6 ? 40 : static_cast<std::size_t>(octet_at(quoted, 0) & 0x0f) * 4;
}

/// Whether the message is ICMPv6. An IPv6 packet may have an address that looks like IPv4's.
bool is_icmpv6(const IcmpError& error) {
  Bytes const quoted = Bytes(error.message).subspan(icmp_octets);
  std::size_t const header = quoted_header(quoted, false);
  return !error.sender.is_v4() || header < 20 || quoted.size() < header + 8;
}

/// The quoted packet without what follows it, as extensions (RFC 4884). Some hosts write the
/// packet's length in the wrong order of octets; one that cannot be right is not used.
Bytes quoted_packet(Bytes message, bool v6) {
  Bytes quoted = message.subspan(icmp_octets);
  std::size_t const header = quoted_header(quoted, v6);
  std::size_t const length = v6 ? std::size_t{40} + word_at(quoted, 4) : word_at(quoted, 2);
  if (length >= header + 8) {
    quoted = quoted.first(std::min(length, quoted.size()));
  }
  std::size_t const before =
      v6 ? std::size_t{octet_at(message, 4)} * 8 : std::size_t{octet_at(message, 5)} * 4;
  std::uint8_t const type = octet_at(message, 0);
  bool const extensible = v6 ? type == 1 || type == 3 : type == 3 || type == 11 || type == 12;
  if (extensible && before >= header + 8) {
    quoted = quoted.first(std::min(before, quoted.size()));
  }
  return quoted;
}

/// The second word of the ICMP header: an MTU or a pointer is kept. It may be a gateway's address.
std::uint32_t kept_word(Bytes message, bool v6) {
  std::uint8_t const type = octet_at(message, 0);
  std::uint8_t const code = octet_at(message, 1);
  std::uint32_t const word = long_at(message, 4);
  if (v6) {
    return type == 2 || type == 4 ? word : 0;
  }
  return type == 3 && code == 4 ? word & 0xffff : type == 12 ? word & 0xff00'0000 : 0;
}

}  // namespace

/// As much of the segment as is quoted, at least eight octets.
void Rebuilder::put_quoted_tcp(std::span<const std::byte> tcp, const IcmpError& error) {
  constexpr std::size_t fixed = 20;
  bool const whole = tcp.size() >= fixed;
  std::uint8_t const flags = whole ? octet_at(tcp, 13) : std::uint8_t{0};
  std::vector<std::byte> head(
      tcp.begin(), tcp.begin() + static_cast<std::ptrdiff_t>(std::min(fixed, tcp.size())));
  head.resize(fixed);
  auto const put = [&](std::size_t at, std::uint32_t value) {
    set_word(head, at, static_cast<std::uint16_t>(value >> 16));
    set_word(head, at + 2, static_cast<std::uint16_t>(value));
  };
  const IpAddress& source = error.quoted_source.address;
  const IpAddress& destination = error.quoted_destination.address;
  set_word(head, 0, aliases_.of(error.quoted_source.port).value);
  set_word(head, 2, aliases_.of(error.quoted_destination.port).value);
  put(4, sequence_of(long_at(tcp, 4), (flags & tcp_flag::rst) != 0, source));
  put(8, acknowledgment_of(long_at(head, 8), (flags & tcp_flag::ack) != 0, destination));
  set_word(head, 16, 0);  // the sum of octets that are not there
  std::vector<std::byte>& out = out_.bytes;
  if (!whole) {
    out.insert(out.end(), head.begin(), head.begin() + static_cast<std::ptrdiff_t>(tcp.size()));
    return;
  }
  out.insert(out.end(), head.begin(), head.end());
  std::size_t const length = static_cast<std::size_t>(octet_at(tcp, 12) >> 4) * 4;
  std::size_t const header = std::clamp(length, fixed, tcp.size());
  std::vector<std::byte> const options =
      anonymised_options(tcp.subspan(fixed, header - fixed), shifts_of(source, destination),
                         aliases_.secret(), counts_.options);
  out.insert(out.end(), options.begin(), options.end());
  std::size_t const begin = out.size();
  out.insert(out.end(), tcp.begin() + static_cast<std::ptrdiff_t>(header), tcp.end());
  StreamMask const mask(aliases_.secret(), error.quoted_source, error.quoted_destination);
  mask.apply(std::span(out).subspan(begin),
             long_at(tcp, 4) + ((flags & tcp_flag::syn) != 0 ? 1u : 0u));
  counts_.payload_octets += tcp.size() - header;
}

void Rebuilder::put_quoted(std::span<const std::byte> quoted, const IcmpError& error, bool v6) {
  std::size_t const header = quoted_header(quoted, v6);
  IpHeader ip;
  ip.v6 = v6;
  ip.source = aliases_.of(error.quoted_source.address);
  ip.destination = aliases_.of(error.quoted_destination.address);
  ip.protocol = quoted_protocol;
  if (v6) {
    ip.traffic_class = static_cast<std::uint8_t>(word_at(quoted, 0) >> 4);
    ip.octets = word_at(quoted, 4);
    ip.hop_limit = octet_at(quoted, 7);
  } else {
    std::size_t const length = word_at(quoted, 2);
    ip.traffic_class = octet_at(quoted, 1);
    ip.octets = length >= header ? length - header : 0;
    ip.identification = word_at(quoted, 4);
    ip.fragment = word_at(quoted, 6);
    ip.hop_limit = octet_at(quoted, 8);
    bool const good = ones_fold(ones_sum(quoted.first(header))) == 0xffff;
    ip.header_sum = good                       ? SumState::good
                    : word_at(quoted, 10) == 0 ? SumState::partial
                                               : SumState::bad;
  }
  put_ip(out_.bytes, ip);
  put_quoted_tcp(quoted.subspan(header), error);
}

void Rebuilder::put_icmp(const CapturedFrame& frame, const Decoded& decoded) {
  const IcmpError& error = decoded.icmp;
  Bytes const message = error.message;
  bool const v6 = is_icmpv6(error);
  IpHeader ip;
  ip.v6 = v6;
  ip.source = aliases_.of(error.sender);
  ip.destination = aliases_.of(decoded.segment.destination.address);
  ip.protocol = v6 ? icmp_v6 : icmp_v4;
  std::uint32_t const lost = frame.original_bytes - static_cast<std::uint32_t>(frame.bytes.size());

  std::vector<std::byte> before;
  std::swap(before, out_.bytes);
  std::uint32_t word = kept_word(message, v6);
  constexpr std::uint8_t redirect = 5;
  if (!v6 && octet_at(message, 0) == redirect) {
    word = aliases_.of(IpAddress::from({long_at(message, 4)})).as_v4().value;
  }
  put_word(out_.bytes, word_at(message, 0));
  put_word(out_.bytes, 0);
  put_long(out_.bytes, word);
  put_quoted(quoted_packet(message, v6), error, v6);
  std::swap(before, out_.bytes);

  IpHeader original = ip;
  original.source = error.sender;
  original.destination = decoded.segment.destination.address;
  std::uint32_t const was = v6 ? pseudo_sum(original, message.size()) : 0;
  bool const good = ones_fold(ones_sum(message, was)) == 0xffff;
  SumState const state = lost != 0 ? SumState::unverifiable : good ? SumState::good : SumState::bad;
  std::uint32_t const pseudo = v6 ? pseudo_sum(ip, before.size()) : 0;
  auto const right = static_cast<std::uint16_t>(~ones_fold(ones_sum(before, pseudo)));
  set_word(before, 2, sum_like(state, right, {}));
  ip.octets = before.size() + lost;
  put_ip(out_.bytes, ip);
  out_.bytes.insert(out_.bytes.end(), before.begin(), before.end());
  out_.cut = lost;
}

}  // namespace lockstep::tools
