// Parsing and writing of ICMPv6 messages, and parsing of the packets they quote.
#include "core/wire/icmpv6.hpp"

#include "core/units/check.hpp"
#include "core/wire/checksum.hpp"
#include "core/wire/ipv6.hpp"
#include "core/wire/octets.hpp"

namespace lockstep::wire {
namespace {

Partial pseudo_sum(const Icmp6Path& path, std::size_t length) {
  return pseudo_header_sum({path.source, path.destination,
                            static_cast<std::uint8_t>(IpProtocol::icmpv6),
                            Bytes{static_cast<std::uint32_t>(length)}});
}

}  // namespace

Drop parse(const Icmp6Path& path, std::span<const std::byte> bytes, Icmp6Message& out) {
  if (bytes.size() < icmp6_header_bytes) {
    return Drop::icmp_too_short;
  }
  //= rfc4443#2.3
  //# 4443:ICMP6-1 the checksum covers the pseudo-header with next header 58, and the whole message
  if (!combine(pseudo_sum(path, bytes.size()), sum(bytes)).verifies()) {
    return Drop::icmp_checksum;
  }
  out.type = static_cast<Icmp6Type>(load8(bytes.data()));
  out.code = load8(bytes.data() + 1);
  out.rest = load32(bytes.data() + 4);
  out.body = bytes.subspan(icmp6_header_bytes);
  return Drop::none;
}

Bytes write(const Icmp6Path& path, const Icmp6Message& message, std::span<std::byte> into) {
  CHECK(into.size() >= icmp6_header_bytes + message.body.size());
  std::byte* const at = into.data();
  store8(at, static_cast<std::uint8_t>(message.type));
  store8(at + 1, message.code);
  store16(at + 2, 0);
  store32(at + 4, message.rest);
  std::size_t const length = icmp6_header_bytes + message.body.size();
  Partial const header = combine(pseudo_sum(path, length), sum(into.first(icmp6_header_bytes)));
  Partial const body = copy_and_sum(into.subspan(icmp6_header_bytes), message.body);
  store16(at + 2, combine(header, body).checksum());
  return {static_cast<std::uint32_t>(length)};
}

Drop parse_quote6(std::span<const std::byte> body, IcmpQuote& out) {
  if (body.size() < ipv6_header_bytes + quoted_data_bytes) {
    return Drop::icmp_quote_malformed;
  }
  std::byte const* const at = body.data();
  if (load8(at) >> 4 != 6) {
    return Drop::icmp_quote_malformed;
  }
  out.header = IpHeader{};
  out.header.protocol = static_cast<IpProtocol>(load8(at + 6));
  out.header.time_to_live = load8(at + 7);
  out.header.source = load_ipv6(at + 8);
  out.header.destination = load_ipv6(at + 24);
  if (!out.header.source.is_v6_host() || !out.header.destination.is_v6_host()) {
    return Drop::icmp_quote_malformed;
  }
  out.packet_bytes = {ipv6_header_bytes + load16(at + 4)};
  out.source_port = {load16(at + ipv6_header_bytes)};
  out.destination_port = {load16(at + ipv6_header_bytes + 2)};
  out.sequence = {load32(at + ipv6_header_bytes + 4)};
  return Drop::none;
}

}  // namespace lockstep::wire
