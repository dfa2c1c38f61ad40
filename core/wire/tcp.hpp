// TCP segments (RFC 9293 3.1): a checked view to read, a writer to emit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/units/address.hpp"
#include "core/units/bytes.hpp"
#include "core/units/check.hpp"
#include "core/units/drop.hpp"
#include "core/units/sequence.hpp"
#include "core/units/window.hpp"
#include "core/wire/checksum.hpp"
#include "core/wire/octets.hpp"
#include "core/wire/tcp_options.hpp"

namespace lockstep::wire {

// The control bits, as in the fourteenth octet of the header.
struct Flags {
  std::uint8_t bits = 0;

  constexpr bool fin() const { return (bits & 0x01) != 0; }
  constexpr bool syn() const { return (bits & 0x02) != 0; }
  constexpr bool rst() const { return (bits & 0x04) != 0; }
  constexpr bool psh() const { return (bits & 0x08) != 0; }
  constexpr bool ack() const { return (bits & 0x10) != 0; }
  constexpr bool urg() const { return (bits & 0x20) != 0; }
  constexpr bool ece() const { return (bits & 0x40) != 0; }
  constexpr bool cwr() const { return (bits & 0x80) != 0; }

  constexpr bool any_of(Flags mask) const { return (bits & mask.bits) != 0; }
  constexpr bool all_of(Flags mask) const { return (bits & mask.bits) == mask.bits; }
  constexpr Flags operator|(Flags other) const {
    return {static_cast<std::uint8_t>(bits | other.bits)};
  }
  constexpr Flags& operator|=(Flags other) {
    *this = *this | other;
    return *this;
  }
  constexpr Flags without(Flags other) const {
    return {static_cast<std::uint8_t>(bits & ~other.bits)};
  }
  constexpr bool operator==(const Flags&) const = default;
};

// One constant per control bit; combine them: flag::syn
// flag::ack.
namespace flag {
inline constexpr Flags none{0x00};
inline constexpr Flags fin{0x01};
inline constexpr Flags syn{0x02};
inline constexpr Flags rst{0x04};
inline constexpr Flags psh{0x08};
inline constexpr Flags ack{0x10};
inline constexpr Flags urg{0x20};
inline constexpr Flags ece{0x40};
inline constexpr Flags cwr{0x80};
}  // namespace flag

// The fields of the fixed header, in host order.
struct Header {
  Port source;
  Port destination;
  Sequence sequence;
  Sequence acknowledgment;  // valid only with flags.ack()
  Flags flags;
  WireWindow window;
  std::uint16_t urgent = 0;  // an offset from `sequence`, valid only with flags.urg()
};

// One segment in host order. A parsed one is valid as long as the bytes it was parsed from.
struct Segment : Header {
  Options options;
  std::span<const std::byte> payload;

  // SEG.LEN: the sequence space that the segment occupies, in octets.
  //= rfc9293#3.4
  //# 9293:P-SEGLEN SYN and FIN count one each, in addition to the data
  constexpr Bytes length() const {
    return {static_cast<std::uint32_t>(payload.size()) + (flags.syn() ? 1u : 0u) +
            (flags.fin() ? 1u : 0u)};
  }
  // The sequence number after the segment.
  constexpr Sequence end() const { return sequence + length(); }
};

inline constexpr std::uint32_t tcp_header_bytes = 20;
inline constexpr std::uint32_t tcp_header_bytes_max = 60;
inline constexpr std::uint32_t tcp_sequence_offset = 4;
inline constexpr std::uint32_t tcp_flags_offset = 13;  // behind the octet of the data offset
// Offset of the checksum in the header: for checksum offload.
inline constexpr std::uint32_t tcp_checksum_offset = 16;

// Parses a header, its options and its payload; checksum_verifies() checks the checksum. Returns
// Drop::none, or tcp_too_short, tcp_data_offset, tcp_option_malformed or tcp_port_zero with `out`
// unspecified. `bytes` is the whole payload of the IP packet.
[[nodiscard]] Drop parse(std::span<const std::byte> bytes, Segment& out);
// After tcp_option_malformed, when all but the options of `out` is valid: reads them again,
// leniently (parse_leniently()).
void parse_options_leniently(std::span<const std::byte> bytes, Segment& out);

// The sum of the fixed header: whole 32-bit words.
inline Partial fixed_header_sum(const std::byte* at) {
  Partial host;
  for (std::uint32_t i = 0; i < tcp_header_bytes; i += 4) {
    host.sum += load_raw32(at + i);
  }
  return {network16(host.folded()), false};
}

// Whether the checksum of the segment `bytes` between these addresses is correct. Reads all of it.
// `pseudo.length` is the size of `bytes`.
//= rfc9293#3.1
//# 9293:MUST-3 pseudo-header, header, options and data are summed with the received field
[[nodiscard]] inline bool checksum_verifies(const PseudoHeader& pseudo,
                                            std::span<const std::byte> bytes) {
  CHECK(pseudo.length.count == bytes.size());
  // A bare ACK, or a SYN with only an MSS, is summed here without a call.
  bool const bare = bytes.size() == tcp_header_bytes;
  bool const word = bytes.size() == tcp_header_bytes + 4;
  Partial segment = bare || word ? fixed_header_sum(bytes.data()) : sum(bytes);
  segment.sum += word ? std::uint64_t{load32(bytes.data() + tcp_header_bytes)} : 0u;
  return combine(pseudo_header_sum(pseudo), segment).verifies();
}

// The length of the header that write() makes: 20 octets plus options.
Bytes header_bytes(const Segment& segment);

// The fixed header as words in host order, with a checksum of zero.
struct HeaderWords {
  std::uint32_t ports;
  std::uint32_t sequence;
  std::uint32_t acknowledgment;
  std::uint32_t offset_flags_window;
  std::uint32_t urgent;

  // 32-bit halves: folding adds their 16-bit words.
  constexpr Partial sum() const {
    return {std::uint64_t{ports} + sequence + acknowledgment + offset_flags_window + urgent, false};
  }
  void store(std::byte* at, std::uint16_t checksum) const {
    store32(at, ports);
    store32(at + 4, sequence);
    store32(at + 8, acknowledgment);
    store32(at + 12, offset_flags_window);
    store32(at + tcp_checksum_offset, std::uint32_t{checksum} << 16 | urgent);
  }
};

// The words of a header with `options` octets of options (a multiple of 4).
inline HeaderWords words_of(const Header& header, Bytes options) {
  Bytes const length = Bytes{tcp_header_bytes} + options;
  CHECK(options.count % 4 == 0);
  CHECK(length.count <= tcp_header_bytes_max);
  //= rfc9293#3.1
  //# 9293:P-RSRVD the four reserved bits are sent as zero
  std::uint32_t const offset_and_flags = length.count / 4 << 12 | header.flags.bits;
  return {std::uint32_t{header.source.value} << 16 | header.destination.value,
          header.sequence.value, header.acknowledgment.value,
          offset_and_flags << 16 | header.window.value, header.urgent};
}

// Writes the fixed header to the front of `into`, leaving space for `options` octets of options (a
// multiple of 4) that the caller writes. Returns the length of both. The checksum is left zero.
inline Bytes write(const Header& header, Bytes options, std::span<std::byte> into) {
  Bytes const length = Bytes{tcp_header_bytes} + options;
  CHECK(into.size() >= length.count);
  words_of(header, options).store(into.data(), 0);
  return length;
}

// Writes header and options, but neither payload nor checksum (left zero), to the front of `into`,
// which must have space for them. Returns their length: the offset of the payload.
inline Bytes write(const Segment& segment, std::span<std::byte> into) {
  CHECK(into.size() >= tcp_header_bytes);
  return write(segment, write(segment.options, into.subspan(tcp_header_bytes)), into);
}

// Sets the checksum in the header at the front of `segment`, written by write(). `header` is its
// length, `payload` the sum of what follows, from copy_and_sum() or table_sum(), or {} if nothing
// does. `pseudo.length` includes both.
//= rfc9293#3.1
//# 9293:MUST-2 the sender computes the checksum over pseudo-header, header, options and data
inline void write_checksum(std::span<std::byte> segment, Bytes header, const PseudoHeader& pseudo,
                           Partial payload) {
  CHECK(header.count >= tcp_header_bytes);
  CHECK(segment.size() >= header.count);
  CHECK(header.count <= tcp_header_bytes_max);
  Partial own = combine(pseudo_header_sum(pseudo), fixed_header_sum(segment.data()));
  for (std::uint32_t i = tcp_header_bytes; i < header.count; i += 4) {
    own.sum += load32(segment.data() + i);
  }
  store16(segment.data() + tcp_checksum_offset, combine(own, payload).checksum());
}

// Writes a header with its checksum to the front of `into`, where `options` octets of options are
// already in place: write() and write_checksum() in one, without reading the header again.
//= rfc9293#3.1
//# 9293:MUST-2 the sender computes the checksum over pseudo-header, header, options and data
inline void write_whole(const Header& header, Bytes options, const PseudoHeader& pseudo,
                        Partial payload, std::span<std::byte> into) {
  CHECK(into.size() >= tcp_header_bytes + options.count);
  HeaderWords const words = words_of(header, options);
  Partial own = combine(pseudo_header_sum(pseudo), words.sum());
  for (std::uint32_t i = 0; i < options.count; i += 4) {
    own.sum += load32(into.data() + tcp_header_bytes + i);
  }
  words.store(into.data(), combine(own, payload).checksum());
}

}  // namespace lockstep::wire
