// TCP options: the values in a segment, their parser and their writer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/units/bytes.hpp"
#include "core/units/check.hpp"
#include "core/units/drop.hpp"
#include "core/units/sequence.hpp"
#include "core/units/window.hpp"
#include "core/wire/octets.hpp"

namespace lockstep::wire {

// One block of data received above the acknowledgment: [begin, end) (RFC 2018).
struct SackBlock {
  Sequence begin;
  Sequence end;
  bool operator==(const SackBlock&) const = default;
};

inline constexpr std::uint32_t sack_blocks_max = 4;
inline constexpr std::uint32_t cookie_bytes_max = 16;
inline constexpr std::uint32_t tcp_options_bytes_max = 40;

// The order of options on a SYN. SACK blocks come last in both.
// like_linux: MSS, SACK-permitted, timestamps, window scale; like_freebsd: MSS, window scale,
// SACK-permitted, timestamps.
enum class OptionOrder : std::uint8_t { like_linux, like_freebsd };

// Timestamps as they usually are, alone and aligned by two NOPs: their length, and their first
// word.
inline constexpr std::uint32_t timestamps_padded_bytes = 12;
inline constexpr std::uint32_t timestamps_padded = 0x0101'080a;

// The options of one segment. A value is valid only if its `has_` is true, and is zero otherwise.
// Options of other kinds are not stored.
struct Options {
  bool has_mss = false;
  bool has_window_scale = false;
  bool has_sack_permitted = false;
  bool has_timestamps = false;
  std::uint8_t sack_count = 0;  // valid blocks of `sack`, at most sack_blocks_max
  WindowScale window_scale;     // at most 14
  std::uint16_t mss = 0;
  std::uint32_t timestamp_value = 0;
  std::uint32_t timestamp_echo = 0;
  std::array<SackBlock, sack_blocks_max> sack{};
  bool has_user_timeout = false;
  bool has_fast_open = false;
  std::uint8_t cookie_bytes = 0;   // of `cookie`: 0 (a request), or 4 to 16 and even
  std::uint16_t user_timeout = 0;  // the top bit: minutes instead of seconds
  std::array<std::uint8_t, cookie_bytes_max> cookie{};

  constexpr bool empty() const {
    return !has_mss && !has_window_scale && !has_sack_permitted && !has_timestamps &&
           sack_count == 0 && !has_user_timeout && !has_fast_open;
  }
  bool operator==(const Options&) const = default;
};

// Parses the options between the 20th octet of a header and its end. `out` must be
// default-constructed. Unknown kinds are skipped by their length. Of two options of one kind the
// last one counts. Returns Drop::none, or tcp_option_malformed with `out` unspecified: a length
// under 2, beyond the header, or wrong for a known kind. At most 40 steps. RFC 9293 3.1, 3.2.
[[nodiscard]] Drop parse(std::span<const std::byte> bytes, Options& out);

// The same, but lenient: options in front of a malformed one are kept, and one of a wrong length
// for its kind is skipped.
void parse_leniently(std::span<const std::byte> bytes, Options& out);

// The length that write() produces: a multiple of 4.
Bytes options_bytes(const Options& options);

// Writes the options to the front of `into`, which must have space for them, each aligned to 4
// octets by NOPs before it. Returns their length; the caller makes sure that it is at most
// tcp_options_bytes_max.
Bytes write(const Options& options, std::span<std::byte> into,
            OptionOrder order = OptionOrder::like_linux);

// As write() of an MSS alone.
inline Bytes write_mss(std::uint16_t mss, std::span<std::byte> into) {
  constexpr std::uint32_t kind_and_length = 0x0204'0000;
  CHECK(into.size() >= 4);
  store32(into.data(), kind_and_length | mss);
  return {4};
}

}  // namespace lockstep::wire
