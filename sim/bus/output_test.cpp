// Worlds whose links have disciplines: every frame is accounted for, and a snapshot goes back.
#include <gtest/gtest.h>

#include <string>

#include "sim/checkers/conservation.hpp"
#include "sim/kernel/kernel.hpp"
#include "sim/kernel/snapshot.hpp"
#include "sim/worlds/build.hpp"
#include "sim/worlds/lab.hpp"

namespace lockstep::sim {
namespace {

World world_of(DisciplineKind kind) {
  LaneSpec lane;
  lane.rate_bits_per_second = 10'000'000;
  lane.delay = Duration::milliseconds(10);
  lane.queue_packets = 60;
  lane.output.discipline = kind;
  lane.output.fq_codel.limit_packets = 60;
  lane.output.shape_bits_per_second = 8'000'000;
  World world = two_hosts(lane);
  AppSpec app = app_of("bulk", 800'000);
  app.flows = 4;
  world.apps = {app};
  world.lane_faults = {fault_of_link("twice", Duplicate{{5'000'000}})};
  return world;
}

class EachDiscipline : public testing::TestWithParam<std::uint32_t> {};

TEST_P(EachDiscipline, ConservesFramesAndRepeats) {
  World const world = world_of(static_cast<DisciplineKind>(GetParam()));
  Findings findings;
  ConservationChecker checker(findings);
  Kernel kernel(world, 1);
  kernel.observe(checker);
  kernel.run_until(Instant{Duration::seconds(1).ns});
  auto const middle = kernel.snapshot();
  EXPECT_EQ(kernel.run(), Ending::completed);
  EXPECT_TRUE(findings.empty());
  EXPECT_EQ(kernel.frames_accounted(), kernel.bus().frames().in_use());
  std::uint64_t dropped = 0;
  for (std::uint64_t each : kernel.bus().lane({0}).counters().drops) {
    dropped += each;
  }
  EXPECT_GT(dropped, 0u);
  Kernel other(world, 1);
  other.restore(*middle);
  EXPECT_EQ(other.run(), Ending::completed);
  EXPECT_EQ(other.fingerprint(), kernel.fingerprint());
}

INSTANTIATE_TEST_SUITE_P(All, EachDiscipline, testing::Range(0u, discipline_count),
                         [](const auto& each) {
                           return std::string(name_of(static_cast<DisciplineKind>(each.param)));
                         });

// Routers, disciplines and draws together.
TEST(LabWorld, CompletesAndConservesFrames) {
  std::uint64_t early = 0;
  std::uint64_t marked = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    World const world = lab_world(seed);
    ASSERT_EQ(fault_of(world).what, "") << seed;
    Findings findings;
    ConservationChecker checker(findings);
    Kernel kernel(world, seed);
    kernel.observe(checker);
    EXPECT_EQ(kernel.run(), Ending::completed) << seed;
    EXPECT_TRUE(findings.empty()) << seed;
    for (std::uint32_t lane = 0; lane < kernel.bus().lane_count(); ++lane) {
      LaneCounters const& counters = kernel.bus().lane({lane}).counters();
      early += counters.drops[static_cast<std::uint32_t>(LinkDrop::early_dropped)];
      marked += counters.marked;
    }
  }
  EXPECT_GT(early, 0u);
  EXPECT_GT(marked, 0u);
}

}  // namespace
}  // namespace lockstep::sim
