// Hashes frames eight octets at a time, read as little-endian numbers.
#include "sim/kernel/frame_hash.hpp"

#include <array>
#include <bit>
#include <cstring>

#include "core/units/hash.hpp"

namespace lockstep::sim {
namespace {

std::uint64_t little_endian(const std::byte* bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  if constexpr (std::endian::native == std::endian::big) {
    word = __builtin_bswap64(word);
  }
  return word;
}

constexpr std::uint64_t mix(std::uint64_t lane, std::uint64_t word) {
  std::uint64_t const product = (lane ^ word) * 0x9e37'79b9'7f4a'7c15;
  return product ^ (product >> 29);
}

}  // namespace

std::uint64_t frame_hash(const SentFrame& frame, std::uint64_t so_far) {
  std::array<std::uint64_t, 4> lanes{so_far, frame.at.ns, frame.host, frame.bytes.size()};
  const std::byte* at = frame.bytes.data();
  std::size_t left = frame.bytes.size();
  while (left >= 32) {
    for (std::size_t lane = 0; lane < 4; ++lane) {
      lanes[lane] = mix(lanes[lane], little_endian(at + lane * 8));
    }
    at += 32;
    left -= 32;
  }
  std::array<std::byte, 32> tail{};
  if (left != 0) {
    std::memcpy(tail.data(), at, left);
  }
  for (std::size_t lane = 0; lane < 4; ++lane) {
    lanes[lane] = mix(lanes[lane], little_endian(tail.data() + lane * 8));
  }
  Fingerprint all;
  for (std::uint64_t lane : lanes) {
    all.add(lane);
  }
  return all.value();
}

}  // namespace lockstep::sim
