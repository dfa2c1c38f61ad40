// RFC 5681 and RFC 6582 as arithmetic on cwnd and ssthresh.
#include "core/tcp/congestion/reno.hpp"

#include <gtest/gtest.h>

#include "core/units/random.hpp"

namespace lockstep::tcp::reno {
namespace {

constexpr Bytes smss{1000};

void on_ack(CongestionVariables& c, Bytes newly, Bytes octets) {
  Config const config;
  ControllerState state;
  congestion::Subject subject{c, state, config, octets, {}};
  congestion::Acked acked;
  acked.newly = newly;
  reno::on_ack(subject, acked);
}

void begin_recovery(CongestionVariables& c, Flight flight) {
  Config const config;
  ControllerState state;
  congestion::Subject subject{c, state, config, flight.smss, {}};
  c.ssthresh =
      most(reduced(subject, flight.size, congestion::Signal::loss), Bytes{2 * flight.smss.count});
  enter_recovery(c, flight.smss);
}

CongestionVariables at(std::uint32_t cwnd, std::uint32_t ssthresh) {
  CongestionVariables c;
  c.cwnd = {cwnd};
  c.ssthresh = {ssthresh};
  return c;
}

//= rfc5681#3.1
//= type=test
//# 5681:CC-39 slow start below ssthresh, congestion avoidance at or above it
TEST(Reno, PhaseByThreshold) {
  auto below = at(3999, 4000);
  on_ack(below, smss, smss);
  EXPECT_EQ(below.cwnd.count, 4999u);
  auto equal = at(4000, 4000);
  on_ack(equal, smss, smss);
  EXPECT_EQ(equal.cwnd.count, 4000u);
  auto above = at(4001, 4000);
  on_ack(above, smss, smss);
  EXPECT_EQ(above.cwnd.count, 4001u);
}

//= rfc5681#3.1
//= type=test
//# 5681:CC-9 at most one segment per window of octets, however these are divided
TEST(Reno, AvoidanceAddsASegmentAWindow) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Random draw(seed);
    auto c = at(10'000, 2000);
    for (int round = 0; round < 20; ++round) {
      std::uint32_t const before = c.cwnd.count;
      for (std::uint32_t left = before; left != 0;) {
        auto const newly = static_cast<std::uint32_t>(1 + draw.below(std::min(left, 4000u)));
        on_ack(c, Bytes{newly}, smss);
        left -= newly;
      }
      ASSERT_LE(c.cwnd.count, before + 1000);
    }
    EXPECT_GE(c.cwnd.count, 28'000u);
  }
}

//= rfc5681#3.1
//= type=test
//# 5681:CC-11 half of the flight, at least two segments
//= rfc5681#3.2
//= type=test
//# 5681:CC-21 cwnd is three segments above it
TEST(Reno, EnterRecovery) {
  auto c = at(10'000, 1 << 30);
  begin_recovery(c, {Bytes{10'000}, smss});
  EXPECT_EQ(c.ssthresh.count, 5000u);
  EXPECT_EQ(c.cwnd.count, 8000u);
  auto small = at(3000, 1 << 30);
  begin_recovery(small, {Bytes{3000}, smss});
  EXPECT_EQ(small.ssthresh.count, 2000u);
}

//= rfc6582#3.2
//= type=test
//# 6582:NR-2 a segment is added back only if at least one was acknowledged
TEST(Reno, PartialAck) {
  auto c = at(8000, 5000);
  on_partial_ack(c, Bytes{999}, smss);
  EXPECT_EQ(c.cwnd.count, 7001u);
  on_partial_ack(c, Bytes{1000}, smss);
  EXPECT_EQ(c.cwnd.count, 7001u);
  on_partial_ack(c, Bytes{60'000}, smss);
  EXPECT_EQ(c.cwnd.count, 1000u);
}

//= rfc6582#3.2
//= type=test
//# 6582:NR-3 min(ssthresh, max(FlightSize, SMSS) + SMSS)
TEST(Reno, FullAck) {
  for (auto const& [flight, expected] :
       {std::pair{0u, 2000u}, {500u, 2000u}, {3000u, 4000u}, {9000u, 5000u}}) {
    auto c = at(8000, 5000);
    c.recovering = true;
    leave_recovery(c, {Bytes{flight}, smss});
    EXPECT_EQ(c.cwnd.count, expected);
    EXPECT_FALSE(c.recovering);
  }
}

//= rfc5681#3.1
//= type=test
//# 5681:CC-12 one segment, whatever ssthresh is
TEST(Reno, Timeout) {
  auto c = at(20'000, 8000);
  on_timeout(c, smss);
  EXPECT_EQ(c.ssthresh.count, 8000u);
  EXPECT_EQ(c.cwnd.count, 1000u);
}

// Predecessor, defect 9: cwnd and ssthresh wrapped at 16 bits.
TEST(Reno, Defect09_NothingWraps) {
  auto c = at(60'000, 1 << 30);
  for (int i = 0; i < 10; ++i) {
    on_ack(c, smss, smss);
  }
  EXPECT_EQ(c.cwnd.count, 70'000u);
  begin_recovery(c, {Bytes{200'000}, smss});
  EXPECT_EQ(c.ssthresh.count, 100'000u);
  Bytes const huge{0x7fff'ffff};
  c = at(0x3fff'ff00, 0x3fff'ffff);
  for (int i = 0; i < 1000; ++i) {
    on_ack(c, huge, Bytes{65'495});
    ASSERT_LE(c.cwnd.count, 1u << 30);
    ASSERT_GE(c.cwnd.count, 0x3fff'ff00u);
  }
  inflate(c, {huge, Bytes{65'495}});
  EXPECT_LE(c.cwnd.count, 1u << 30);
  begin_recovery(c, {huge, Bytes{65'495}});
  EXPECT_EQ(c.ssthresh.count, 0x3fff'ffffu);
}

}  // namespace
}  // namespace lockstep::tcp::reno
