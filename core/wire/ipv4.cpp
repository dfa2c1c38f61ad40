// Parsing and writing of IPv4 headers.
#include "core/wire/ipv4.hpp"

#include "core/units/check.hpp"
#include "core/wire/checksum.hpp"
#include "core/wire/octets.hpp"

namespace lockstep::wire {
namespace {

constexpr std::uint16_t dont_fragment_bit = 0x4000;
constexpr std::uint16_t more_fragments_bit = 0x2000;
constexpr std::uint32_t total_length_max = 65535;

constexpr std::uint8_t option_end = 0;
constexpr std::uint8_t option_nop = 1;
constexpr std::uint8_t option_record_route = 7;
constexpr std::uint8_t option_timestamp = 68;
constexpr std::uint8_t option_loose_route = 131;
constexpr std::uint8_t option_strict_route = 137;

// The pointer of a route or timestamp option gives the place of the next entry: 4 (timestamp: 5) if
// none is used yet, beyond the option if all are.
Drop check_option(std::span<const std::byte> option) {
  std::uint8_t const kind = load8(option.data());
  bool const routes = kind == option_loose_route || kind == option_strict_route;
  bool const stamps = kind == option_timestamp;
  if (!routes && !stamps && kind != option_record_route) {
    //= rfc1122#3.2.1.8
    //# 1122:H-25, 9293:MUST-50 options that are not understood are ignored
    return Drop::none;
  }
  std::uint8_t const pointer_least = stamps ? 5 : 4;
  if (option.size() < std::size_t{pointer_least} - 1 || load8(option.data() + 2) < pointer_least) {
    return Drop::ip_option_malformed;
  }
  if (routes && load8(option.data() + 2) <= option.size()) {
    // The route continues to another host, and we do not forward.
    return Drop::ip_source_routed;
  }
  return Drop::none;
}

//= rfc791#3.1
//# 791:IP4-4 the length of an option counts its type and length octets
[[gnu::cold]] Drop check_options(std::span<const std::byte> options) {
  std::size_t at = 0;
  while (at < options.size()) {
    std::uint8_t const kind = load8(options.data() + at);
    if (kind == option_end) {
      return Drop::none;
    }
    if (kind == option_nop) {
      ++at;
      continue;
    }
    if (options.size() - at < 2) {
      return Drop::ip_option_malformed;
    }
    std::size_t const length = load8(options.data() + at + 1);
    if (length < 2 || length > options.size() - at) {
      return Drop::ip_option_malformed;
    }
    Drop const drop = check_option(options.subspan(at, length));
    if (drop != Drop::none) {
      return drop;
    }
    at += length;
  }
  return Drop::none;
}

inline void read_fields(const std::byte* at, Ipv4Header& out) {
  out.traffic_class = load8(at + 1);
  out.identification = load16(at + 4);
  std::uint16_t const fragment = load16(at + 6);
  out.dont_fragment = (fragment & dont_fragment_bit) != 0;
  out.more_fragments = (fragment & more_fragments_bit) != 0;
  out.fragment_offset = fragment & fragment_offset_mask;
  //= rfc1122#3.2.1.7
  //# 1122:H-23 stored, not checked: 0 or 1 is valid at the destination
  //= rfc791#3.1
  //# 791:IP4-14 only forwarding hosts discard it
  out.time_to_live = load8(at + 8);
  out.protocol = static_cast<IpProtocol>(load8(at + 9));
  out.source = IpAddress::from(Ipv4{load32(at + 12)});
  out.destination = IpAddress::from(Ipv4{load32(at + 16)});
}

}  // namespace

Drop parse(std::span<const std::byte> bytes, Ipv4Packet& out) {
  if (bytes.size() < ipv4_header_bytes) {
    return Drop::ip_too_short;
  }
  std::byte const* const at = bytes.data();
  std::uint8_t const version_and_length = load8(at);
  //= rfc1122#3.2.1.1
  //# 1122:H-16 any version but 4 is silently discarded
  if (version_and_length >> 4 != 4) {
    return Drop::ip_version;
  }
  //= rfc791#3.1
  //# 791:IP4-1 the header is 5 words or more and locates the data; the total length counts both
  std::uint32_t const header = (version_and_length & 0xfu) * 4;
  if (header < ipv4_header_bytes || header > bytes.size()) {
    return Drop::ip_header_length;
  }
  std::uint32_t const total = load16(at + 2);
  if (total < header || total > bytes.size()) {
    return Drop::ip_total_length;
  }
  //= rfc791#3.1
  //# 791:IP4-2 the header checksum is verified
  //= rfc1122#3.2.1.2
  //# 1122:H-17 on every datagram; a bad one is silently discarded
  bool const verifies = header == ipv4_header_bytes ? sum_of_ipv4_header(at).verifies()
                                                    : sum(bytes.first(header)).verifies();
  if (!verifies) {
    return Drop::ip_checksum;
  }
  out.options = bytes.subspan(ipv4_header_bytes, header - ipv4_header_bytes);
  if (!out.options.empty()) [[unlikely]] {
    Drop const drop = check_options(out.options);
    if (drop != Drop::none) {
      return drop;
    }
  }
  read_fields(at, out.header);
  out.bytes = bytes.first(total);
  out.payload = out.bytes.subspan(header);
  return Drop::none;
}

//= rfc791#3.2
//# 791:IP4-15 strict when sending, whatever is accepted
Bytes write(const Ipv4Header& header, Bytes payload, std::span<std::byte> into) {
  CHECK(into.size() >= ipv4_header_bytes);
  CHECK(payload.count <= total_length_max - ipv4_header_bytes);
  CHECK(header.fragment_offset <= fragment_offset_mask);
  //= rfc1122#3.2.1.7
  //# 1122:H-22 no datagram is sent with a time to live of 0
  CHECK(header.time_to_live != 0);
  std::byte* const at = into.data();
  auto const length = ipv4_header_bytes + payload.count;
  //= rfc791#3.1
  //# 791:IP4-5 the reserved flag is zero; the offset counts units of 8 octets
  std::uint32_t const flags = (header.dont_fragment ? dont_fragment_bit : 0u) |
                              (header.more_fragments ? more_fragments_bit : 0u);
  std::uint32_t const fragment = flags | header.fragment_offset;
  std::uint32_t const first = 0x4500'0000u | std::uint32_t{header.traffic_class} << 16 | length;
  std::uint32_t const second = std::uint32_t{header.identification} << 16 | fragment;
  std::uint32_t const third = std::uint32_t{header.time_to_live} << 24 |
                              std::uint32_t{static_cast<std::uint8_t>(header.protocol)} << 16;
  std::uint32_t const source = header.source.as_v4().value;
  std::uint32_t const destination = header.destination.as_v4().value;
  Partial const sum{std::uint64_t{first} + second + third + source + destination, false};
  store32(at, first);
  store32(at + 4, second);
  store32(at + 8, third | sum.checksum());
  store32(at + 12, source);
  store32(at + 16, destination);
  return {ipv4_header_bytes};
}

}  // namespace lockstep::wire
