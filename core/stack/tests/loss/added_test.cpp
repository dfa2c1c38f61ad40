// Congestion controllers that a program adds, by the interface in C.
#include "core/tcp/congestion/added.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "core/stack/testing/flow_kit.hpp"

namespace lockstep::testing {
namespace {

std::uint64_t half(lockstep_connection* c, lockstep_signal) { return c->cwnd / 2; }

// Counts octets in its state; cwnd grows by two segments for each ACK.
void count_and_grow(lockstep_connection* c, const lockstep_ack* ack) {
  c->state[1] += ack->newly;
  c->cwnd += 2 * c->mss;
}

// cwnd is what the test has written here.
std::uint64_t wanted = 0;
std::vector<lockstep_ack> acks;
std::vector<lockstep_connection> views;
void set_wanted(lockstep_connection* c, const lockstep_ack* ack) {
  acks.push_back(*ack);
  views.push_back(*c);
  c->cwnd = wanted;
}
void start_wanted(lockstep_connection* c) { c->cwnd = wanted; }

constexpr lockstep_controller of(const char* name,
                                 void (*on_ack)(lockstep_connection*, const lockstep_ack*)) {
  return {LOCKSTEP_CONTROLLER_VERSION, 2, 0, name, nullptr, on_ack, half, nullptr};
}

// Changes nothing but its state.
std::uint64_t step = 0;
std::uint64_t noted = 0;
void note(lockstep_connection* c, const lockstep_ack*) {
  c->state[1] += step;
  noted = c->state[1];
}

constexpr lockstep_controller noting = of("noting", note);
constexpr lockstep_controller counting = of("counting", count_and_grow);
constexpr lockstep_controller owning = [] {
  lockstep_controller out = of("owning", set_wanted);
  out.flags = LOCKSTEP_CONTROLLER_OWNS_WINDOW;
  out.begin = start_wanted;
  return out;
}();
tcp::AddedController const first{counting};
tcp::AddedController const second{owning};
std::uint64_t rate = 1'000'000'000;
constexpr lockstep_controller pacing = [] {
  lockstep_controller out = owning;
  out.name = "pacing";
  out.flags |= LOCKSTEP_CONTROLLER_PACES;
  out.begin = [](lockstep_connection* c) {
    c->cwnd = wanted;
    c->pacing_rate = rate;
  };
  return out;
}();
tcp::AddedController const third{noting};
tcp::AddedController const fourth{pacing};

Config with(std::string_view name) {
  Config config = flow_config();
  config.tcp.sack = true;
  config.tcp.rack = true;
  config.tcp.tail_probe = false;
  for (std::uint32_t i = 0; i < tcp::congestion_words().size(); ++i) {
    if (tcp::congestion_words()[i] == name) {
      config.tcp.congestion = static_cast<tcp::Congestion>(i);
    }
  }
  EXPECT_TRUE(tcp::is_added(config.tcp.congestion)) << name;
  return config;
}

constexpr Peer far{1000, 65535, Duration::milliseconds(100)};
constexpr Peer sacking{1000, 65535, Duration::milliseconds(100), true};

TEST(Added, IsRefusedWithItsReason) {
  lockstep_controller odd = of("odd", count_and_grow);
  EXPECT_EQ(tcp::add_controller(counting), "its name is taken by another controller");
  odd.name = "cubic";
  EXPECT_EQ(tcp::add_controller(odd), "its name is taken by another controller");
  odd.name = "Odd";
  EXPECT_NE(tcp::add_controller(odd).find("lower-case"), std::string_view::npos);
  odd.name = nullptr;
  EXPECT_NE(tcp::add_controller(odd).find("lower-case"), std::string_view::npos);
  odd = of("odd", nullptr);
  EXPECT_NE(tcp::add_controller(odd).find("on_ack"), std::string_view::npos);
  odd = of("odd", count_and_grow);
  odd.version = 2;
  EXPECT_NE(tcp::add_controller(odd).find("version"), std::string_view::npos);
  odd = of("odd", count_and_grow);
  odd.state_words = 65;
  EXPECT_NE(tcp::add_controller(odd).find("too large"), std::string_view::npos);
  odd = of("odd", count_and_grow);
  odd.flags = 4;
  EXPECT_NE(tcp::add_controller(odd).find("flag"), std::string_view::npos);
}

TEST(Added, GrowsCwndOutsideRecoveryOnly) {
  Flow flow(with("counting"), far);
  flow.write_octets(100'000);
  std::uint32_t const before = flow.cwnd();
  flow.ack(1'001);
  EXPECT_EQ(flow.cwnd(), before + 2'000);
  flow.duplicates(3);
  EXPECT_TRUE(flow.info().fast_recovery);
  EXPECT_EQ(flow.ssthresh(), (before + 2'000) / 2);
  std::uint32_t const recovering = flow.cwnd();
  flow.ack(2'001);
  EXPECT_LE(flow.cwnd(), recovering) << "the recovery sets it, not the controller";
}

TEST(Added, HasItsStateInFingerprintsAndSnapshots) {
  Flow flow(with("counting"), far);
  flow.write_octets(100'000);
  std::vector<std::byte> kept(flow.stack.snapshot_bytes());
  flow.stack.snapshot(kept);
  std::uint64_t const print = flow.stack.fingerprint();
  std::uint32_t const cwnd = flow.cwnd();
  flow.ack(1'001);
  std::uint64_t const later = flow.stack.fingerprint();
  EXPECT_EQ(flow.stack.restore(kept), Refusal::none);
  EXPECT_EQ(flow.stack.fingerprint(), print);
  EXPECT_EQ(flow.cwnd(), cwnd);
  flow.ack(1'001);
  EXPECT_EQ(flow.stack.fingerprint(), later);
}

TEST(Added, IsInFingerprintsByItsStateAlone) {
  const auto print_with = [](std::uint64_t each) {
    step = each;
    Flow flow(with("noting"), far);
    flow.write_octets(100'000);
    flow.ack(1'001);
    return flow.stack.fingerprint();
  };
  EXPECT_EQ(print_with(1), print_with(1));
  EXPECT_NE(print_with(1), print_with(2));
}

TEST(Added, OwnsTheWindowInRecoveryAndAfterATimeout) {
  wanted = 7'000;
  Flow flow(with("owning"), sacking);
  flow.write_octets(100'000);
  EXPECT_EQ(flow.flight(), 7'000u);
  for (std::uint32_t end : {2'001u, 3'001u, 4'001u, 5'001u}) {
    flow.sack(1, {{1'001, end}});
  }
  EXPECT_TRUE(flow.info().fast_recovery);
  EXPECT_EQ(flow.cwnd(), 7'000u);
  wanted = 9'000;
  flow.sack(1, {{1'001, 6'001}});
  EXPECT_EQ(flow.cwnd(), 9'000u);
  flow.time_out();
  EXPECT_EQ(flow.cwnd(), 9'000u);
}

TEST(Added, GetsRateSamplesOfSackedAndOfRetransmittedSegments) {
  wanted = 5'000;
  acks.clear();
  views.clear();
  Flow flow(with("owning"), sacking);
  flow.write_octets(100'000);
  flow.advance(Duration::milliseconds(100));
  flow.sack(1, {{1'001, 3'001}});
  ASSERT_EQ(acks.size(), 1u);
  EXPECT_EQ(acks[0].newly, 0u);
  EXPECT_EQ(acks[0].delivered, 2'000u);
  EXPECT_EQ(acks[0].sample_delivered, 2'000u);
  EXPECT_EQ(acks[0].sample_interval, 100'000'000u);
  EXPECT_EQ(acks[0].sample_rtt, 100'000'000u);
  EXPECT_EQ(acks[0].sample_prior, 1u);
  EXPECT_EQ(acks[0].before, 5'000u);
  flow.sack(1, {{1'001, 5'001}});
  EXPECT_EQ(acks[1].lost, 1'000u);
  EXPECT_EQ(views[1].recovery, LOCKSTEP_RECOVERY);
  EXPECT_EQ(views[1].lost, 1'000u);
  flow.advance(Duration::milliseconds(100));
  flow.ack(5'001);
  EXPECT_EQ(acks[2].newly, 5'000u);
  EXPECT_EQ(acks[2].delivered, 1'000u);
  EXPECT_EQ(acks[2].sample_rtt, 0u) << "the segment was retransmitted";
  EXPECT_EQ(acks[2].sample_interval, 100'000'000u);
}

TEST(Added, IsChosenWithDataInFlight) {
  wanted = 6'000;
  Config config = with("owning");
  config.tcp.accounts = true;
  Flow flow(config, sacking);
  flow.write_octets(100'000);
  flow.advance(Duration::milliseconds(100));
  flow.sack(3'001, {{4'001, 6'001}});
  flow.sack(3'001, {{4'001, 8'001}});  // 3001 is lost
  flow.advance(Duration::milliseconds(100));
  acks.clear();
  views.clear();
  // 8001 to 14000 are in flight, and a retransmission.
  ASSERT_EQ(flow.stack.set(flow.id, {SettingKind::congestion,
                                     static_cast<std::uint64_t>(config.tcp.congestion)}),
            Refusal::none);
  flow.ack(10'001);
  ASSERT_EQ(acks.size(), 1u);
  EXPECT_EQ(views[0].delivered, 10'001u);
  EXPECT_EQ(views[0].lost, 1'000u);
  EXPECT_EQ(acks[0].lost, 0u) << "found before the controller began";
  EXPECT_EQ(acks[0].sample_lost, 0u);
  EXPECT_EQ(acks[0].sample_prior + acks[0].sample_delivered, 10'001u);
  EXPECT_EQ(acks[0].sample_interval, 100'000'000u);
}

TEST(Added, IsChosenWithoutTheWordsOfTheOneBefore) {
  step = 7;
  Config config = with("noting");
  config.tcp.accounts = true;
  Flow flow(config, far);
  flow.write_octets(100'000);
  flow.ack(1'001);
  flow.ack(2'001);
  EXPECT_EQ(noted, 14u);
  ASSERT_EQ(flow.stack.set(flow.id, {SettingKind::congestion,
                                     static_cast<std::uint64_t>(config.tcp.congestion)}),
            Refusal::none);
  flow.ack(3'001);
  EXPECT_EQ(noted, 7u);
}

TEST(Added, GetsLimitedOnlyWithAnAckOfNewData) {
  wanted = 50'000;
  Flow flow(with("owning"), sacking);
  flow.write_octets(6'000);
  acks.clear();
  flow.ack(1'001);
  flow.sack(1'001, {{3'001, 4'001}});
  ASSERT_EQ(acks.size(), 2u);
  EXPECT_EQ(acks[0].limited, 1u);
  EXPECT_EQ(acks[1].limited, 0u) << "nothing new is acknowledged";
}

// At 1 GB/s twelve segments are in flight, and data for more is queued.
struct Paced : Flow {
  explicit Paced(const Peer& far_side = sacking, std::uint64_t octets_per_second = 1'000'000'000)
      : Flow(configured(octets_per_second), far_side) {
    write_octets(100'000);
  }
  static Config configured(std::uint64_t octets_per_second) {
    wanted = 12'000;
    rate = octets_per_second;
    return with("pacing");
  }
};

TEST(Added, PacesInQuantaOfAThirdOfTheWindow) {
  Paced flow;
  EXPECT_EQ(flow.flight(), 12'000u);
  flow.segments();
  flow.advance(Duration::milliseconds(100));
  for (std::uint32_t const number : {1'001u, 2'001u, 3'001u}) {
    flow.ack(number);
    EXPECT_EQ(flow.segments(), "");
  }
  flow.ack(4'001);
  EXPECT_EQ(flow.segments(), "12001+1000 13001+1000 14001+1000 15001+1000");
}

TEST(Added, PacesWithoutWaitingForAFarAck) {
  Paced flow;
  flow.segments();
  flow.advance(Duration::milliseconds(30));
  flow.ack(1'001);
  EXPECT_EQ(flow.segments(), "12001+1000");
}

TEST(Added, PacesWithoutWaitingInRecovery) {
  Paced flow;
  flow.segments();
  flow.advance(Duration::milliseconds(100));
  flow.sack(1, {{1'001, 4'001}});
  EXPECT_EQ(flow.segments(), "1+1000 12001+1000 13001+1000 14001+1000");
}

// A connection without SACK has no scoreboard, which tells how far the next ACK is.
TEST(Added, PacesWithoutWaitingIfThePeerHasNoSack) {
  Paced flow(far);
  flow.segments();
  flow.advance(Duration::milliseconds(100));
  flow.ack(1'001);
  EXPECT_EQ(flow.segments(), "12001+1000");
}

// From 150,000 octets per second on; the first quantum is ahead of the pace.
TEST(Added, PacesInPairs) {
  const auto times_of = [](std::uint64_t octets_per_second) {
    Paced flow(sacking, octets_per_second);
    Instant const begun = flow.now;
    flow.advance(Duration::milliseconds(50));
    std::vector<std::uint64_t> out;
    for (Out const& segment : flow.take()) {
      out.push_back(segment.at.since(begun).ns / 1'000'000);
    }
    return out;
  };
  EXPECT_EQ(times_of(200'000),
            (std::vector<std::uint64_t>{0, 0, 5, 5, 15, 15, 25, 25, 35, 35, 45, 45}));
  EXPECT_EQ(times_of(100'000), (std::vector<std::uint64_t>{0, 10, 20, 30, 40, 50}));
}

// The first of a recovery leaves at once.
TEST(Added, PacesRetransmissionsSoThatLateDataCanArrive) {
  for (bool const late : {true, false}) {
    Paced flow(sacking, 100'000);
    flow.advance(Duration::milliseconds(105));
    flow.segments();
    flow.sack(1, {{2'001, 5'001}});
    EXPECT_EQ(flow.segments(), "1+1000");
    if (late) {
      flow.ack(5'001);
    }
    flow.advance(Duration::milliseconds(14));
    EXPECT_EQ(flow.segments(), "");
    flow.advance(Duration::milliseconds(1));
    EXPECT_EQ(flow.segments(), late ? "11001+1000" : "1001+1000");
    flow.advance(Duration::milliseconds(10));
    EXPECT_EQ(flow.segments(), late ? "12001+1000" : "11001+1000");
  }
}

TEST(Added, AWindowOutOfRangeIsReplacedAndReported) {
  wanted = 5'000;
  Flow flow(with("owning"), far);
  flow.write_octets(100'000);
  EXPECT_FALSE(flow.stack.controller_fault().found);
  wanted = 0;
  flow.ack(1'001);
  EXPECT_EQ(flow.cwnd(), 1'000u);
  EXPECT_TRUE(flow.stack.controller_fault().found);
  EXPECT_EQ(flow.stack.controller_fault().cwnd, 0u);
  EXPECT_EQ(flow.stack.controller_fault().at, flow.now);
  wanted = std::uint64_t{1} << 40;
  flow.ack(2'001);
  EXPECT_EQ(flow.cwnd(), LOCKSTEP_CONTROLLER_CWND_MAX);
  EXPECT_EQ(flow.stack.controller_fault().cwnd, 0u) << "the first one";
}

}  // namespace
}  // namespace lockstep::testing
