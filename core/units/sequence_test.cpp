// Sequence arithmetic at the seams of the circle.
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

}  // namespace
}  // namespace lockstep
