// Reads numbers from bytes, for packets that the core's strict parsers refuse. They are big-endian
// unless a name says otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lockstep::tools {

/// The octet at `at`, which must be within `bytes`.
inline std::uint8_t octet_at(std::span<const std::byte> bytes, std::size_t at) {
  return std::to_integer<std::uint8_t>(bytes[at]);
}
inline std::uint16_t word_at(std::span<const std::byte> bytes, std::size_t at) {
  return static_cast<std::uint16_t>(octet_at(bytes, at) << 8 | octet_at(bytes, at + 1));
}
inline std::uint32_t long_at(std::span<const std::byte> bytes, std::size_t at) {
  return static_cast<std::uint32_t>(word_at(bytes, at)) << 16 | word_at(bytes, at + 2);
}
inline std::uint32_t little_long_at(std::span<const std::byte> bytes, std::size_t at) {
  std::uint32_t out = 0;
  for (std::size_t i = 4; i-- > 0;) {
    out = out << 8 | octet_at(bytes, at + i);
  }
  return out;
}
inline std::uint64_t wide_at(std::span<const std::byte> bytes, std::size_t at) {
  return static_cast<std::uint64_t>(long_at(bytes, at)) << 32 | long_at(bytes, at + 4);
}

inline void put_octet(std::vector<std::byte>& out, std::uint32_t value) {
  out.push_back(static_cast<std::byte>(value & 0xff));
}
inline void put_word(std::vector<std::byte>& out, std::uint32_t value) {
  put_octet(out, value >> 8);
  put_octet(out, value);
}
inline void put_long(std::vector<std::byte>& out, std::uint32_t value) {
  put_word(out, value >> 16);
  put_word(out, value);
}
inline void set_word(std::span<std::byte> bytes, std::size_t at, std::uint16_t value) {
  bytes[at] = static_cast<std::byte>(value >> 8);
  bytes[at + 1] = static_cast<std::byte>(value & 0xff);
}

/// The unfolded one's complement sum (RFC 1071) of `bytes`, added to `start`.
std::uint32_t ones_sum(std::span<const std::byte> bytes, std::uint32_t start = 0);
/// Folds a sum into 16 bits, without complementing it.
std::uint16_t ones_fold(std::uint32_t sum);

}  // namespace lockstep::tools
