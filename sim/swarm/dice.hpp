// Dice: the random draws of the swarm, on one random stream.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "core/units/random.hpp"
#include "core/units/time.hpp"

namespace lockstep::sim {

class Dice {
 public:
  explicit Dice(Random random) : random_(random) {}

  // True with a probability of `share` percent.
  bool percent(std::uint32_t share) { return random_.below(100) < share; }
  std::uint64_t below(std::uint64_t limit) { return random_.below(limit); }
  std::uint32_t below32(std::uint32_t limit) {
    return static_cast<std::uint32_t>(random_.below(limit));
  }
  // Both ends included.
  std::uint64_t within(Random::Range range) { return random_.within(range); }
  Duration within(Duration least, Duration most) { return {random_.within({least.ns, most.ns})}; }
  // From `least` to about `most`, logarithmically uniform. `least` must not be zero.
  std::uint64_t magnitude(Random::Range range) {
    std::uint64_t top = range.least;
    while (top < range.most && random_.below(4) != 0) {
      top *= 2;
    }
    top = top < range.most ? top : range.most;
    return random_.within({range.least, top});
  }
  // One of the values, each equally likely.
  template <class T>
  T pick(std::initializer_list<T> values) {
    return values.begin()[random_.below(values.size())];
  }
  std::uint64_t word() { return random_.next(); }
  // Another stream: what is drawn from it changes nothing else.
  Dice fork(std::string_view name) const { return Dice(random_.fork(name)); }

 private:
  Random random_;
};

}  // namespace lockstep::sim
