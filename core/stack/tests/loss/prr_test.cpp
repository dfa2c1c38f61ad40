// Proportional rate reduction on the wire: the examples of RFC 6937 section 3.1, also by RFC 9937.
#include "core/stack/testing/flow_kit.hpp"

namespace lockstep::testing {
namespace {

Config prr_config(bool on = true, bool conservative = false) {
  Config config = flow_config();
  config.tcp.sack = true;
  config.tcp.prr = on;
  config.tcp.prr_rfc6937 = true;
  config.tcp.prr_conservative = conservative;
  config.tcp.initial_window = tcp::InitialWindow::rfc6928;
  return config;
}

Peer sacking() {
  Peer peer;
  peer.sack = true;
  return peer;
}

// Twenty segments of 1000 octets in flight, from 10001 to 30001; cwnd is twenty segments as well.
class Example : public Flow {
 public:
  explicit Example(const Config& config) : Flow(config, sacking()) {
    write_octets(200'000);
    for (std::uint32_t number = 1001; number <= 10'001; number += 1000) {
      ack(number);
    }
    EXPECT_EQ(cwnd(), 20'000u);
    EXPECT_EQ(flight(), 20'000u);
    take();
  }
  // One character per ACK that SACKs the next segment, from `first` on (the first is 0): how many
  // retransmissions (R) and new segments (N) are sent.
  std::string row(std::uint32_t first) {
    std::string out;
    for (std::uint32_t i = first; i < 20; ++i) {
      std::uint32_t const sent = info().send.nxt.value;
      sack(10'001, {{10'001 + first * 1000, 11'001 + i * 1000}});
      std::string left;
      for (Out const& segment : take()) {
        left += segment.absolute.distance_from(Sequence{sent}) < 0 ? "R" : "N";
      }
      out += (i == first ? "" : " ") + (left.empty() ? "-" : left);
    }
    return out;
  }
};

//= rfc6937#3.1
//= type=test
//# 6937:PRR-7 one loss: about one segment per second ACK, ssthresh at the end
//= rfc6937#3
//= type=test
//# 6937:PRR-1, 6937:PRR-2, 6937:PRR-3 in proportion, from the first ACK on
// The RFC's row counts segments, rounded up, and RecoverFS without the two of limited transmit;
// here octets are counted, so the first one waits until a whole segment is due.
TEST(Prr, OneLoss) {
  Example prr(prr_config());
  EXPECT_EQ(prr.row(1), "N N R - - - N - N - N - N - - - N N N");
  EXPECT_EQ(prr.info().pipe.count, 10'000u);
}

// RFC 6675 only: half a window of silence, then one segment per ACK. (The two of limited transmit
// are not part of the flight size, as RFC 5681 requires: ssthresh is ten, not eleven as in the
// example.)
TEST(Prr, OneLossWithoutIt) {
  Example off(prr_config(false));
  EXPECT_EQ(off.row(1), "N N R - - - - - - - - - N N N N N N N");
}

//= rfc6937#3
//= type=test
//# 6937:PRR-4, 6937:PRR-5, 6937:PRR-6 below ssthresh: one segment more than was delivered
TEST(Prr, FifteenLosses) {
  Example prr(prr_config());
  EXPECT_EQ(prr.row(15), "N N RR RR RR");
}

//= rfc6937#3
//= type=test
//# 6937:PRR-5 or, conservatively, exactly what was delivered
//= rfc6937#4
//= type=test
//# 6937:PRR-8 and no more
TEST(Prr, FifteenLossesConservatively) {
  Example prr(prr_config(true, true));
  EXPECT_EQ(prr.row(15), "N N R R R");
}

TEST(Prr, FifteenLossesWithoutIt) {
  Example off(prr_config(false));
  EXPECT_EQ(off.row(15), "N N RRRRRR R R");
}

// By RFC 9937, the default.
Config prr9937_config() {
  Config config = prr_config();
  config.tcp.prr_rfc6937 = false;
  return config;
}

//= rfc9937#6.1
//= type=test
//# 9937:PRR-1 both counters start at zero, ...
//# 9937:PRR-2 and the flight excludes what the two previous ACKs SACKed
//= rfc9937#6.2
//= type=test
//# 9937:PRR-3, 9937:PRR-4, 9937:PRR-9 so one segment per second ACK, from the first ACK on
//= rfc9937#6.3
//= type=test
//# 9937:PRR-11 including the retransmission
TEST(Prr, OneLossByRfc9937) {
  Example prr(prr9937_config());
  EXPECT_EQ(prr.row(1), "N N R - - N - N - N - N - N - N - - N");
  EXPECT_EQ(prr.info().pipe.count, 10'000u);
}

//= rfc9937#6.2
//= type=test
//# 9937:PRR-5 while losses continue no more is sent than is delivered
TEST(Prr, FifteenLossesByRfc9937) {
  Example prr(prr9937_config());
  EXPECT_EQ(prr.row(15), "N N R R R");
}

//= rfc9937#6.2
//= type=test
//# 9937:PRR-6 an ACK that advances SND.UNA without a new loss permits one more segment
//# 9937:PRR-7 up to ssthresh
TEST(Prr, SafeAcksAreSlowStartByRfc9937) {
  Example prr(prr9937_config());
  prr.row(15);
  std::string left;
  for (std::uint32_t number = 11'001; number <= 16'001; number += 1000) {
    prr.sack(number, {{25'001, 30'001}});
    left += (left.empty() ? "" : " ") + std::to_string(prr.take().size());
    EXPECT_LE(prr.info().pipe.count, prr.ssthresh());
  }
  EXPECT_EQ(left, "2 2 2 2 2 1");
}

//= rfc9937#6.4
//= type=test
//# 9937:PRR-12 cwnd at the end of recovery
TEST(Prr, EndsAtSsthresh) {
  Example prr(prr9937_config());
  prr.row(1);
  std::uint32_t const threshold = prr.ssthresh();
  prr.ack(prr.info().send.nxt.value - prr.device_iss.value);
  EXPECT_EQ(prr.cwnd(), threshold);
  EXPECT_FALSE(prr.info().fast_recovery);
}

}  // namespace
}  // namespace lockstep::testing
