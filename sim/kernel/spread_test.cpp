// Hosts with several shards: flows stay with their shard, mis-steered frames reach it, no resets.
#include "sim/kernel/spread.hpp"

#include <gtest/gtest.h>

#include "core/stack/statistics.hpp"
#include "core/stack/testing/test_keys.hpp"
#include "sim/checkers/conservation.hpp"
#include "sim/checkers/rfc.hpp"
#include "sim/kernel/frame_hash.hpp"
#include "sim/kernel/kernel.hpp"
#include "sim/worlds/build.hpp"

namespace lockstep::sim {
namespace {

struct Shape {
  std::uint32_t client = 1;
  std::uint32_t server = 1;
  Probability missteer = {};
  std::uint32_t flows = 200;
};

World spread_world(const Shape& shape) {
  LaneSpec lane;
  lane.rate_bits_per_second = 1'000'000'000;
  lane.delay = Duration::microseconds(100);
  World world = two_hosts(lane);
  for (HostSpec& host : world.hosts) {
    host.config.tcp.connections_max = Count{256};
    host.config.tcp.active_max = Count{256};
    host.config.tcp.time_wait_max = Count{256};
    host.config.tcp.blocks_max = Count{512};
    host.config = test_keys(host.config);  // independent of the seed
  }
  AppSpec app = app_of("echo", 20'000);
  app.flows = shape.flows;
  app.stagger = Duration::microseconds(50);
  world.apps = {app};
  give_macs(world);
  if (shape.client > 1) {
    spread(world, {{0}, {shape.client}, shape.missteer});
  }
  if (shape.server > 1) {
    spread(world, {{1}, {shape.server}, shape.missteer});
  }
  return world;
}

// Runs to the end under the checkers and expects every octet back intact.
void expect_echoed(Kernel& kernel, std::uint32_t flows) {
  Findings findings;
  ConservationChecker conservation(findings);
  RfcChecker rfc(kernel.world(), findings);
  kernel.observe(conservation);
  kernel.observe(rfc);
  EXPECT_EQ(kernel.run(), Ending::completed);
  for (const Finding& finding : findings.kept()) {
    ADD_FAILURE() << finding.where.view() << ": " << finding.what << ": expected "
                  << finding.expected << ", found " << finding.found;
  }
  EXPECT_EQ(kernel.ledger().flows().size(), flows);
  for (const Flow& flow : kernel.ledger().flows()) {
    EXPECT_FALSE(flow.foreign);
    for (Side const side : {Side::opener, Side::acceptor}) {
      EXPECT_EQ(flow.end(side).read, 20'000u);
      EXPECT_TRUE(flow.end(side).intact);
      EXPECT_EQ(flow.end(side).cause, Cause::finished);
      Config const& config = kernel.host(flow.end(side).host).stack().config();
      EXPECT_EQ(shard_of(flow.tuple, {config.tcp.shards.value}).value, config.tcp.shard.value);
    }
  }
}

struct Sums {
  std::uint64_t forwarded = 0;
  std::uint64_t wrong = 0;
  std::uint64_t resets = 0;
  std::uint32_t idle_shards = 0;
};

Sums sums_of(const Kernel& kernel) {
  Sums sums;
  for (std::uint32_t i = 0; i < kernel.host_count(); ++i) {
    Statistics const& statistics = kernel.host({i}).stack().statistics();
    sums.forwarded += kernel.host({i}).state().frames_forwarded;
    sums.wrong += statistics.drops.of(Drop::wrong_shard);
    sums.resets += statistics.drops.of(Drop::tcp_closed);
    sums.idle_shards += statistics.tcp.bytes_delivered == 0 ? 1 : 0;
  }
  return sums;
}

TEST(Spread, AServerOfFourShards) {
  Kernel kernel(spread_world({.server = 4}), 1);
  expect_echoed(kernel, 200);
  Sums const sums = sums_of(kernel);
  EXPECT_EQ(sums.forwarded, 0u);
  EXPECT_EQ(sums.wrong, 0u);
  EXPECT_EQ(sums.resets, 0u);
  EXPECT_EQ(sums.idle_shards, 0u);
}

TEST(Spread, ConnectChoosesFlowsOfTheOwnShard) {
  Kernel kernel(spread_world({.client = 7, .server = 3}), 2);
  expect_echoed(kernel, 200);
  EXPECT_EQ(sums_of(kernel).forwarded, 0u);
  EXPECT_EQ(sums_of(kernel).idle_shards, 0u);
}

TEST(Spread, ThirtySixShardsOnBothSidesOfAWrongSteeringPort) {
  Kernel kernel(spread_world({.client = 36, .server = 36, .missteer = {100'000'000}, .flows = 720}),
                3);
  expect_echoed(kernel, 720);
  Sums const sums = sums_of(kernel);
  EXPECT_GT(sums.forwarded, 1000u);
  EXPECT_EQ(sums.wrong, 0u);
  EXPECT_EQ(sums.resets, 0u);
  EXPECT_EQ(sums.idle_shards, 0u);
}

TEST(Spread, AllDataArrivesWithEveryFrameMisSteered) {
  Kernel kernel(spread_world({.server = 2, .missteer = {Probability::certain}, .flows = 20}), 4);
  expect_echoed(kernel, 20);
  Sums const sums = sums_of(kernel);
  EXPECT_GT(sums.forwarded, 100u);
  EXPECT_EQ(sums.wrong + sums.resets, 0u);
}

// A hash of every frame that hosts send, with its sender and its time.
class SentFrames final : public Observer {
 public:
  void sent(const Kernel&, const FrameNote& note) override {
    hash = frame_hash({note.at, note.node.index, note.bytes}, hash);
  }
  std::uint64_t hash = 0;
};

TEST(Spread, TheSameSeedIsTheSameRun) {
  World const world = spread_world({.server = 5, .missteer = {200'000'000}, .flows = 40});
  Kernel once(world, 5);
  Kernel twice(world, 5);
  Kernel another(world, 6);
  SentFrames frames;
  SentFrames other_frames;
  once.observe(frames);
  another.observe(other_frames);
  once.run();
  twice.run();
  another.run();
  EXPECT_EQ(once.fingerprint(), twice.fingerprint());
  EXPECT_EQ(sums_of(once).forwarded, sums_of(twice).forwarded);
  // Which frames are mis-steered differs, and costs another shard a turn; but as a queue adds no
  // delay, the frames sent are the same.
  EXPECT_NE(sums_of(once).forwarded, sums_of(another).forwarded);
  EXPECT_EQ(frames.hash, other_frames.hash);
}

TEST(Spread, SharesCoverEachFlowOnce) {
  AppSpec app;
  app.flows = 10;
  app.start = Duration{100};
  app.stagger = Duration{7};
  std::uint32_t flows = 0;
  std::uint64_t starts = 0;
  for (std::uint32_t shard = 0; shard < 4; ++shard) {
    AppSpec const share = share_of(app, {shard}, {4});
    for (std::uint32_t i = 0; i < share.flows; ++i) {
      starts += share.start.ns + share.stagger.ns * i;
    }
    flows += share.flows;
  }
  EXPECT_EQ(flows, 10u);
  EXPECT_EQ(starts, 10u * 100 + 45u * 7);
}

}  // namespace
}  // namespace lockstep::sim
