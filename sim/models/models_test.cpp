// Each model completes, through faults, and random_peer disturbs none of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/stack/statistics.hpp"
#include "sim/kernel/kernel.hpp"
#include "sim/kernel/seed_use.hpp"
#include "sim/kernel/snapshot.hpp"
#include "sim/models/pattern.hpp"
#include "sim/worlds/build.hpp"
#include "sim/worlds/nasty.hpp"

namespace lockstep::sim {
namespace {

LaneSpec usual_lane() {
  LaneSpec lane;
  lane.rate_bits_per_second = 20'000'000;
  lane.delay = Duration::milliseconds(3);
  return lane;
}

World world_with(const AppSpec& app) {
  World world = two_hosts(usual_lane());
  world.apps = {app};
  world.lane_faults = {fault_of_link("loss", Loss{{10'000'000}})};
  return world;
}

// Both ends of every flow have closed cleanly and read what the other wrote.
void expect_all_said(const Kernel& kernel, std::uint32_t flows) {
  std::uint32_t seen = 0;
  for (const Flow& flow : kernel.ledger().flows()) {
    if (flow.joined) {
      continue;
    }
    ++seen;
    FlowEnd const& opener = flow.end(Side::opener);
    FlowEnd const& acceptor = flow.end(Side::acceptor);
    EXPECT_EQ(opener.read, acceptor.written);
    EXPECT_EQ(acceptor.read, opener.written);
    EXPECT_TRUE(opener.intact && acceptor.intact);
    EXPECT_EQ(opener.cause, Cause::finished);
    EXPECT_EQ(acceptor.cause, Cause::finished);
  }
  EXPECT_EQ(seen, flows);
}

class EachModel : public testing::TestWithParam<const char*> {};

TEST_P(EachModel, TransfersAllDataAndClosesCleanly) {
  AppSpec app = app_of(GetParam(), 30'000);
  app.reply_bytes = 7'000;
  app.rounds = 3;
  app.flows = 3;
  app.repeat = 2;
  app.think = Duration::milliseconds(7);
  app.read_after = Duration::milliseconds(500);
  app.urgent_every = 2;
  for (bool const lend : {false, true}) {
    app.lend = lend;
    Kernel kernel(world_with(app), 3);
    EXPECT_EQ(kernel.run(), Ending::completed);
    bool const single = app.model == Name("mutual");
    expect_all_said(kernel, single ? 1 : 6);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, EachModel,
                         testing::Values("bulk", "echo", "chatter", "half_close", "slow_reader",
                                         "mutual"),
                         [](const auto& each) { return std::string(each.param); });

TEST(Mutual, OpensAndClosesAtOnce) {
  World world = two_hosts(usual_lane());
  world.apps = {app_of("mutual", 500)};
  Kernel kernel(world, 1);
  ASSERT_EQ(kernel.run(), Ending::completed);
  auto const& taken = kernel.host({0}).stack().statistics().tcp.transitions_taken;
  using tcp::State;
  EXPECT_EQ(taken[tcp::transition_index(State::syn_sent, State::syn_received)], 1u);
  EXPECT_EQ(taken[tcp::transition_index(State::fin_wait_1, State::closing)], 1u);
}

TEST(CloseMode, AnAbortIsReportedAsSuch) {
  AppSpec app = app_of("bulk", 300'000);
  app.close_mode = CloseMode::abort;
  World world = two_hosts(usual_lane());
  world.apps = {app};
  Kernel kernel(world, 1);
  ASSERT_EQ(kernel.run(), Ending::completed);
  EXPECT_EQ(kernel.ledger().flows()[0].end(Side::opener).cause, Cause::aborted);
  EXPECT_EQ(kernel.ledger().flows()[0].end(Side::acceptor).cause, Cause::reset);
}

TEST(Pattern, DistinguishesStreamsAndOffsets) {
  Pattern const pattern;
  std::uint32_t const one = Pattern::shift_of({1});
  std::uint32_t const two = Pattern::shift_of({2});
  EXPECT_TRUE(pattern.matches(one, 70'000, pattern.at(one, 70'000).first(1'000)));
  EXPECT_FALSE(pattern.matches(one, 70'001, pattern.at(one, 70'000).first(1'000)));
  EXPECT_FALSE(pattern.matches(one, 70'000 + 65'536, pattern.at(one, 70'000).first(1'000)));
  EXPECT_FALSE(pattern.matches(two, 70'000, pattern.at(one, 70'000).first(1'000)));
}

// A reader receives and detects a change that the checksum does not cover.
TEST(Integrity, AChecksumPreservingChangeIsFound) {
  World world = two_hosts(usual_lane());
  world.apps = {app_of("bulk", 300'000)};
  world.lane_faults = {fault_of_link("substitute", Substitute{{100'000'000}})};
  Kernel kernel(world, 1);
  ASSERT_EQ(kernel.run(), Ending::completed);
  EXPECT_FALSE(kernel.ledger().flows()[0].end(Side::acceptor).intact);
}

World attacked_world() {
  World world = two_hosts(usual_lane());
  world.links.clear();
  world.switches = {{"switch", 16}};
  StationSpec mallory;
  mallory.name = "mallory";
  mallory.model = "random_peer";
  mallory.address = IpAddress::v4(10, 0, 0, 66);
  mallory.every = Duration::microseconds(500);
  mallory.acts = 8'000;
  world.stations = {mallory};
  NodeRef const middle{NodeKind::learning_switch, 0};
  world.links = {{"a", {NodeKind::host, 0}, middle, usual_lane(), usual_lane()},
                 {"b", {NodeKind::host, 1}, middle, usual_lane(), usual_lane()},
                 {"m", {NodeKind::station, 0}, middle, usual_lane(), usual_lane()}};
  give_macs(world);
  AppSpec echo = app_of("echo", 400'000);
  echo.repeat = 4;
  world.apps = {app_of("bulk", 8'000'000), echo};
  world.apps[1].port = {5'001};
  return world;
}

TEST(RandomPeer, DoesNotDisturbOtherStreams) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Kernel kernel(attacked_world(), seed);
    ASSERT_EQ(kernel.run(), Ending::completed);
    std::uint32_t foreign = 0;
    for (const Flow& flow : kernel.ledger().flows()) {
      foreign += flow.foreign ? 1 : 0;
      if (!flow.foreign) {
        EXPECT_EQ(flow.end(Side::opener).cause, Cause::finished);
        EXPECT_TRUE(flow.ends[0].intact && flow.ends[1].intact);
      }
    }
    // It had an effect: connections of its own were established, and many kinds of frames dropped.
    EXPECT_GT(foreign, 0u);
    std::uint32_t kinds = 0;
    for (std::uint32_t i = 0; i < drop_count; ++i) {
      kinds += kernel.host({1}).stack().statistics().drops.of(static_cast<Drop>(i)) != 0 ? 1 : 0;
    }
    EXPECT_GT(kinds, 10u);
  }
}

TEST(Snapshot, ANastyWorldContinuesTheSameFromAnySnapshot) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    Kernel whole(nasty_world(seed), seed);
    whole.run();
    Kernel cut(nasty_world(seed), seed);
    std::uint64_t const middle = whole.steps() * (seed % 5 + 1) / 7;
    for (std::uint64_t i = 0; i < middle; ++i) {
      cut.step();
    }
    auto const kept = cut.snapshot();
    cut.run();
    Kernel fresh(nasty_world(seed), seed);
    fresh.restore(*kept);
    fresh.run();
    ASSERT_EQ(cut.fingerprint(), whole.fingerprint()) << "seed " << seed;
    ASSERT_EQ(fresh.fingerprint(), whole.fingerprint()) << "seed " << seed;
  }
}

TEST(Snapshot, AnAttackedWorldContinuesTheSame) {
  Kernel whole(attacked_world(), 2);
  whole.run();
  Kernel cut(attacked_world(), 2);
  for (std::uint64_t i = 0; i < whole.steps() / 2; ++i) {
    cut.step();
  }
  Kernel fresh(attacked_world(), 2);
  fresh.restore(*cut.snapshot());
  fresh.run();
  EXPECT_EQ(fresh.fingerprint(), whole.fingerprint());
}

// What a run shows of its draws: when each connection began, and how much it sent.
std::vector<std::pair<std::uint64_t, std::uint64_t>> drawn_in(const World& world,
                                                              std::uint64_t seed) {
  Kernel kernel(world, seed);
  EXPECT_EQ(kernel.run(), Ending::completed);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> out;
  for (const Flow& flow : kernel.ledger().flows()) {
    out.emplace_back(flow.end(Side::opener).began.ns, flow.end(Side::opener).written);
  }
  return out;
}

World drawing_world() {
  World world = two_hosts(usual_lane());
  AppSpec app = app_of("bulk", 1);
  app.flows = 4;
  app.draws.start.kind = DrawKind::uniform;
  app.draws.start.most = 1'000'000'000;
  app.draws.bytes.kind = DrawKind::exponential;
  app.draws.bytes.mean = 20'000;
  world.apps = {app};
  return world;
}

TEST(Draws, StartAndSizeComeFromTheSeed) {
  auto const first = drawn_in(drawing_world(), 1);
  EXPECT_EQ(first, drawn_in(drawing_world(), 1));
  EXPECT_NE(first, drawn_in(drawing_world(), 2));
  ASSERT_EQ(first.size(), 4u);
  for (auto const& [began, written] : first) {
    EXPECT_LE(began, 1'000'000'000u);
    EXPECT_NE(written, 1u);
  }
}

// Another application, or a fault that draws, changes neither.
TEST(Draws, OtherDrawsDoNotMoveThem) {
  World world = drawing_world();
  auto const alone = drawn_in(world, 1);
  world.lane_faults = {fault_of_link("loss", Loss{{10'000'000}})};
  EXPECT_EQ(alone, drawn_in(world, 1));
  AppSpec other = world.apps[0];
  other.name = "other";
  other.port = Port{6'000};
  world.apps.push_back(other);
  auto const both = drawn_in(world, 1);
  EXPECT_EQ(both.size(), 8u);
  for (auto const& each : alone) {
    EXPECT_NE(std::find(both.begin(), both.end(), each), both.end());
  }
}

TEST(Draws, ArrivalsBeginWhetherOrNotOthersHaveEnded) {
  World world = two_hosts(usual_lane());
  AppSpec app = app_of("chatter", 100);
  app.flows = 30;
  app.rounds = 3;
  app.draws.arrivals = {ArrivalKind::poisson, Duration::milliseconds(10), {}, {}};
  app.draws.think.kind = DrawKind::exponential;
  app.draws.think.mean = 50'000'000;
  world.apps = {app};
  auto const drawn = drawn_in(world, 1);
  ASSERT_EQ(drawn.size(), 30u);
  std::uint64_t last = 0;
  for (auto const& [began, written] : drawn) {
    EXPECT_GE(began, last);
    EXPECT_EQ(written, 300u);
    last = began;
  }
  EXPECT_LT(last, 600'000'000u);
  world.apps[0].draws.think.mean = 1;
  auto const hurried = drawn_in(world, 1);
  for (std::size_t i = 0; i < 30; ++i) {
    EXPECT_EQ(hurried[i].first, drawn[i].first);
  }
}

TEST(Draws, SeedUsesNamesWhatDraws) {
  World world = two_hosts(usual_lane());
  world.apps = {app_of("bulk", 1)};
  world.lane_faults = {fault_of_link("always", Loss{{Probability::certain}})};
  EXPECT_TRUE(seed_uses(world).empty());
  world.lane_faults.push_back(fault_of_link("loss", Loss{{10}}));
  world.apps[0].draws.think.kind = DrawKind::exponential;
  auto const uses = seed_uses(world);
  ASSERT_EQ(uses.size(), 2u);
  EXPECT_EQ(uses[0].kind, "app");
  EXPECT_EQ(uses[1].name, Name("loss"));
}

}  // namespace
}  // namespace lockstep::sim
