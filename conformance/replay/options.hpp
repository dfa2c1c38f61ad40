// Timestamps, SACK blocks and cookies of a segment: read, rewritten, removed.
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

/// Returns nothing if the option is missing or has a wrong length.
std::optional<Stamps> stamps_of(const tools::Segment& segment);

/// One SACK block: `right` is the first octet after it.
struct Block {
  std::uint32_t left = 0, right = 0;
  friend bool operator==(const Block&, const Block&) = default;
};

std::vector<Block> blocks_of(const tools::Segment& segment);

/// Whether the first block reports duplicate octets (D-SACK; RFC 2883, 5).
bool reports_duplicate(std::uint32_t acknowledgment, const std::vector<Block>& blocks);

/// Replaces the segment's blocks with these, which must not be more; the rest becomes padding.
void set_blocks(tools::Segment& segment, const std::vector<Block>& blocks);

/// The Fast Open cookie (RFC 7413): empty if one is requested, nothing without the option.
std::optional<std::vector<std::byte>> cookie_of(const tools::Segment& segment);

/// Replaces the cookie. The segment must have the option.
void set_cookie(tools::Segment& segment, const std::vector<std::byte>& cookie);

/// The option with this cookie, padded to whole words.
std::vector<std::byte> cookie_option(const std::vector<std::byte>& cookie);

/// The offset of the contents of the first option of this kind.
std::optional<std::size_t> place_of_option(const tools::Segment& segment, std::uint8_t kind);

/// Replaces the option with padding. Does nothing if there is no such option.
void remove_option(tools::Segment& segment, std::uint8_t kind);

}  // namespace lockstep::conformance
