// Parsing and writing of ICMP messages, and parsing of the packets they quote.
#include "core/wire/icmp.hpp"

#include <cstring>

#include "core/units/check.hpp"
#include "core/wire/checksum.hpp"
#include "core/wire/octets.hpp"

namespace lockstep::wire {
Drop parse(std::span<const std::byte> bytes, IcmpMessage& out) {
  if (bytes.size() < icmp_header_bytes) {
    return Drop::icmp_too_short;
  }
  //= rfc792#Echo
  //# 792:ICMP4-2 the checksum covers only the message, padded with zero if its length is odd
  if (!sum(bytes).verifies()) {
    return Drop::icmp_checksum;
  }
  out.type = static_cast<IcmpType>(load8(bytes.data()));
  out.code = load8(bytes.data() + 1);
  out.rest = load32(bytes.data() + 4);
  out.body = bytes.subspan(icmp_header_bytes);
  return Drop::none;
}

Bytes write(const IcmpMessage& message, std::span<std::byte> into) {
  CHECK(into.size() >= icmp_header_bytes + message.body.size());
  std::byte* const at = into.data();
  store8(at, static_cast<std::uint8_t>(message.type));
  store8(at + 1, message.code);
  store16(at + 2, 0);
  store32(at + 4, message.rest);
  Partial const header = sum(into.first(icmp_header_bytes));
  Partial const body = copy_and_sum(into.subspan(icmp_header_bytes), message.body);
  store16(at + 2, combine(header, body).checksum());
  return {static_cast<std::uint32_t>(icmp_header_bytes + message.body.size())};
}

//= rfc792#Dest-Unreachable
//# 792:ICMP4-5 the quoted IP header and 64 bits of data identify the process by its ports
Drop parse(std::span<const std::byte> body, IcmpQuote& out) {
  if (body.size() < ipv4_header_bytes + quoted_data_bytes) {
    return Drop::icmp_quote_malformed;
  }
  std::byte const* const at = body.data();
  std::uint32_t const header = (load8(at) & 0xfu) * 4;
  if (load8(at) >> 4 != 4 || header < ipv4_header_bytes ||
      body.size() < header + quoted_data_bytes) {
    return Drop::icmp_quote_malformed;
  }
  // Checksum and total length are not checked: routers have changed the time to live, and some
  // leave both in other states.
  std::uint16_t const fragment = load16(at + 6);
  if ((fragment & fragment_offset_mask) != 0) {
    return Drop::icmp_quote_malformed;
  }
  out.header.traffic_class = load8(at + 1);
  out.header.more_fragments = (fragment & 0x2000) != 0;
  out.header.fragment_offset = 0;
  out.header.time_to_live = load8(at + 8);
  out.header.protocol = static_cast<IpProtocol>(load8(at + 9));
  out.header.source = IpAddress::from(Ipv4{load32(at + 12)});
  out.header.destination = IpAddress::from(Ipv4{load32(at + 16)});
  out.packet_bytes = {load16(at + 2)};
  out.source_port = {load16(at + header)};
  out.destination_port = {load16(at + header + 2)};
  out.sequence = {load32(at + header + 4)};
  return Drop::none;
}

}  // namespace lockstep::wire
