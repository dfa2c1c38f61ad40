// The controllers on the wire: the same losses and round trips under each.
#include <gtest/gtest.h>

#include "core/stack/testing/flow_kit.hpp"

namespace lockstep::testing {
namespace {

using tcp::Congestion;

Config with(Congestion controller, bool hystart = false) {
  Config config = flow_config();
  config.tcp.congestion = controller;
  config.tcp.hystart = hystart;
  config.tcp.initial_window = tcp::InitialWindow::rfc6928;
  return config;
}

constexpr Peer far{1000, 65535, Duration::milliseconds(100)};

// Ten segments are in flight and the first is lost.
std::uint32_t ssthresh_after_loss(Congestion controller) {
  Flow flow(with(controller), far);
  flow.write_octets(100'000);
  EXPECT_EQ(flow.flight(), 10'000u);
  flow.duplicates(3);
  EXPECT_TRUE(flow.info().fast_recovery);
  return flow.ssthresh();
}

//= rfc9438#4.6
//= type=test
//# 9438:CUBIC-16 CUBIC reduces to seven tenths, Reno to half
//= rfc8257#3.5
//= type=test
//# 8257:DCTCP-10 and DCTCP to half
TEST(Congestion, SsthreshAfterALoss) {
  EXPECT_EQ(ssthresh_after_loss(Congestion::reno), 5000u);
  EXPECT_EQ(ssthresh_after_loss(Congestion::cubic), 7000u);
  EXPECT_EQ(ssthresh_after_loss(Congestion::dctcp), 5000u);
}

//= rfc9438#4.8
//= type=test
//# 9438:CUBIC-11 a timeout: one segment, and ssthresh reduced by the same factor
TEST(Congestion, CwndAfterATimeout) {
  Flow flow(with(Congestion::cubic), far);
  flow.write_octets(100'000);
  flow.time_out();
  EXPECT_EQ(flow.cwnd(), 1000u);
  EXPECT_EQ(flow.ssthresh(), 7000u);
  EXPECT_EQ(flow.info().w_max.count, 0u);
  Flow again(with(Congestion::cubic), far);
  again.write_octets(100'000);
  again.duplicates(3);
  again.ack(10'001);
  EXPECT_EQ(again.info().w_max.count, 10'000u);
  again.time_out();
  EXPECT_EQ(again.info().w_max.count, 0u) << "what an earlier loss left is forgotten";
}

// Rounds of ACKs, one per segment, with an RTT that grows by ten milliseconds per round.
std::uint32_t ssthresh_after_growing_round_trips(bool hystart, std::uint32_t rounds) {
  Config config = with(Congestion::reno, hystart);
  Flow flow(config, far);
  flow.write_octets(400'000);
  for (std::uint32_t round = 0; round < rounds; ++round) {
    flow.advance(Duration::milliseconds(100 + 20 * round));
    std::uint32_t const end = flow.info().send.nxt.value - flow.device_iss.value;
    while (flow.acked < end && flow.acked + 1000 <= flow.written) {
      flow.ack(flow.acked + 1000);
    }
  }
  return flow.ssthresh();
}

//= rfc9406#4.2
//= type=test
//# 9406:HSPP-1, 9406:HSPP-7 slow start ends when the RTT grows
TEST(Congestion, SlowStartEndsWithoutALoss) {
  EXPECT_EQ(ssthresh_after_growing_round_trips(false, 9), 1u << 30);
  EXPECT_LT(ssthresh_after_growing_round_trips(true, 9), 1u << 30);
}

//= rfc9438#5.8
//= type=test
//# 9438:CUBIC-24 an application that does not use cwnd does not let it grow
TEST(Congestion, AnIdleApplicationGainsNothing) {
  Flow busy(with(Congestion::cubic), far);
  busy.write_octets(100'000);
  for (std::uint32_t i = 1; i <= 10; ++i) {
    busy.ack(1000 * i + 1);
  }
  EXPECT_GT(busy.cwnd(), 10'000u) << "one that fills it does";
  // One round that filled cwnd does not count for the following ones.
  busy.ack(busy.info().send.nxt.value - busy.device_iss.value);
  while (busy.acked <= busy.written) {
    busy.ack(std::min(busy.info().send.nxt.value - busy.device_iss.value, busy.written + 1));
    busy.advance(Duration::milliseconds(100));
    if (busy.acked == busy.written + 1) {
      break;
    }
  }
  std::uint32_t const before = busy.cwnd();
  for (std::uint32_t i = 0; i < 20; ++i) {
    busy.write_octets(1000);
    busy.advance(Duration::milliseconds(100));
    busy.ack(busy.written + 1);
  }
  EXPECT_LE(busy.cwnd(), before + 2000);
  for (auto const& [controller, grows] :
       {std::pair{Congestion::reno, true}, {Congestion::cubic, false}}) {
    Flow flow(with(controller), far);
    for (std::uint32_t i = 0; i < 20; ++i) {
      flow.write_octets(1000);
      flow.advance(Duration::milliseconds(100));
      flow.ack(flow.written + 1);
    }
    EXPECT_EQ(flow.cwnd() > 10'000, grows);
  }
}

}  // namespace
}  // namespace lockstep::testing
