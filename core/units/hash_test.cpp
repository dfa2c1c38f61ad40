// SipHash compared with its reference vectors, and the fingerprint.
#include "core/units/hash.hpp"

#include <array>
#include <set>

#include <gtest/gtest.h>

namespace lockstep {
namespace {

// The reference uses the key of octets 0 to 15 and messages of n octets 0 to n-1; these are its
// vectors for lengths of whole words.
constexpr HashKey reference_key{0x0706'0504'0302'0100, 0x0f0e'0d0c'0b0a'0908};

constexpr std::uint64_t reference_word(std::uint64_t number) {
  return reference_key.first + number * 0x0808'0808'0808'0808;
}

template <class Hash>
std::uint64_t hash_of_words(std::uint64_t count) {
  Hash hash(reference_key);
  for (std::uint64_t i = 0; i < count; ++i) {
    hash.add(reference_word(i));
  }
  return hash.finish();
}

TEST(SipHash, TwoFourHasTheReferenceVectors) {
  constexpr std::array<std::uint64_t, 8> expected{
      0x726f'db47'dd0e'0e31, 0x93f5'f579'9a93'2462, 0x3f2a'cc7f'57c2'9bdb, 0xb8ad'50c6'f649'af94,
      0x7127'512f'72f2'7cce, 0x0e3e'a96b'5304'a7d0, 0xe612'a3cb'9ecb'a951, 0xb78d'bfaf'3a8d'83bd};
  for (std::uint64_t words = 0; words < expected.size(); ++words) {
    EXPECT_EQ(hash_of_words<SecretHash>(words), expected[words]) << words;
  }
}

TEST(SipHash, OneThreeHasTheReferenceVectors) {
  constexpr std::array<std::uint64_t, 8> expected{
      0xabac'0158'050f'c4dc, 0x3690'9511'8d29'9a8e, 0xcc4f'dd1a'7d90'8b66, 0xf464'aeb2'6734'9c8c,
      0x8115'7b6c'16a7'b60d, 0xc1d2'3632'99e4'1531, 0x9f31'43f8'df07'4c46, 0xb4bc'c0db'243c'6d75};
  for (std::uint64_t words = 0; words < expected.size(); ++words) {
    EXPECT_EQ(hash_of_words<TableHash>(words), expected[words]) << words;
  }
}

// 256 octets: the length modulo 256 is 0, and the octets are 0 to 255.
TEST(SipHash, CountsItsWordsModulo256Octets) {
  TableHash hash(HashKey{0, 0});
  for (std::uint64_t i = 0; i < 32; ++i) {
    hash.add(reference_word(i));
  }
  EXPECT_EQ(hash.finish(), 0x31ae'646a'fba7'0308u);
}

TEST(SipHash, FinishLeavesItAsItWas) {
  SecretHash hash(reference_key);
  hash.add(reference_word(0));
  EXPECT_EQ(hash.finish(), hash.finish());
  hash.add(reference_word(1));
  EXPECT_EQ(hash.finish(), hash_of_words<SecretHash>(2));
}

TEST(Fingerprint, DependsOnEveryValueAndOnTheirOrder) {
  std::set<std::uint64_t> seen{Fingerprint{}.value()};
  for (int bit = 0; bit < 64; ++bit) {
    for (int place = 0; place < 3; ++place) {
      Fingerprint print;
      for (int i = 0; i < 3; ++i) {
        print.add(i == place ? std::uint64_t{1} << bit : 0);
      }
      EXPECT_TRUE(seen.insert(print.value()).second) << bit << " at " << place;
    }
  }
}

// Fixed values: fingerprints are compared between builds and machines.
TEST(Fingerprint, IsTheSameEverywhere) {
  Fingerprint print;
  print.add(1);
  print.add(0xffff'ffff'ffff'ffff);
  EXPECT_EQ(print.value(), 0x0209'9f9f'03ea'86a8u);
}

}  // namespace
}  // namespace lockstep
