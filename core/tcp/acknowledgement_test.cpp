// The parts of ACK processing that need only a connection record.
#include "core/tcp/acknowledgement.hpp"

#include <gtest/gtest.h>

namespace lockstep::tcp {
namespace {

//= rfc6582#6
//= type=test
//# 6582:NR-14 gigabytes later `recover` is still below, so a new loss starts a recovery
TEST(Recover, StaysBehindAcrossTheWrap) {
  Connection c;
  InFlightState a;
  c.send.iss = {0xffff'0000};
  c.send.una = c.send.iss.next();
  c.congestion.recover = c.send.una + Bytes{100'000};
  EXPECT_FALSE(may_recover(c));
  c.send.una = c.send.una + Bytes{200'000};
  for (int i = 0; i < 200'000; ++i) {
    c.send.una = c.send.una + Bytes{65'535};
    clamp_marks(c, a);
    ASSERT_TRUE(may_recover(c)) << i;
  }
}

//= rfc6582#6
//= type=test
//# 6582:NR-14 only while no recovery is running
TEST(Recover, StaysWhereItIsInRecovery) {
  Connection c;
  InFlightState a;
  c.congestion.recovering = true;
  c.congestion.recover = {1000};
  c.send.una = {0x6000'0000};
  clamp_marks(c, a);
  EXPECT_EQ(c.congestion.recover, Sequence{1000});
}

//= rfc6582#3.2
//= type=test
//# 6582:NR-1 the ACK must cover more than recover
TEST(Recover, MustBeCovered) {
  Connection c;
  c.send.iss = {1};
  c.congestion.recover = {1000};
  c.send.una = {1001};
  EXPECT_FALSE(may_recover(c));
  c.send.una = {1002};
  EXPECT_TRUE(may_recover(c));
  c.congestion.recover = c.send.iss;
  EXPECT_TRUE(may_recover(c));
}

}  // namespace
}  // namespace lockstep::tcp
