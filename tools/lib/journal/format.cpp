// The hashes of a journal, computed with the simulator's frame hash.
#include "tools/lib/journal/format.hpp"

#include "sim/kernel/frame_hash.hpp"

namespace lockstep::journal {

std::uint64_t chained(std::uint64_t chain, std::span<const std::byte> record) {
  return sim::frame_hash({Instant{}, 0, record}, chain);
}

std::uint64_t hash_of(std::span<const std::byte> frame) {
  return sim::frame_hash({Instant{}, 0, frame}, 0);
}

}  // namespace lockstep::journal
