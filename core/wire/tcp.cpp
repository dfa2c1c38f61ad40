// Reading and writing of TCP headers.
#include "core/wire/tcp.hpp"

#include "core/units/check.hpp"
#include "core/wire/octets.hpp"

namespace lockstep::wire {

Drop parse(std::span<const std::byte> bytes, Segment& out) {
  if (bytes.size() < tcp_header_bytes) {
    return Drop::tcp_too_short;
  }
  std::byte const* const at = bytes.data();
  //= rfc9293#3.1
  //# 9293:P-DOFF the data offset counts words; options exist only beyond five of them
  //# 9293:P-RSRVD the four reserved bits beside it are not looked at
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
  //# 9293:MUST-5 options are read in every segment, whatever its flags
  if (header != tcp_header_bytes) {
    return parse(bytes.subspan(tcp_header_bytes, header - tcp_header_bytes), out.options);
  }
  out.options = Options{};
  return Drop::none;
}

//= rfc9293#3.1
//# 9293:MUST-3 pseudo-header, header, options and data are summed with the field that arrived
bool checksum_verifies(const PseudoHeader& pseudo, std::span<const std::byte> bytes) {
  CHECK(pseudo.length.count == bytes.size());
  return combine(pseudo_header_sum(pseudo), sum(bytes)).verifies();
}

Bytes header_bytes(const Segment& segment) {
  return Bytes{tcp_header_bytes} + options_bytes(segment.options);
}

Bytes write(const Segment& segment, std::span<std::byte> into) {
  CHECK(into.size() >= tcp_header_bytes);
  std::byte* const at = into.data();
  Bytes header{tcp_header_bytes};
  if (!segment.options.empty()) {
    header += write(segment.options, into.subspan(tcp_header_bytes));
  }
  store16(at, segment.source.value);
  store16(at + 2, segment.destination.value);
  store32(at + 4, segment.sequence.value);
  store32(at + 8, segment.acknowledgment.value);
  //= rfc9293#3.1
  //# 9293:P-RSRVD the four reserved bits are sent as zero
  store8(at + 12, static_cast<std::uint8_t>(header.count / 4 << 4));
  store8(at + 13, segment.flags.bits);
  store16(at + 14, segment.window.value);
  store16(at + tcp_checksum_offset, 0);
  store16(at + 18, segment.urgent);
  return header;
}

//= rfc9293#3.1
//# 9293:MUST-2 the sender fills in the checksum over pseudo-header, header, options and data
void write_checksum(std::span<std::byte> segment, Bytes header, const PseudoHeader& pseudo,
                    Partial payload) {
  CHECK(header.count >= tcp_header_bytes);
  CHECK(segment.size() >= header.count);
  CHECK(header.count <= tcp_header_bytes_max);
  // A header is whole words of 32 bits: no need of sum().
  Partial host;
  for (std::uint32_t i = 0; i < header.count; i += 4) {
    std::uint32_t word;
    std::memcpy(&word, segment.data() + i, sizeof word);
    host.sum += word;
  }
  Partial const own{pseudo_header_sum(pseudo).sum + network16(host.folded()), false};
  store16(segment.data() + tcp_checksum_offset, combine(own, payload).checksum());
}

}  // namespace lockstep::wire
