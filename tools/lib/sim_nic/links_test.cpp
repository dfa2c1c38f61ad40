// Two stacks on two links of one NIC: frames equal to those of the plain port, links that do not
// delay each other or the other's workers, errors, snapshots.
#include <gtest/gtest.h>

#include "sim/kernel/kernel.hpp"
#include "sim/kernel/snapshot.hpp"
#include "sim/kernel/spread.hpp"
#include "sim/swarm/trial.hpp"
#include "sim/worlds/build.hpp"
#include "tools/lib/sim_nic/mpipe_nic.hpp"
#include "tools/lib/sim_nic/nics_kit.hpp"

namespace lockstep::tools {
namespace {

constexpr std::uint32_t flows = 24;
constexpr std::uint64_t octets = 20'000;

// "a" and "b" share a NIC; each has a link of its own to its peer.
sim::World two_links(ShardCount workers = {1}) {
  sim::LaneSpec lane;
  lane.rate_bits_per_second = 100'000'000;
  lane.delay = Duration::microseconds(100);
  sim::World world = sim::two_hosts(lane);
  world.hosts.push_back(sim::plain_host("caller-a", 3));
  world.hosts.push_back(sim::plain_host("caller-b", 4));
  world.links.clear();
  world.apps.clear();
  for (std::uint32_t i : {0u, 1u}) {
    sim::NodeRef const served{sim::NodeKind::host, i};
    sim::NodeRef const calls{sim::NodeKind::host, i + 2};
    world.links.push_back({i == 0 ? "at-a" : "at-b", served, calls, lane, lane});
    sim::AppSpec app = sim::app_of("echo", octets);
    app.name = i == 0 ? "of-a" : "of-b";
    app.client = {i + 2};
    app.server = {i};
    app.flows = flows;
    app.stagger = Duration::microseconds(30);
    world.apps.push_back(app);
    world.hosts[i].receive_ring = 126;
    world.hosts[i].transmit_ring = 4;  // so that each stack waits for its own link
  }
  world.hosts[0].nic.driver = mpipe_driver;
  sim::share_nic(world, {0}, {1});
  if (workers.value != 1) {
    sim::spread(world, {{0}, workers, {}});
    sim::spread(world, {{1}, workers, {}});
  }
  return world;
}

sim::World as_plain(sim::World world) {
  for (sim::HostSpec& host : world.hosts) {
    host.nic = {};
    host.nic_link = 0;
    host.nic_links = 1;
  }
  return world;
}

// When the last flow of an application ended; never, if one has not ended or has failed.
Instant end_of(const sim::Kernel& kernel, sim::Name app) {
  Instant last{0};
  std::uint32_t seen = 0;
  for (sim::Flow const& flow : kernel.ledger().flows()) {
    if (flow.app == app) {
      sim::FlowEnd const& caller = flow.end(sim::Side::opener);
      bool const well = caller.intact && caller.read == octets;
      last = well ? later(last, caller.ended) : Instant::never();
      ++seen;
    }
  }
  EXPECT_EQ(seen, flows);
  return last;
}

TEST(NicLinks, FramesOfTwoLinksAreThoseOfThePlainPort) {
  for (std::uint32_t workers : {1u, 4u}) {
    sim::World const world = two_links({workers});
    sim::Kernel over_mpipe(world, 1, with_nics(sim::Registry::standard()));
    sim::Kernel over_plain(as_plain(world), 1, sim::Registry::standard());
    EXPECT_EQ(over_mpipe.run(), sim::Ending::completed);
    EXPECT_EQ(over_plain.run(), sim::Ending::completed);
    EXPECT_GT(over_mpipe.frames_sent(), 1'800u);
    EXPECT_EQ(over_mpipe.frames_sent(), over_plain.frames_sent());
    EXPECT_EQ(over_mpipe.fingerprint(), over_plain.fingerprint()) << workers;
  }
}

// The rings of one link are full for half a second, then it has no room to send.
TEST(NicLinks, ABlockedLinkDoesNotDelayTheOther) {
  sim::Kernel well(two_links(), 1, with_nics(sim::Registry::standard()));
  EXPECT_EQ(well.run(), sim::Ending::completed);
  sim::World world = two_links();
  constexpr Instant moves{500'000'000};
  constexpr Instant sends{900'000'000};
  world.host_faults.push_back({"stall", {1}, {Instant{0}, moves, {}, {}}, sim::Stall{}});
  world.host_faults.push_back({"full", {1}, {moves, sends, {}, {}}, sim::RingFull{}});
  sim::Kernel held(world, 1, with_nics(sim::Registry::standard()));
  EXPECT_EQ(held.run(), sim::Ending::completed);
  EXPECT_EQ(end_of(held, "of-a"), end_of(well, "of-a"));
  EXPECT_LT(end_of(well, "of-b"), moves);
  EXPECT_GT(end_of(held, "of-b"), sends);
  EXPECT_FALSE(end_of(held, "of-b").is_never());
}

TEST(NicLinks, BothLinksTolerateLateCompletionsAndErrors) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    sim::World world = two_links({4});
    for (sim::HostSpec& host : world.hosts) {
      sim::NicSpec& nic = host.nic;
      nic.completion = Duration::microseconds(20 * seed);
      nic.late = {100'000'000};
      nic.no_buffer = nic.ring_full = nic.not_ready = {5'000'000};
      nic.hash = sim::NicHash::nic;
      nic.link_up_for = Duration::milliseconds(20);
      nic.link_down_for = Duration::milliseconds(1 + seed);
      nic.errors_until = Instant{1'000'000'000};
    }
    for (std::uint32_t i : {2u, 3u}) {
      world.hosts[i].nic = {};
    }
    sim::TrialResult const result =
        sim::run_trial(world, seed, nullptr, with_nics(sim::Registry::standard()));
    EXPECT_FALSE(result.failed()) << "seed " << seed << ": " << result.findings.kept().front().what;
  }
}

TEST(NicLinks, ASnapshotOfBothLinksIsRestored) { expect_same_from_a_snapshot(two_links({2})); }

}  // namespace
}  // namespace lockstep::tools
