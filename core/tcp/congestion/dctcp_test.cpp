// RFC 8257 as arithmetic: alpha, its windows, and the reduction by marks.
#include "core/tcp/congestion/dctcp.hpp"

#include <gtest/gtest.h>

namespace lockstep::tcp::dctcp {
namespace {

constexpr Bytes smss{1000};

struct Bench {
  CongestionVariables v;
  ControllerState state;
  Config config;
  Sequence una{5000};
  Bench() {
    congestion::Subject s{v, state, config, smss, {}};
    v.cwnd = {100'000};
    begin(s);
  }
  void ack(std::uint32_t newly, std::uint32_t flight, bool marked) {
    una = una + Bytes{newly};
    congestion::Acked acked;
    acked.newly = {newly};
    acked.una = una;
    acked.nxt = una + Bytes{flight};
    acked.marked = marked;
    congestion::Subject s{v, state, config, smss, {}};
    on_any_ack(s, acked);
  }
  std::uint32_t cut() {
    congestion::Subject s{v, state, config, smss, {}};
    return reduced(s, Bytes{80'000}, congestion::Signal::mark).count;
  }
};

//= rfc8257#3.3
//= type=test
//# 8257:DCTCP-5 alpha starts at 1 and decays by g, a sixteenth
//# 8257:DCTCP-8 cwnd * (1 - alpha / 2)
TEST(Dctcp, AlphaAndTheCut) {
  Bench bench;
  EXPECT_EQ(alpha_of(bench.v), alpha_one);
  EXPECT_EQ(bench.cut(), 50'000u);
  EXPECT_EQ(next_alpha(alpha_one, Bytes{1000}, Bytes{0}), alpha_one - alpha_one / 16);
  EXPECT_EQ(next_alpha(0, Bytes{1000}, Bytes{500}), alpha_one / 32);
  EXPECT_EQ(next_alpha(alpha_one, Bytes{1000}, Bytes{1000}), alpha_one);
}

//= rfc8257#4.2
//= type=test
//# 8257:DCTCP-13 alpha can reach 0 and never exceeds 1
TEST(Dctcp, AlphaReachesItsEnds) {
  std::uint32_t alpha = alpha_one;
  for (int i = 0; i < 300; ++i) {
    alpha = next_alpha(alpha, Bytes{1'000'000}, Bytes{});
  }
  EXPECT_EQ(alpha, 0u);
  for (int i = 0; i < 300; ++i) {
    alpha = next_alpha(alpha, Bytes{3}, Bytes{3});
    ASSERT_LE(alpha, alpha_one);
  }
  EXPECT_GT(alpha, alpha_one - 64);
}

//= rfc8257#3.3
//= type=test
//# 8257:DCTCP-6 octets by SEG.ACK, marked ones separately
//# 8257:DCTCP-7 the window ends with an ACK above SND.NXT at its start
TEST(Dctcp, ObservationWindow) {
  Bench bench;
  bench.ack(1'000, 9'000, false);
  std::uint32_t const before = alpha_of(bench.v);
  for (int i = 0; i < 9; ++i) {
    bench.ack(1'000, 9'000, i % 2 == 0);
    ASSERT_EQ(alpha_of(bench.v), before);
  }
  EXPECT_EQ(bench.state.dctcp.acked.count, 10'000u);
  EXPECT_EQ(bench.state.dctcp.marked.count, 5'000u);
  bench.ack(1'000, 9'000, true);
  EXPECT_EQ(alpha_of(bench.v), next_alpha(before, Bytes{11'000}, Bytes{6'000}));
  EXPECT_EQ(bench.state.dctcp.acked.count, 0u);
}

//= rfc8257#3.5
//= type=test
//# 8257:DCTCP-10 a loss halves the flight, however small alpha is
TEST(Dctcp, Loss) {
  Bench bench;
  bench.v.kept[0] = 0;
  EXPECT_EQ(bench.cut(), 100'000u);
  congestion::Subject s{bench.v, bench.state, bench.config, smss, {}};
  EXPECT_EQ(reduced(s, Bytes{80'000}, congestion::Signal::loss).count, 40'000u);
}

}  // namespace
}  // namespace lockstep::tcp::dctcp
