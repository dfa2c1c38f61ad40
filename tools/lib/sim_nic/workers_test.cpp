// Several workers on one NIC: flows reach their worker however the NIC steers; 36 workers;
// snapshots; and the driver under the queues that workers have on a real machine.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <vector>

#include "core/stack/shard.hpp"
#include "core/stack/statistics.hpp"
#include "hw/mpipe/model/rig.hpp"
#include "hw/mpipe/port.hpp"
#include "hw/shards/port.hpp"
#include "sim/checkers/conservation.hpp"
#include "sim/checkers/rfc.hpp"
#include "sim/kernel/kernel.hpp"
#include "sim/kernel/snapshot.hpp"
#include "sim/kernel/spread.hpp"
#include "sim/swarm/draw.hpp"
#include "sim/swarm/trial.hpp"
#include "sim/worlds/build.hpp"
#include "tools/lib/sim_nic/mpipe_nic.hpp"
#include "tools/lib/sim_nic/nics_kit.hpp"

namespace lockstep::tools {
namespace {

struct Callers {
  std::uint32_t workers = 4;
  sim::NicHash hash = sim::NicHash::ours;
  Probability missteer{};
  std::uint32_t flows = 64;
  std::uint32_t bytes = 3'000;
};

// Two hosts with this many workers, each host on one NIC, and connections from every worker.
sim::World world_of(const Callers& callers) {
  sim::LaneSpec lane;
  lane.rate_bits_per_second = 1'000'000'000;
  lane.delay = Duration::microseconds(100);
  sim::World world = sim::two_hosts(lane);
  for (sim::HostSpec& host : world.hosts) {
    host.receive_ring = 126;
    host.transmit_ring = 64;
    host.nic.hash = callers.hash;
    host.config.tcp.connections_max = Count{64};
    host.config.tcp.active_max = Count{64};
    host.config.tcp.blocks_max = Count{256};
  }
  sim::AppSpec app = sim::app_of("echo", callers.bytes);
  app.flows = callers.flows;
  app.stagger = Duration::microseconds(50);
  world.apps = {app};
  sim::give_macs(world);
  EXPECT_EQ(give_nics(world), 2u);
  sim::spread(world, {{0}, {callers.workers}, callers.missteer});
  sim::spread(world, {{1}, {callers.workers}, callers.missteer});
  return world;
}

struct Sums {
  std::uint64_t forwarded = 0;
  std::uint64_t announced = 0;
  std::uint64_t wrong = 0;
  std::uint64_t resets = 0;
  std::uint32_t callers = 0;  // workers of the client that opened a connection
};

// Runs to the end under the checkers; every octet comes back to the worker that owns the flow.
Sums echoed(const Callers& callers) {
  sim::Kernel kernel(world_of(callers), 1, with_nics(sim::Registry::standard()));
  sim::Findings findings;
  sim::ConservationChecker conservation(findings);
  sim::RfcChecker rfc(kernel.world(), findings);
  kernel.observe(conservation);
  kernel.observe(rfc);
  EXPECT_EQ(kernel.run(), sim::Ending::completed);
  for (sim::Finding const& finding : findings.kept()) {
    ADD_FAILURE() << finding.where.view() << ": " << finding.what << ": expected "
                  << finding.expected << ", found " << finding.found;
  }
  EXPECT_EQ(kernel.ledger().flows().size(), callers.flows);
  std::array<bool, 64> calls{};
  for (sim::Flow const& flow : kernel.ledger().flows()) {
    for (sim::Side const side : {sim::Side::opener, sim::Side::acceptor}) {
      EXPECT_EQ(flow.end(side).read, callers.bytes);
      EXPECT_TRUE(flow.end(side).intact);
      Config const& config = kernel.host(flow.end(side).host).stack().config();
      EXPECT_EQ(shard_of(flow.tuple, {config.tcp.shards.value}).value, config.tcp.shard.value);
      calls[config.tcp.shard.value] |= side == sim::Side::opener;
    }
  }
  Sums sums;
  for (bool const each : calls) {
    sums.callers += each ? 1 : 0;
  }
  for (std::uint32_t i = 0; i < kernel.host_count(); ++i) {
    Statistics const& statistics = kernel.host({i}).stack().statistics();
    sums.forwarded += kernel.host({i}).state().frames_forwarded;
    sums.announced += kernel.host({i}).state().frames_announced;
    sums.wrong += statistics.drops.of(Drop::wrong_shard);
    sums.resets += statistics.drops.of(Drop::tcp_closed);
  }
  return sums;
}

void expect_at_home(const Sums& sums, std::uint32_t workers) {
  EXPECT_EQ(sums.callers, workers);
  EXPECT_EQ(sums.wrong, 0u);
  EXPECT_EQ(sums.resets, 0u);
  // The first worker answers an address request, and all workers learn from the exchange.
  EXPECT_GE(sums.announced, workers - 1u);
}

TEST(Workers, OurHashSteersEveryFrameToItsWorker) {
  for (std::uint32_t const workers : {2u, 4u}) {
    Sums const sums = echoed({.workers = workers});
    EXPECT_EQ(sums.forwarded, 0u);
    expect_at_home(sums, workers);
  }
}

// The fallback that a calibration calls `siblings`: nothing is lost, nothing is reset.
TEST(Workers, SiblingsForwardFramesOfAnyOtherHash) {
  for (sim::NicHash const hash : {sim::NicHash::nic, sim::NicHash::one, sim::NicHash::lopsided}) {
    Sums const sums = echoed({.hash = hash});
    EXPECT_GT(sums.forwarded, 500u);
    expect_at_home(sums, 4);
  }
}

TEST(Workers, AFrameThatTheNicMispredictsIsForwarded) {
  Sums const sums = echoed({.missteer = {100'000'000}});
  EXPECT_GT(sums.forwarded, 50u);
  EXPECT_LT(sums.forwarded, 400u);
  expect_at_home(sums, 4);
}

TEST(Workers, ThirtySixWorkersAllOpenConnections) {
  Sums const sums = echoed({.workers = 36, .flows = 72, .bytes = 2'000});
  EXPECT_EQ(sums.forwarded, 0u);
  expect_at_home(sums, 36);
}

TEST(Workers, ThirtySixOnANicThatSteersByAHashOfItsOwn) {
  Sums const sums = echoed({.workers = 36, .hash = sim::NicHash::nic, .flows = 36, .bytes = 1'000});
  EXPECT_GT(sums.forwarded, 200u);
  expect_at_home(sums, 36);
}

TEST(Workers, EveryErrorOfASharedNicIsTolerated) {
  std::uint64_t errors = 0;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    sim::World world = sim::draw_world(seed);
    give_nics(world);
    draw_errors(world, seed);
    spread_over_workers(world, {4});
    for (sim::HostSpec const& host : world.hosts) {
      errors += host.nic.errs() && host.shards() != 1 ? 1 : 0;
    }
    sim::TrialResult const result =
        sim::run_trial(world, seed, nullptr, with_nics(sim::swarm_registry()));
    EXPECT_FALSE(result.failed()) << "seed " << seed << ": " << result.findings.kept().front().what;
  }
  EXPECT_GE(errors, 20u);
}

TEST(Workers, ASnapshotOfASharedNicIsRestored) {
  expect_same_from_a_snapshot(world_of({.hash = sim::NicHash::nic, .missteer = {50'000'000}}));
}

// On a real machine the queues are those of hw/shards; here the driver runs under them in one
// thread.
TEST(Workers, TheDriverWorksUnderTheQueuesOfRealWorkers) {
  constexpr ShardCount workers{4};
  using Worker = hw::ShardPort<hw::MpipePort>;
  static_assert(Driver<Worker>);
  hw::MpipeShape shape{.workers = {workers.value}, .receive_ring = {128}, .transmit_buffers = {16}};
  shape.burst_frames = Count{16};
  hw::mpipe::MachineShape made;
  made.memory_bytes = static_cast<std::uint32_t>(hw::Mpipe::memory_bytes(shape));
  hw::mpipe::Machine machine(made);
  machine.be_current();
  hw::Mpipe engine;
  ASSERT_TRUE(engine.open(shape).none());
  hw::Mesh mesh(workers, Bytes{2'048});
  ASSERT_FALSE(mesh.open());
  std::vector<std::unique_ptr<hw::MpipePort>> ports;
  std::vector<std::unique_ptr<Worker>> shards;
  for (std::uint32_t w = 0; w < workers.value; ++w) {
    ports.push_back(std::make_unique<hw::MpipePort>(engine, hw::MpipePort::Worker{w}));
    shards.push_back(std::make_unique<Worker>(*ports[w], mesh, ShardId{w}, Count{32}));
  }
  std::uint32_t taken = 0;
  // One round for the frames, another for those that were handed over.
  for (std::uint16_t round = 0; round < 50; ++round) {
    for (std::uint16_t i = 0; i < 8 && round % 2 == 0; ++i) {
      auto const port = static_cast<std::uint16_t>(1'000 + round * 8 + i);
      auto const frame = hw::mpipe::tcp_frame({.source_port = port}, 10);
      ASSERT_EQ(machine.arrive(frame, engine.channel()), hw::mpipe::Arrived::taken);
    }
    for (std::uint32_t w = 0; w < workers.value; ++w) {
      for (Ingress const& frame : shards[w]->receive()) {
        EXPECT_EQ(home_of(LinkType::ethernet, frame.bytes, workers), ShardId{w});
        EXPECT_EQ(frame.checksum, Checksum::good);
        ++taken;
      }
      shards[w]->reclaim();
    }
  }
  EXPECT_EQ(taken, 200u);
  std::uint64_t forwarded = 0;
  for (auto const& each : shards) {
    forwarded += each->counters().forwarded;
    EXPECT_EQ(each->counters().lost, 0u);
  }
  EXPECT_GT(forwarded, 100u);
  EXPECT_EQ(machine.sins(), 0u);
  EXPECT_EQ(machine.memory().count(hw::mpipe::Place::driver), 0u);
}

}  // namespace
}  // namespace lockstep::tools
