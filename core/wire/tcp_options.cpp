// Parsing and writing of TCP options.
#include "core/wire/tcp_options.hpp"

#include "core/units/check.hpp"
#include "core/wire/octets.hpp"

namespace lockstep::wire {
namespace {

constexpr std::uint8_t kind_end = 0;
constexpr std::uint8_t kind_nop = 1;
constexpr std::uint8_t kind_mss = 2;
constexpr std::uint8_t kind_window_scale = 3;
constexpr std::uint8_t kind_sack_permitted = 4;
constexpr std::uint8_t kind_sack = 5;
constexpr std::uint8_t kind_timestamps = 8;
constexpr std::uint8_t kind_user_timeout = 28;
constexpr std::uint8_t kind_fast_open = 34;

constexpr std::uint32_t mss_bytes = 4;
constexpr std::uint32_t window_scale_bytes = 3;
constexpr std::uint32_t sack_permitted_bytes = 2;
constexpr std::uint32_t timestamps_bytes = 10;
constexpr std::uint32_t sack_block_bytes = 8;
constexpr std::uint32_t user_timeout_bytes = 4;
constexpr std::uint32_t cookie_bytes_min = 4;
constexpr std::uint8_t window_scale_max = 14;

bool read_sack(std::span<const std::byte> option, Options& out) {
  //= rfc2018#3
  //# 2018:SACK-13 kind 5, length 8n+2, at most four blocks
  std::size_t const blocks = (option.size() - 2) / sack_block_bytes;
  if (option.size() % sack_block_bytes != 2 || blocks == 0 || blocks > sack_blocks_max) {
    return false;
  }
  out.sack_count = static_cast<std::uint8_t>(blocks);
  out.sack = {};  // discards the blocks of an earlier SACK option
  for (std::size_t i = 0; i < blocks; ++i) {
    std::byte const* const at = option.data() + 2 + i * sack_block_bytes;
    out.sack[i] = {{load32(at)}, {load32(at + 4)}};
  }
  return true;
}

// A user timeout option of another length is ignored, as if it were unknown.
void read_user_timeout(std::span<const std::byte> option, Options& out) {
  //= rfc5482#3.3
  //# 5482:UTO-8 kind 28, length 4
  if (option.size() == user_timeout_bytes) {
    out.has_user_timeout = true;
    out.user_timeout = load16(option.data() + 2);
  }
}

//= rfc7413#4.1.1
//# 7413:TFO-3 kind 34, empty or an even length of 4 to 16; anything else is ignored
void read_fast_open(std::span<const std::byte> option, Options& out) {
  std::size_t const bytes = option.size() - 2;
  bool const whole = bytes % 2 == 0 && bytes >= cookie_bytes_min && bytes <= cookie_bytes_max;
  if (bytes != 0 && !whole) {
    return;
  }
  out.has_fast_open = true;
  out.cookie_bytes = static_cast<std::uint8_t>(bytes);
  out.cookie = {};
  for (std::size_t i = 0; i < bytes; ++i) {
    out.cookie[i] = load8(option.data() + 2 + i);
  }
}

// One option including kind and length octets. False, and nothing read: wrong length for its kind.
bool read_option(std::span<const std::byte> option, Options& out) {
  std::byte const* const at = option.data();
  switch (load8(at)) {
    case kind_mss:
      //= rfc9293#3.2
      //# 9293:P-MSS-FORMAT kind 2, length 4, a 16-bit value
      if (option.size() != mss_bytes) {
        return false;
      }
      out.has_mss = true;
      out.mss = load16(at + 2);
      return true;
    case kind_window_scale:
      if (option.size() != window_scale_bytes) {
        return false;
      }
      out.has_window_scale = true;
      //= rfc7323#2.3
      //# 7323:TS-5 a shift above 14 is used as 14
      out.window_scale.shift = load8(at + 2) > window_scale_max ? window_scale_max : load8(at + 2);
      return true;
    case kind_sack_permitted:
      if (option.size() != sack_permitted_bytes) {
        return false;
      }
      out.has_sack_permitted = true;
      return true;
    case kind_sack:
      return read_sack(option, out);
    case kind_timestamps:
      if (option.size() != timestamps_bytes) {
        return false;
      }
      out.has_timestamps = true;
      out.timestamp_value = load32(at + 2);
      out.timestamp_echo = load32(at + 6);
      return true;
    case kind_user_timeout:
      read_user_timeout(option, out);
      return true;
    case kind_fast_open:
      read_fast_open(option, out);
      return true;
    default:
      //= rfc9293#3.1
      //# 9293:MUST-6 an unsupported kind is skipped by its length
      return true;
  }
}

// NOPs before an option, so that the next one is aligned to four octets.
std::byte* pad_one(std::byte* at) {
  store8(at, kind_nop);
  return at + 1;
}
std::byte* pad_two(std::byte* at) { return pad_one(pad_one(at)); }

std::byte* begin_option(std::byte* at, std::uint8_t kind, Bytes length) {
  store8(at, kind);
  store8(at + 1, static_cast<std::uint8_t>(length.count));
  return at + 2;
}

std::byte* write_window_scale(const Options& options, std::byte* at) {
  if (!options.has_window_scale) {
    return at;
  }
  CHECK(options.window_scale.shift <= window_scale_max);
  at = begin_option(pad_one(at), kind_window_scale, {window_scale_bytes});
  store8(at, options.window_scale.shift);
  return at + 1;
}

// SACK-permitted takes the place of the two NOPs before timestamps.
std::byte* write_permission_and_timestamps(const Options& options, std::byte* at) {
  if (options.has_sack_permitted) {
    at = begin_option(options.has_timestamps ? at : pad_two(at), kind_sack_permitted,
                      {sack_permitted_bytes});
  } else if (options.has_timestamps) {
    at = pad_two(at);
  }
  if (options.has_timestamps) {
    at = begin_option(at, kind_timestamps, {timestamps_bytes});
    store32(at, options.timestamp_value);
    store32(at + 4, options.timestamp_echo);
    at += 8;
  }
  return at;
}

std::byte* write_user_timeout(const Options& options, std::byte* at) {
  if (!options.has_user_timeout) {
    return at;
  }
  at = begin_option(at, kind_user_timeout, {user_timeout_bytes});
  store16(at, options.user_timeout);
  return at + 2;
}

std::byte* write_fast_open(const Options& options, std::byte* at, OptionOrder order) {
  if (!options.has_fast_open) {
    return at;
  }
  CHECK(options.cookie_bytes <= cookie_bytes_max);
  at = begin_option(at, kind_fast_open, {2u + options.cookie_bytes});
  for (std::uint32_t i = 0; i < options.cookie_bytes; ++i) {
    store8(at + i, options.cookie[i]);
  }
  at += options.cookie_bytes;
  // Followed by NOPs, as in Linux.
  bool const padded = order == OptionOrder::like_linux && options.cookie_bytes % 4 == 0;
  return padded ? pad_two(at) : at;
}

std::byte* write_sack(const Options& options, std::byte* at) {
  CHECK(options.sack_count <= sack_blocks_max);
  if (options.sack_count == 0) {
    return at;
  }
  at = begin_option(pad_two(at), kind_sack, {2 + options.sack_count * sack_block_bytes});
  for (std::uint32_t i = 0; i < options.sack_count; ++i) {
    store32(at, options.sack[i].begin.value);
    store32(at + 4, options.sack[i].end.value);
    at += sack_block_bytes;
  }
  return at;
}

// An option begins `rest` octets after a multiple of `unit`.
struct Alignment {
  std::uint32_t unit, rest;
};

std::byte* pad_until(const std::byte* begin, std::byte* at, Alignment to) {
  while (static_cast<std::uint32_t>(at - begin) % to.unit != to.rest) {
    store8(at++, kind_nop);
  }
  return at;
}

// The layout of FreeBSD's frames: the shift's octet and the timestamps' values are aligned to 4
// octets, SACK-permitted and Fast Open follow without NOPs, and EOLs fill the last word.
std::byte* write_like_freebsd(const Options& options, std::byte* const begin, std::byte* at) {
  if (options.has_window_scale) {
    at = begin_option(pad_until(begin, at, {2, 1}), kind_window_scale, {window_scale_bytes});
    store8(at++, options.window_scale.shift);
  }
  if (options.has_sack_permitted) {
    at = begin_option(pad_until(begin, at, {2, 0}), kind_sack_permitted, {sack_permitted_bytes});
  }
  if (options.has_timestamps) {
    at = begin_option(pad_until(begin, at, {4, 2}), kind_timestamps, {timestamps_bytes});
    store32(at, options.timestamp_value);
    store32(at + 4, options.timestamp_echo);
    at += 8;
  }
  return at;
}

}  // namespace

//= rfc9293#3.1
//# 9293:MUST-4, 9293:P-OPT-FORMAT end of list, NOP and MSS; an option may start at any octet
//= rfc9293#3.2
//# 9293:MUST-64 no alignment is assumed
Drop parse(std::span<const std::byte> bytes, Options& out) {
  out = Options{};
  // Fast path for a SYN with only an MSS.
  if (bytes.size() == mss_bytes && load16(bytes.data()) == (kind_mss << 8 | mss_bytes)) {
    out.has_mss = true;
    out.mss = load16(bytes.data() + 2);
    return Drop::none;
  }
  std::size_t at = 0;
  while (at < bytes.size()) {
    std::uint8_t const kind = load8(bytes.data() + at);
    //= rfc9293#3.2
    //# 9293:P-EOL everything after the end of the list is ignored
    if (kind == kind_end) {
      return Drop::none;
    }
    if (kind == kind_nop) {
      ++at;
      continue;
    }
    //= rfc9293#3.1
    //# 9293:MUST-68 every other kind has a length octet
    //# 9293:MUST-7 an impossible length drops the segment and does no further harm
    if (bytes.size() - at < 2) {
      return Drop::tcp_option_malformed;
    }
    std::size_t const length = load8(bytes.data() + at + 1);
    if (length < 2 || length > bytes.size() - at) {
      return Drop::tcp_option_malformed;
    }
    if (!read_option(bytes.subspan(at, length), out)) {
      return Drop::tcp_option_malformed;
    }
    at += length;
  }
  return Drop::none;
}

[[gnu::cold]] void parse_leniently(std::span<const std::byte> bytes, Options& out) {
  out = Options{};
  while (!bytes.empty() && load8(bytes.data()) != kind_end) {
    if (load8(bytes.data()) == kind_nop) {
      bytes = bytes.subspan(1);
      continue;
    }
    std::size_t const length = bytes.size() < 2 ? 0 : load8(bytes.data() + 1);
    if (length < 2 || length > bytes.size()) {
      return;
    }
    static_cast<void>(read_option(bytes.first(length), out));
    bytes = bytes.subspan(length);
  }
}

Bytes options_bytes(const Options& options) {
  std::uint32_t total = 0;
  total += options.has_mss ? mss_bytes : 0;
  total += options.has_window_scale ? 4 : 0;
  total += options.has_sack_permitted && !options.has_timestamps ? 4 : 0;
  total += options.has_timestamps ? 12 : 0;
  total += options.sack_count != 0 ? 4 + options.sack_count * sack_block_bytes : 0;
  total += options.has_user_timeout ? user_timeout_bytes : 0;
  total += options.has_fast_open ? (2u + options.cookie_bytes + 3) / 4 * 4 : 0;
  return {total};
}

//= rfc9293#3.1
//# 9293:MUST-69 all options end where the header ends: no end mark is needed
Bytes write(const Options& options, std::span<std::byte> into, OptionOrder order) {
  Bytes const total = options_bytes(options);
  CHECK(total.count <= tcp_options_bytes_max);
  CHECK(into.size() >= total.count);
  std::byte* at = into.data();
  if (options.has_mss) {
    at = begin_option(at, kind_mss, {mss_bytes});
    store16(at, options.mss);
    at += 2;
  }
  if (order == OptionOrder::like_freebsd) {
    at = write_like_freebsd(options, into.data(), at);
  } else {
    at = write_permission_and_timestamps(options, at);
    at = write_window_scale(options, at);
  }
  at = write_sack(options, at);
  at = write_user_timeout(options, at);
  at = write_fast_open(options, at, order);
  CHECK(at <= into.data() + total.count);
  // The other order leaves no octet.
  while (at != into.data() + total.count) {
    store8(at++, kind_end);
  }
  return total;
}

}  // namespace lockstep::wire
