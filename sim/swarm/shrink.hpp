// Shrinks a failing world: removes what the failure does not need.
#pragma once

#include <cstdint>

#include "sim/kernel/world.hpp"

namespace lockstep::sim {

// Iterates over simpler worlds: next() proposes one, answer() takes whether it still fails. The
// caller runs them, because some end their process. Bounded by the number of parts of the world.
class Shrinker {
 public:
  explicit Shrinker(const World& failing) : smallest_(failing) {}

  // The next simpler world; false: nothing more can be removed.
  bool next(World& candidate);
  void answer(bool still_fails);

  const World& smallest() const { return smallest_; }
  std::uint32_t tries() const { return tries_; }

 private:
  static constexpr std::uint32_t tries_max = 400;

  World smallest_;
  World candidate_;
  std::uint32_t at_ = 0;  // the next cut
  bool cut_any_ = false;  // in this round
  std::uint32_t tries_ = 0;
};

}  // namespace lockstep::sim
