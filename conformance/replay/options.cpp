// Reads timestamps and SACK blocks from the options of a segment.
#include "conformance/replay/options.hpp"

#include <algorithm>

#include "conformance/replay/circle.hpp"
#include "tools/base/capture/octets.hpp"

namespace lockstep::conformance {
namespace {

using tools::Segment;

constexpr std::byte padding{1};
constexpr std::size_t block_octets = 8;

void put_at(Segment& segment, std::size_t at, std::uint32_t value) {
  tools::set_word(segment.options, at, static_cast<std::uint16_t>(value >> 16));
  tools::set_word(segment.options, at + 2, static_cast<std::uint16_t>(value));
}

}  // namespace

std::optional<std::size_t> place_of_option(const Segment& segment, std::uint8_t kind) {
  for (const tools::TcpOption& option : tools::options_of(segment)) {
    if (option.kind == kind) {
      return static_cast<std::size_t>(option.data.data() - segment.options.data());
    }
  }
  return std::nullopt;
}

std::optional<Stamps> stamps_of(const Segment& segment) {
  for (const tools::TcpOption& option : tools::options_of(segment)) {
    if (option.kind == option_kind::timestamps && option.data.size() == 8) {
      return Stamps{tools::long_at(option.data, 0), tools::long_at(option.data, 4)};
    }
  }
  return std::nullopt;
}

std::vector<Block> blocks_of(const Segment& segment) {
  std::vector<Block> out;
  for (const tools::TcpOption& option : tools::options_of(segment)) {
    if (option.kind != option_kind::sack) {
      continue;
    }
    for (std::size_t at = 0; at + block_octets <= option.data.size(); at += block_octets) {
      out.push_back({tools::long_at(option.data, at), tools::long_at(option.data, at + 4)});
    }
  }
  return out;
}

bool reports_duplicate(std::uint32_t acknowledgment, const std::vector<Block>& blocks) {
  if (blocks.empty()) {
    return false;
  }
  const Block& first = blocks.front();
  bool const below = at_or_before(first.right, acknowledgment);
  bool const inside = blocks.size() > 1 && at_or_before(blocks[1].left, first.left) &&
                      at_or_before(first.right, blocks[1].right);
  return below || inside;
}

std::optional<std::vector<std::byte>> cookie_of(const Segment& segment) {
  for (const tools::TcpOption& option : tools::options_of(segment)) {
    if (option.kind == option_kind::fast_open) {
      return std::vector<std::byte>(option.data.begin(), option.data.end());
    }
  }
  return std::nullopt;
}

std::vector<std::byte> cookie_option(const std::vector<std::byte>& cookie) {
  std::vector<std::byte> out((cookie.size() + 5) / 4 * 4, padding);
  out[0] = std::byte{option_kind::fast_open};
  out[1] = static_cast<std::byte>(cookie.size() + 2);
  std::ranges::copy(cookie, out.begin() + 2);
  return out;
}

void set_cookie(Segment& segment, const std::vector<std::byte>& cookie) {
  auto const old = cookie_of(segment);
  auto const place = place_of_option(segment, option_kind::fast_open);
  if (old && old->size() == cookie.size()) {
    std::copy(cookie.begin(), cookie.end(),
              segment.options.begin() + static_cast<std::ptrdiff_t>(*place));
    return;
  }
  remove_option(segment, option_kind::fast_open);
  auto const option = cookie_option(cookie);
  segment.options.insert(segment.options.begin(), option.begin(), option.end());
}

void set_blocks(Segment& segment, const std::vector<Block>& blocks) {
  auto const place = place_of_option(segment, option_kind::sack);
  if (!place || blocks.empty()) {
    remove_option(segment, option_kind::sack);
    return;
  }
  std::size_t const end = *place + std::to_integer<std::size_t>(segment.options[*place - 1]) - 2;
  std::size_t at = *place;
  for (const Block& block : blocks) {
    if (at + block_octets > end) {
      break;
    }
    put_at(segment, at, block.left);
    put_at(segment, at + 4, block.right);
    at += block_octets;
  }
  segment.options[*place - 1] = static_cast<std::byte>(at - *place + 2);
  std::fill(segment.options.begin() + static_cast<std::ptrdiff_t>(at),
            segment.options.begin() + static_cast<std::ptrdiff_t>(end), padding);
}

void remove_option(Segment& segment, std::uint8_t kind) {
  auto const place = place_of_option(segment, kind);
  if (!place) {
    return;
  }
  std::size_t const size = std::to_integer<std::size_t>(segment.options[*place - 1]);
  auto const begin = segment.options.begin() + static_cast<std::ptrdiff_t>(*place) - 2;
  std::fill(begin, begin + static_cast<std::ptrdiff_t>(size), padding);
}

}  // namespace lockstep::conformance
