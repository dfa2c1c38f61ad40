// Deterministic random streams: integers only, forked by name, the same on every machine.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/units/check.hpp"
#include "core/units/hash.hpp"

namespace lockstep {

// A probability as a count of 10^9: no floating point anywhere.
struct Probability {
  std::uint32_t per_billion = 0;
  static constexpr std::uint32_t certain = 1'000'000'000;
};

// SplitMix64: 64 bits of state, a full period, any seed is good (zero included).
class Random {
 public:
  explicit constexpr Random(std::uint64_t seed = 0) : state_(seed) {}

  constexpr std::uint64_t next() {
    state_ += 0x9e37'79b9'7f4a'7c15;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58'476d'1ce4'e5b9;
    z = (z ^ (z >> 27)) * 0x94d0'49bb'1331'11eb;
    return z ^ (z >> 31);
  }

  // Uniform in [0, limit); `limit` must not be zero. Rejection keeps it unbiased.
  constexpr std::uint64_t below(std::uint64_t limit) {
    CHECK(limit != 0);
    std::uint64_t const unfair = (0 - limit) % limit;
    std::uint64_t drawn = next();
    while (drawn < unfair) {
      drawn = next();
    }
    return drawn % limit;
  }

  // Uniform in [least, most], both included.
  struct Range {
    std::uint64_t least;
    std::uint64_t most;
  };
  constexpr std::uint64_t within(Range range) {
    CHECK(range.least <= range.most);
    std::uint64_t const span = range.most - range.least;
    return span == ~std::uint64_t{0} ? next() : range.least + below(span + 1);
  }

  constexpr bool chance(Probability p) { return below(Probability::certain) < p.per_billion; }

  // A stream of its own for one concern: drawing from it leaves this one untouched.
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
