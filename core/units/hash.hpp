// Keyed hashing: SipHash, as a pseudo-random function for tables, ports and sequence numbers.
#pragma once

#include <bit>
#include <cstdint>

namespace lockstep {

// 128 secret bits, drawn by the caller. An attacker must not know them.
struct HashKey {
  std::uint64_t first = 0;
  std::uint64_t second = 0;

  // A zero key is no key: anyone could compute the hash.
  constexpr bool is_zero() const { return first == 0 && second == 0; }
};

// SipHash over whole 64-bit words (not a byte stream): `compressions` rounds per word and
// `finishes` at the end; 1 and 3 for tables, 2 and 4 where the hash protects a secret.
template <int compressions, int finishes>
class SipHash {
 public:
  // Starts a hash under this key.
  explicit constexpr SipHash(HashKey key)
      : v0_(key.first ^ 0x736f6d6570736575),
        v1_(key.second ^ 0x646f72616e646f6d),
        v2_(key.first ^ 0x6c7967656e657261),
        v3_(key.second ^ 0x7465646279746573) {}

  // Adds one word. The order of words matters.
  constexpr SipHash& add(std::uint64_t word) {
    v3_ ^= word;
    for (int i = 0; i < compressions; ++i) {
      round();
    }
    v0_ ^= word;
    ++words_;
    return *this;
  }

  // The bytes after the last whole word: at most seven, as a number.
  struct Tail {
    std::uint64_t bits = 0;
    std::uint32_t bytes = 0;
  };

  // The hash of the words added so far and of the tail; includes their length.
  constexpr std::uint64_t finish(Tail tail = {}) const {
    SipHash last = *this;
    std::uint64_t const length = (last.words_ * 8 + tail.bytes) << 56;
    last.add(length | tail.bits);
    last.v2_ ^= 0xff;
    for (int i = 0; i < finishes; ++i) {
      last.round();
    }
    return last.v0_ ^ last.v1_ ^ last.v2_ ^ last.v3_;
  }

 private:
  constexpr void round() {
    v0_ += v1_;
    v1_ = std::rotl(v1_, 13) ^ v0_;
    v0_ = std::rotl(v0_, 32);
    v2_ += v3_;
    v3_ = std::rotl(v3_, 16) ^ v2_;
    v0_ += v3_;
    v3_ = std::rotl(v3_, 21) ^ v0_;
    v2_ += v1_;
    v1_ = std::rotl(v1_, 17) ^ v2_;
    v2_ = std::rotl(v2_, 32);
  }

  std::uint64_t v0_;
  std::uint64_t v1_;
  std::uint64_t v2_;
  std::uint64_t v3_;
  std::uint64_t words_ = 0;
};

using TableHash = SipHash<1, 3>;
using SecretHash = SipHash<2, 4>;

// A running hash of field values in the order of declaration, each a little-endian integer of fixed
// width. Not keyed and not for tables: it must only differ when a value differs.
class Fingerprint {
 public:
  // Adds one value. The order of values matters.
  constexpr void add(std::uint64_t value) {
    state_ = (state_ ^ value) * 0x9e37'79b9'7f4a'7c15;
    state_ ^= state_ >> 32;
  }
  constexpr std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0xcbf2'9ce4'8422'2325;
};

}  // namespace lockstep
