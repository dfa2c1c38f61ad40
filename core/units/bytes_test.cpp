// Byte counts: subtraction stops at zero.
#include "core/units/bytes.hpp"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(Bytes, AddsAndSubtractsDownToZero) {
  EXPECT_EQ(Bytes{3} + Bytes{4}, Bytes{7});
  EXPECT_EQ(Bytes{3} - Bytes{4}, Bytes{0});
  EXPECT_EQ(Bytes{4} - Bytes{3}, Bytes{1});
  Bytes count{5};
  count += Bytes{2};
  EXPECT_EQ(count, Bytes{7});
  count -= Bytes{9};
  EXPECT_TRUE(count.empty());
  EXPECT_FALSE(Bytes{1}.empty());
}

TEST(Bytes, LeastAndMost) {
  EXPECT_EQ(least(Bytes{1}, Bytes{2}), Bytes{1});
  EXPECT_EQ(least(Bytes{2}, Bytes{1}), Bytes{1});
  EXPECT_EQ(most(Bytes{1}, Bytes{2}), Bytes{2});
  EXPECT_EQ(most(Bytes{2}, Bytes{1}), Bytes{2});
  EXPECT_LT(Count{7}, Count::unlimited());
}

}  // namespace
}  // namespace lockstep
