// The standard's examples, and every length around a block, split in different ways.
#include "tools/lib/http/sha256.hpp"

#include <gtest/gtest.h>

#include <string>

namespace lockstep::http {
namespace {

std::string hash_of(const std::string& text, std::size_t piece) {
  Sha256 hash;
  auto octets = std::as_bytes(std::span(text));
  while (!octets.empty()) {
    std::size_t const taken = std::min(piece, octets.size());
    hash.add(octets.first(taken));
    octets = octets.subspan(taken);
  }
  EXPECT_EQ(hash.octets(), text.size());
  auto const hex = hash.hex();
  return {hex.begin(), hex.end()};
}

TEST(Sha256, Examples) {
  EXPECT_EQ(hash_of("", 1), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hash_of("abc", 3), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hash_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hash_of(std::string(1'000'000, 'a'), 4096),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, HoweverItIsCut) {
  for (std::size_t length = 0; length < 200; ++length) {
    std::string const text(length, 'x');
    std::string const whole = hash_of(text, 1000);
    for (std::size_t const piece : {1u, 7u, 63u, 64u, 65u}) {
      ASSERT_EQ(hash_of(text, piece), whole) << length << " by " << piece;
    }
  }
}

}  // namespace
}  // namespace lockstep::http
