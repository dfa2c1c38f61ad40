// The steering hash: symmetric, in range, and sufficiently uniform.
#include "core/units/shard.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace lockstep {
namespace {

FourTuple flow(std::uint32_t number) {
  IpAddress const client = IpAddress::v4(10, 0, static_cast<std::uint8_t>(number >> 14), 2);
  return {{IpAddress::v4(10, 9, 0, 1), Port{80}},
          {client, Port{static_cast<std::uint16_t>(32'768 + (number & 0x3fff))}}};
}

TEST(Shard, BothDirectionsHaveOneHome) {
  for (std::uint32_t count : {1u, 2u, 7u, 36u, 256u}) {
    for (std::uint32_t i = 0; i < 1000; ++i) {
      FourTuple const tuple = flow(i);
      ShardId const home = shard_of(tuple, {count});
      EXPECT_EQ(home, shard_of({tuple.remote, tuple.local}, {count}));
      EXPECT_LT(home.value, count);
    }
  }
  FourTuple const six{{{0x2001'0db8'0000'0000, 1}, Port{80}},
                      {{0x2001'0db8'0000'0000, 2}, Port{40'000}}};
  EXPECT_EQ(shard_of(six, {36}), shard_of({six.remote, six.local}, {36}));
}

TEST(Shard, EachGetsItsShare) {
  for (std::uint32_t count : {2u, 4u, 36u}) {
    std::vector<std::uint32_t> flows(count);
    std::uint32_t const all = 16'384;
    for (std::uint32_t i = 0; i < all; ++i) {
      ++flows[shard_of(flow(i), {count}).value];
    }
    for (std::uint32_t each : flows) {
      EXPECT_GT(each, all / count * 3 / 4);
      EXPECT_LT(each, all / count * 5 / 4);
    }
  }
}

}  // namespace
}  // namespace lockstep
