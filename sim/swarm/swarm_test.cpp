// Worlds drawn from seeds: deterministic, valid, healed in time; shrinking keeps a failure.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>
#include <string_view>

#include "core/stack/config_fields.hpp"
#include "sim/kernel/kernel.hpp"
#include "sim/swarm/draw.hpp"
#include "sim/swarm/draw_parts.hpp"
#include "sim/swarm/shrink.hpp"
#include "sim/swarm/trial.hpp"
#include "sim/swarm/trickler.hpp"

namespace lockstep::sim {
namespace {

TEST(Swarm, EveryDrawnWorldIsValidAndHeals) {
  for (std::uint64_t seed = 0; seed < 2'000; ++seed) {
    World const world = draw_world(seed);
    WorldFault const fault = fault_of(world);
    ASSERT_TRUE(fault.none()) << "seed " << seed << ": " << fault.what;
    Instant const end = faults_end(world);
    ASSERT_FALSE(end.is_never()) << "seed " << seed;
    ASSERT_EQ(Instant{0} + world.limit, end + healing_time(world)) << "seed " << seed;
  }
}

// Every kind of trickler, every profile, and worlds with all settings of segment size at once.
TEST(Swarm, DrawsTricklersAndEveryProfile) {
  std::array<std::uint32_t, trickle_count> trickles{};
  std::uint32_t together = 0;
  std::uint32_t one_second = 0;
  std::uint32_t freebsd = 0;
  std::uint32_t narrow = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    World const world = draw_world(seed);
    for (const StationSpec& station : world.stations) {
      for (std::uint32_t i = 0; i < trickle_count; ++i) {
        trickles[i] += station.model == Name(name_of(static_cast<Trickle>(i))) ? 1 : 0;
      }
    }
    tcp::Config const& tcp = world.hosts[0].config.tcp;
    bool const marks = world.links[0].forward.mark_packets != 0;
    bool const all =
        tcp.sack && tcp.timestamps && tcp.path_mtu_discovery && tcp.ecn == tcp::EcnPolicy::on;
    for (LinkSpec const& link : world.links) {
      bool const less = link.forward.mtu_bytes < world.hosts[0].config.mtu.count;
      narrow += all && less && link.forward.answers_too_big ? 1 : 0;
    }
    together += marks && all ? 1 : 0;
    one_second += tcp.rto_min == profile_rfc().tcp.rto_min ? 1 : 0;
    freebsd += tcp.rto_min == profile_freebsd().tcp.rto_min ? 1 : 0;
  }
  for (std::uint32_t const each : trickles) {
    EXPECT_GT(each, 3u);
  }
  EXPECT_GT(together, 20u);
  EXPECT_GT(one_second, 20u);
  EXPECT_GT(freebsd, 20u);
  EXPECT_GT(narrow, 20u);
}

TEST(Swarm, TheLeastSegmentFitsIntoEveryLink) {
  std::uint32_t narrow = 0;
  for (std::uint64_t seed = 0; seed < 1'000; ++seed) {
    World const world = draw_world(seed);
    for (const HostSpec& host : world.hosts) {
      for (const HostSpec& peer : world.hosts) {
        ASSERT_LE(host.config.tcp.mss_least.count + 40, peer.config.mtu.count) << "seed " << seed;
      }
      narrow += host.config.tcp.mss_least.count == 28 ? 1 : 0;
    }
  }
  EXPECT_GT(narrow, 10u);
}

// In one profile, so that what the profiles set differently counts as not drawn.
TEST(Swarm, DrawsEverySetting) {
  // What the topology decides, what would end a connection before its application does, what reads
  // options that are malformed (see draw_profile), what only calls of sockets show, what leaves
  // a peer of a lost connection without an answer, and what two sides may disagree on: a SYN
  // without options that crosses the answer to one with them.
  const std::set<std::string_view> not_drawn{"mtu_bytes",
                                             "mss",
                                             "mss_least_bytes",
                                             "path_mtu_least_bytes",
                                             "listeners_max",
                                             "shards",
                                             "shard",
                                             "accounts",
                                             "reassembly_bytes",
                                             "reassembly_timeout",
                                             "path_age",
                                             "orphan_timeout",
                                             "orphan_until_persist_max",
                                             "address_probes",
                                             "address_probe_interval",
                                             "defend_addresses",
                                             "options_lenient",
                                             "syn_plain_from",
                                             "closed_silent",
                                             "buffers_doubled",
                                             "errors_like_linux",
                                             "urgent_apart"};
  std::map<std::string_view, std::set<std::uint64_t>> values;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Dice dice{Random{seed}};
    World world;
    world.hosts.emplace_back();
    draw_config(dice, world.hosts[0].config);
    draw_family(dice, world);
    visit_fields(world.hosts[0].config,
                 [&](std::string_view name, Unit, FieldRange, const auto& value) {
                   values[name].insert(number_of(value));
                 });
    visit_choices(world.hosts[0].config,
                  [&](std::string_view name, const auto&, const auto& value) {
                    values[name].insert(static_cast<std::uint64_t>(value));
                  });
  }
  for (auto const& [name, seen] : values) {
    EXPECT_EQ(seen.size() == 1, not_drawn.contains(name)) << name;
  }
}

// A sample of seeds, by the number of octets of a single connection.
TEST(Swarm, DrawsStreamsBeyond2To31And2To32) {
  std::uint32_t beyond_31 = 0;
  std::uint32_t beyond_32 = 0;
  for (std::uint64_t seed = 0; seed < 10 * long_one_in; ++seed) {
    if (!draws_long(seed)) {
      continue;
    }
    World const world = draw_world(seed);
    ASSERT_TRUE(fault_of(world).none()) << "seed " << seed;
    std::uint64_t const bytes = world.apps[0].bytes;
    beyond_31 += bytes > std::uint64_t{1} << 31 && bytes < std::uint64_t{1} << 32 ? 1 : 0;
    beyond_32 += bytes > std::uint64_t{1} << 32 ? 1 : 0;
  }
  EXPECT_GT(beyond_31, 2u);
  EXPECT_GT(beyond_32, 0u);
  EXPECT_LT(beyond_31 + beyond_32, 20u);
}

TEST(Swarm, DrawsInitialSequenceNumbersJustBelowTheWrap) {
  std::uint32_t near = 0;
  std::uint32_t half = 0;
  std::uint32_t all = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    World const world = draw_world(seed);
    Kernel kernel(world, seed, swarm_registry());
    for (std::uint32_t i = 0; i < 2'000 && kernel.step(); ++i) {
    }
    for (const Flow& flow : kernel.ledger().flows()) {
      ++all;
      near += flow.iss.value > 0xffff'ff00 ? 1 : 0;
      half += flow.iss.value - 0x7fff'ff00 < 0x100 ? 1 : 0;
    }
  }
  EXPECT_GT(half, 0u);
  EXPECT_GT(all, 0u);
  EXPECT_GT(near, 5u);
}

// What a laboratory varies: each discipline, shapers, traces, each draw of an application.
TEST(Swarm, DrawsRoutersDisciplinesAndArrivals) {
  std::array<std::uint32_t, discipline_count> disciplines{};
  std::uint32_t shaped = 0;
  std::uint32_t traced = 0;
  std::uint32_t poisson = 0;
  std::uint32_t on_off = 0;
  std::uint32_t sizes = 0;
  std::array<std::uint32_t, 4> routers{};
  for (std::uint64_t seed = 0; seed < 2'000; ++seed) {
    World const world = draw_world(seed);
    ASSERT_LT(world.routers.size(), routers.size());
    ++routers[world.routers.size()];
    for (const LinkSpec& link : world.links) {
      ++disciplines[static_cast<std::size_t>(link.forward.output.discipline)];
      shaped += link.forward.output.shape_bits_per_second != 0 ? 1 : 0;
      traced += link.forward.output.trace_ms.empty() ? 0 : 1;
    }
    for (const AppSpec& app : world.apps) {
      poisson += app.draws.arrivals.kind == ArrivalKind::poisson ? 1 : 0;
      on_off += app.draws.arrivals.kind == ArrivalKind::on_off ? 1 : 0;
      sizes += app.draws.bytes.is_random() ? 1 : 0;
    }
  }
  for (std::uint32_t const count : disciplines) {
    EXPECT_GT(count, 20u);
  }
  for (std::uint32_t const count : routers) {
    EXPECT_GT(count, 20u);
  }
  for (std::uint32_t const count : {shaped, traced, poisson, on_off, sizes}) {
    EXPECT_GT(count, 20u);
  }
}

// Of the seeds here some have routers, disciplines and random applications.
TEST(Swarm, TheSameSeedIsTheSameTrial) {
  std::uint32_t routed = 0;
  std::uint32_t random = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    World const world = draw_world(seed);
    routed += world.routers.empty() ? 0 : 1;
    for (const AppSpec& app : world.apps) {
      random += app.draws.any() ? 1 : 0;
    }
    TrialResult const once = run_trial(draw_world(seed), seed);
    TrialResult const twice = run_trial(draw_world(seed), seed);
    ASSERT_EQ(once.fingerprint, twice.fingerprint) << "seed " << seed;
    ASSERT_EQ(once.frames, twice.frames) << "seed " << seed;
    ASSERT_EQ(once.tally.fingerprint, twice.tally.fingerprint) << "seed " << seed;
  }
  EXPECT_GT(routed, 0u);
  EXPECT_GT(random, 0u);
}

// A world "fails" as long as it has a partition and an application with 100 octets or more.
TEST(Shrink, RemovesWhatTheFailureDoesNotNeed) {
  World world = draw_world(7);
  LaneFaultSpec cut;
  cut.name = "cut";
  cut.fault = Partition{};
  cut.active.until = Instant{1};
  world.lane_faults = {cut, cut, cut};
  world.lane_faults[0].fault = Loss{{1}};
  world.lane_faults[2].fault = Loss{{1}};
  world.apps.resize(1);
  world.apps.push_back(world.apps[0]);
  for (AppSpec& app : world.apps) {
    app.bytes = 100'000;
    app.flows = 3;
    app.repeat = 2;
  }
  Shrinker shrinker(world);
  World candidate;
  while (shrinker.next(candidate)) {
    bool partitioned = false;
    for (const LaneFaultSpec& fault : candidate.lane_faults) {
      partitioned = partitioned || std::holds_alternative<Partition>(fault.fault);
    }
    shrinker.answer(partitioned && candidate.apps[0].bytes >= 100);
  }
  EXPECT_EQ(shrinker.smallest().lane_faults.size(), 1u);
  EXPECT_EQ(shrinker.smallest().host_faults.size(), 0u);
  ASSERT_EQ(shrinker.smallest().apps.size(), 1u);
  EXPECT_EQ(shrinker.smallest().apps[0].flows, 1u);
  EXPECT_EQ(shrinker.smallest().apps[0].repeat, 1u);
  EXPECT_LT(shrinker.smallest().apps[0].bytes, 200u);
}

// A world "fails" as long as its first hop has CoDel and an application draws its arrivals.
TEST(Shrink, KeepsTheRoutersDisciplinesAndArrivalsThatAFailureNeeds) {
  std::uint64_t seed = 0;
  while (draw_world(seed).routers.size() != 2) {
    ++seed;
  }
  World world = draw_world(seed);
  for (LinkSpec& link : world.links) {
    link.forward.output.discipline = DisciplineKind::codel;
  }
  for (AppSpec& app : world.apps) {
    app.draws.bytes.kind = DrawKind::uniform;
    app.draws.arrivals = {ArrivalKind::poisson, Duration::milliseconds(50), {}, {}};
  }
  world.apps.resize(1);
  world.apps.push_back(world.apps[0]);
  Shrinker shrinker(world);
  World candidate;
  while (shrinker.next(candidate)) {
    bool arrivals = false;
    for (const AppSpec& app : candidate.apps) {
      arrivals = arrivals || app.draws.arrivals.kind == ArrivalKind::poisson;
    }
    bool const codel = candidate.links[0].forward.output.discipline == DisciplineKind::codel;
    shrinker.answer(arrivals && codel);
  }
  World const& smallest = shrinker.smallest();
  EXPECT_EQ(smallest.routers.size(), 2u);
  EXPECT_TRUE(fault_of(smallest).none());
  EXPECT_EQ(smallest.apps.size(), 1u);
  for (std::size_t i = 1; i < smallest.links.size(); ++i) {
    EXPECT_TRUE(smallest.links[i].forward.output.plain());
  }
}

}  // namespace
}  // namespace lockstep::sim
