// Parsing of TCP headers.
#include "core/wire/tcp.hpp"

#include "core/wire/octets.hpp"

namespace lockstep::wire {

Drop parse(std::span<const std::byte> bytes, Segment& out) {
  if (bytes.size() < tcp_header_bytes) {
    return Drop::tcp_too_short;
  }
  std::byte const* const at = bytes.data();
  //= rfc9293#3.1
  //# 9293:P-DOFF the data offset counts words; options exist only beyond five
  //# 9293:P-RSRVD the four reserved bits are ignored
  std::uint32_t const header = (load8(at + 12) >> 4) * 4u;
  if (header < tcp_header_bytes || header > bytes.size()) {
    return Drop::tcp_data_offset;
  }
  out.source = {load16(at)};
  out.destination = {load16(at + 2)};
  if (out.source.value == 0 || out.destination.value == 0) {
    return Drop::tcp_port_zero;
  }
  out.sequence = {load32(at + 4)};
  out.acknowledgment = {load32(at + 8)};
  out.flags = {load8(at + 13)};
  //= rfc9293#3.1
  //# 9293:MUST-1 the window is unsigned
  out.window = {load16(at + 14)};
  out.urgent = load16(at + 18);
  out.payload = bytes.subspan(header);
  //= rfc9293#3.1
  //# 9293:MUST-5 options are parsed in every segment, whatever its flags
  if (header != tcp_header_bytes) {
    return parse(bytes.subspan(tcp_header_bytes, header - tcp_header_bytes), out.options);
  }
  out.options = Options{};
  return Drop::none;
}

[[gnu::cold]] void parse_options_leniently(std::span<const std::byte> bytes, Segment& out) {
  std::size_t const header = bytes.size() - out.payload.size();
  parse_leniently(bytes.subspan(tcp_header_bytes, header - tcp_header_bytes), out.options);
}

Bytes header_bytes(const Segment& segment) {
  return Bytes{tcp_header_bytes} + options_bytes(segment.options);
}

}  // namespace lockstep::wire
