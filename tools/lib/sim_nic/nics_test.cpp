// Worlds over the mPIPE driver: the same frames as over the plain port, and tolerance of NIC
// errors.
#include <gtest/gtest.h>

#include "hw/mpipe/shape.hpp"
#include "sim/swarm/draw.hpp"
#include "sim/swarm/trial.hpp"
#include "sim/worlds/build.hpp"
#include "sim/worlds/nasty.hpp"
#include "tools/lib/sim_nic/mpipe_nic.hpp"

namespace lockstep::tools {
namespace {

struct Outcome {
  sim::Ending ending;
  std::uint64_t fingerprint;
  std::uint64_t frames;
};

Outcome run(const sim::World& world, std::uint64_t seed) {
  sim::Kernel kernel(world, seed, with_nics(sim::swarm_registry()));
  sim::Ending const ending = kernel.run();
  return {ending, kernel.fingerprint(), kernel.frames_sent()};
}

// The plain port with rings as deep as the NIC's.
sim::World as_plain(sim::World world) {
  for (sim::HostSpec& host : world.hosts) {
    host.nic = {};
  }
  return world;
}

TEST(Nics, OneWorldOverTheMpipeDriver) {
  sim::World world = sim::two_hosts({});
  world.apps = {sim::app_of("bulk", 1'000'000)};
  ASSERT_EQ(give_nics(world), 2u);
  Outcome const over_mpipe = run(world, 1);
  Outcome const over_plain = run(as_plain(world), 1);
  EXPECT_EQ(over_mpipe.ending, sim::Ending::completed);
  EXPECT_GT(over_mpipe.frames, 700u);
  EXPECT_EQ(over_mpipe.frames, over_plain.frames);
  EXPECT_EQ(over_mpipe.fingerprint, over_plain.fingerprint);
}

// Without errors, and with buffers that return as soon as a frame has left, the frames on the wire
// do not depend on the driver.
TEST(Nics, FramesOf200SeedsAreThoseOfThePlainPort) {
  std::uint32_t nics = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    sim::World world = sim::draw_world(seed);
    nics += give_nics(world);
    Outcome const over_mpipe = run(world, seed);
    Outcome const over_plain = run(as_plain(world), seed);
    ASSERT_EQ(over_mpipe.frames, over_plain.frames) << "seed " << seed;
    ASSERT_EQ(over_mpipe.fingerprint, over_plain.fingerprint) << "seed " << seed;
  }
  EXPECT_GE(nics, 400u);
}

// The same for hosts with four workers on one NIC, which steers as the plain port does.
TEST(Nics, FramesOfFourWorkersOf200SeedsAreThoseOfThePlainPort) {
  std::uint32_t spread = 0;
  std::uint32_t completed = 0;
  constexpr std::uint64_t seeds = 200;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    sim::World world = sim::draw_world(seed);
    give_nics(world);
    spread += spread_over_workers(world, {4});
    Outcome const over_mpipe = run(world, seed);
    Outcome const over_plain = run(as_plain(world), seed);
    completed += over_mpipe.ending == sim::Ending::completed ? 1 : 0;
    ASSERT_EQ(over_mpipe.frames, over_plain.frames) << "seed " << seed;
    ASSERT_EQ(over_mpipe.fingerprint, over_plain.fingerprint) << "seed " << seed;
  }
  EXPECT_GE(spread, seeds);
  EXPECT_GE(completed, seeds * 3 / 4);
}

// Errors of the NIC are ordinary losses, which TCP repairs.
TEST(Nics, EveryErrorOfTheNicIsTolerated) {
  std::uint64_t errors = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    sim::World world = sim::draw_world(seed);
    give_nics(world);
    draw_errors(world, seed);
    for (sim::HostSpec const& host : world.hosts) {
      errors += host.nic.errs() ? 1 : 0;
    }
    sim::TrialResult const result =
        sim::run_trial(world, seed, nullptr, with_nics(sim::swarm_registry()));
    EXPECT_FALSE(result.failed()) << "seed " << seed << ": " << result.findings.kept().front().what;
  }
  EXPECT_GE(errors, 30u);
}

}  // namespace
}  // namespace lockstep::tools
