// A hash of every byte of every frame that hosts send, cheap enough to be always on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/units/time.hpp"

namespace lockstep::sim {

struct SentFrame {
  Instant at;
  std::uint32_t host = 0;
  std::span<const std::byte> bytes;
};

// Folds one frame into a running hash. Four lanes let the multiplications overlap. The same on
// every machine.
std::uint64_t frame_hash(const SentFrame& frame, std::uint64_t so_far);

}  // namespace lockstep::sim
