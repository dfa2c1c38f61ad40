// Shrinks a failing world: leaves out what it fails without.
#pragma once

#include <cstdint>

#include "sim/kernel/world.hpp"

namespace lockstep::sim {

// Walks through simpler worlds: next() offers one, answer() says if it still fails. The caller runs
// them, as some end their process. Bounded by the parts of the world.
class Shrinker {
 public:
  explicit Shrinker(const World& failing) : smallest_(failing) {}

  // The next simpler world; false: nothing more can be left out.
  bool next(World& candidate);
  void answer(bool still_fails);

  const World& smallest() const { return smallest_; }
  std::uint32_t tries() const { return tries_; }

 private:
  static constexpr std::uint32_t tries_max = 400;

  World smallest_;
  World candidate_;
  std::uint32_t at_ = 0;  // which cut comes next
  bool cut_any_ = false;  // in this round
  std::uint32_t tries_ = 0;
};

}  // namespace lockstep::sim
