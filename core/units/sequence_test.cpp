// Sequence arithmetic near the wrap.
#include "core/units/sequence.hpp"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

//= rfc9293#3.4
//= type=test
//# 9293:P-SEQ-MOD comparison works across the wrap
TEST(Sequence, ComparesAcrossTheWrap) {
  Sequence const last{0xffff'ffff};
  Sequence const first{0};
  EXPECT_TRUE(last.before(first));
  EXPECT_TRUE(first.after(last));
  EXPECT_FALSE(first.before(last));
  EXPECT_EQ(last + Bytes{1}, first);
  EXPECT_EQ(first.since(last).count, 1u);
  EXPECT_EQ(last.since(first).count, 0u);
}

TEST(Sequence, InsideIsHalfOpen) {
  Sequence const begin{0xffff'fff0};
  EXPECT_TRUE(begin.inside(begin, Bytes{1}));
  EXPECT_FALSE(begin.inside(begin, Bytes{0}));
  EXPECT_TRUE(Sequence{0x0f}.inside(begin, Bytes{0x20}));
  EXPECT_FALSE(Sequence{0x10}.inside(begin, Bytes{0x20}));
  EXPECT_FALSE(Sequence{0xffff'ffef}.inside(begin, Bytes{0x20}));
}

TEST(Sequence, SinceIsZeroForLaterNumbers) {
  EXPECT_EQ(Sequence{5}.since(Sequence{5}), Bytes{0});
  EXPECT_EQ(Sequence{5}.since(Sequence{6}), Bytes{0});
  EXPECT_EQ(Sequence{6}.since(Sequence{5}), Bytes{1});
  EXPECT_EQ(Sequence{0x7fff'ffff}.since(Sequence{0}), Bytes{0x7fff'ffff});
}

TEST(Sequence, DistanceIsSignedUpToHalfACircle) {
  for (std::uint32_t begin : {0u, 1u, 0x7fff'ffffu, 0x8000'0000u, 0xffff'ffffu}) {
    Sequence const from{begin};
    EXPECT_EQ(from.distance_from(from), 0);
    EXPECT_EQ((from + Bytes{0x7fff'ffff}).distance_from(from), 0x7fff'ffff);
    EXPECT_EQ((from - Bytes{0x7fff'ffff}).distance_from(from), -0x7fff'ffff);
    EXPECT_EQ(from.next().distance_from(from), 1);
    EXPECT_EQ(from.previous().distance_from(from), -1);
    EXPECT_TRUE(from.at_or_before(from));
    EXPECT_TRUE(from.at_or_after(from));
    EXPECT_FALSE(from.before(from));
    EXPECT_FALSE(from.after(from));
    EXPECT_EQ(first_of(from, from.next()), from);
    EXPECT_EQ(first_of(from.next(), from), from);
    EXPECT_EQ(last_of(from, from.next()), from.next());
    EXPECT_EQ(last_of(from.next(), from), from.next());
  }
}

}  // namespace
}  // namespace lockstep
