// Deterministic random streams: integers only, forked by name, identical on every machine.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/units/check.hpp"
#include "core/units/hash.hpp"

namespace lockstep {

// A probability as parts per 10^9: no floating point.
struct Probability {
  std::uint32_t per_billion = 0;
  static constexpr std::uint32_t certain = 1'000'000'000;
};

// SplitMix64: 64 bits of state, full period, any seed (zero included).
class Random {
 public:
  explicit constexpr Random(std::uint64_t seed = 0) : state_(seed) {}

  // The next 64 bits, uniform.
  constexpr std::uint64_t next() {
    state_ += 0x9e37'79b9'7f4a'7c15;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58'476d'1ce4'e5b9;
    z = (z ^ (z >> 27)) * 0x94d0'49bb'1331'11eb;
    return z ^ (z >> 31);
  }

  // Uniform in [0, limit), unbiased by rejection; `limit` must not be zero.
  constexpr std::uint64_t below(std::uint64_t limit) {
    CHECK(limit != 0);
    std::uint64_t const unfair = (0 - limit) % limit;
    std::uint64_t drawn = next();
    while (drawn < unfair) {
      drawn = next();
    }
    return drawn % limit;
  }

  // Uniform in [least, most], inclusive.
  struct Range {
    std::uint64_t least;
    std::uint64_t most;
  };
  // Uniform in `range`. CHECKs that `least` is at most `most`.
  constexpr std::uint64_t within(Range range) {
    CHECK(range.least <= range.most);
    std::uint64_t const span = range.most - range.least;
    return span == ~std::uint64_t{0} ? next() : range.least + below(span + 1);
  }

  constexpr bool chance(Probability p) { return below(Probability::certain) < p.per_billion; }

  // An independent stream for one purpose: drawing from it does not change this one.
  constexpr Random fork(std::string_view name) const {
    SecretHash hash({state_, 0x6c6f'636b'7374'6570});
    for (char letter : name) {
      hash.add(static_cast<unsigned char>(letter));
    }
    return Random(hash.finish());
  }

  constexpr std::uint64_t state() const { return state_; }

 private:
  std::uint64_t state_;
};

}  // namespace lockstep
