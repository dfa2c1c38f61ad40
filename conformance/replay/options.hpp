// Timestamps and SACK blocks of a segment: read, rewritten, taken out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tools/base/capture/decode.hpp"

namespace lockstep::conformance {

namespace option_kind {
inline constexpr std::uint8_t sack_permitted = 4, sack = 5, timestamps = 8;
inline constexpr std::uint8_t multipath = 30, fast_open = 34;
}  //namespace option_kind

/// TSval and TSecr of a segment.
struct Stamps {
  std::uint32_t value = 0, echo = 0;
};

/// Nothing where it has none, or one of a wrong length.
std::optional<Stamps> stamps_of(const tools::Segment& segment);

/// One SACK block: from its left edge up to, and without, its right one.
struct Block {
  std::uint32_t left = 0, right = 0;
  friend bool operator==(const Block&, const Block&) = default;
};

std::vector<Block> blocks_of(const tools::Segment& segment);

/// Is the first block about octets that came twice (RFC 2883, 5)?
bool reports_duplicate(std::uint32_t acknowledgment, const std::vector<Block>& blocks);

/// Writes these in place of the segment's blocks, of which there are no fewer; the room that is
/// left becomes padding.
void set_blocks(tools::Segment& segment, const std::vector<Block>& blocks);

/// The cookie of Fast Open (RFC 7413): empty where one is asked for, nothing without the option.
std::optional<std::vector<std::byte>> cookie_of(const tools::Segment& segment);

/// Writes another cookie in its place; the segment has the option.
void set_cookie(tools::Segment& segment, const std::vector<std::byte>& cookie);

/// The option with this cookie, padded to whole words.
std::vector<std::byte> cookie_option(const std::vector<std::byte>& cookie);

/// Where the contents of the first option of this kind begin among the options.
std::optional<std::size_t> place_of_option(const tools::Segment& segment, std::uint8_t kind);

/// Padding in its place. Nothing where there is no such option.
void remove_option(tools::Segment& segment, std::uint8_t kind);

}  // namespace lockstep::conformance
