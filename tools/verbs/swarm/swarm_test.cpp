// The verb `swarm`: the same result for any number of jobs, crashes contained, known seeds
// replayed.
#include "tools/verbs/swarm/swarm.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <test_paths.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/units/check.hpp"
#include "sim/swarm/draw.hpp"
#include "sim/swarm/trial.hpp"
#include "tools/base/output/json.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/lib/sim_nic/mpipe_nic.hpp"
#include "tools/verbs/swarm/world_text.hpp"

namespace lockstep::tools {
namespace {

using testing::HasSubstr;

std::string content_of(const std::filesystem::path& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

SwarmResult run(SeedRange seeds, std::uint32_t jobs) {
  SwarmWork work;
  work.seeds = seeds;
  work.jobs = jobs;
  return run_swarm(work);
}

TEST(Seeds, ARangeOrOne) {
  EXPECT_EQ(parse_seeds("3..9").first, 3u);
  EXPECT_EQ(parse_seeds("3..9").last, 9u);
  EXPECT_EQ(parse_seeds("12").first, 12u);
  EXPECT_EQ(parse_seeds("12").last, 12u);
}

TEST(Seeds, AnythingElseIsBadInput) {
  for (const char* text : {"", "..", "1..", "..2", "a..b", "5..4", "1...2", "-1..2", "1..2x",
                           "18446744073709551616", "18446744073709551615"}) {
    try {
      static_cast<void>(parse_seeds(text));
      ADD_FAILURE() << text;
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), ExitCode::bad_input) << text;
      EXPECT_THAT(failure.what(), HasSubstr("--seeds")) << text;
    }
  }
}

TEST(Swarm, ThreeHundredSeedsPass) {
  SwarmResult const result = run({0, 299}, 2);
  EXPECT_EQ(result.tally.seeds, 300u);
  for (const FailureNote& note : result.failures) {
    ADD_FAILURE() << "seed " << note.seed << ": " << describe(note);
  }
}

// The JSON that the verb writes for a run.
nlohmann::ordered_json verdict_of(SwarmOptions options) {
  options.json = (std::filesystem::path(LOCKSTEP_BINARY_DIR) / "swarm-verdict.json").string();
  EXPECT_EQ(run_swarm_verb(options), 0);
  return parse_json(content_of(options.json));
}

// Some of these worlds have hosts with a single local port, which must find one for each worker.
TEST(Swarm, FourWorkersOfEachHostPassOnEveryDriver) {
  SwarmOptions options;
  options.seeds = {0, 39};
  nlohmann::ordered_json const alone = verdict_of(options);
  options.workers = 4;
  for (const char* driver : {"plain", "mpipe", "mpipe-errs"}) {
    options.driver = driver;
    nlohmann::ordered_json const spread = verdict_of(options);
    EXPECT_NE(spread["fingerprint"], alone["fingerprint"]) << driver;
    EXPECT_GT(spread["connections"], 300) << driver;
  }
}

TEST(Swarm, TheNumberOfJobsChangesNothing) {
  SwarmResult const one = run({400, 459}, 1);
  SwarmResult const two = run({400, 459}, 2);
  SwarmResult const seven = run({400, 459}, 7);
  EXPECT_EQ(one.tally.fingerprint, two.tally.fingerprint);
  EXPECT_EQ(one.tally.fingerprint, seven.tally.fingerprint);
  EXPECT_EQ(one.tally.frames, two.tally.frames);
  EXPECT_EQ(one.tally.drops, two.tally.drops);
  EXPECT_EQ(one.tally.drops, seven.tally.drops);
  EXPECT_NE(one.tally.fingerprint, run({401, 460}, 2).tally.fingerprint);
}

TEST(Swarm, ASeedIsReproducedByteForByte) {
  std::filesystem::path const folder =
      std::filesystem::path(LOCKSTEP_BINARY_DIR) / "swarm-captures";
  for (const char* name : {"once", "twice"}) {
    std::filesystem::create_directories(folder / name);
    for (std::uint64_t seed = 20; seed < 30; ++seed) {
      write_capture((folder / name).string(), sim::draw_world(seed), seed);
    }
  }
  for (std::uint64_t seed = 20; seed < 30; ++seed) {
    std::string const file = "seed-" + std::to_string(seed) + ".pcapng";
    std::string const once = content_of(folder / "once" / file);
    EXPECT_GT(once.size(), 500u) << file;
    EXPECT_TRUE(once == content_of(folder / "twice" / file)) << file;
  }
  std::filesystem::remove_all(folder);
}

// One seed fails a CHECK, one ends its process otherwise: both are failures, and the others go on.
TEST(Swarm, ACrashIsOneFailedSeed) {
  SwarmWork work;
  work.seeds = {10, 19};
  work.jobs = 2;
  work.work = [](std::uint64_t seed, FailureNote&) {
    CHECK(seed != 13);
    if (seed == 17) {
      std::_Exit(9);
    }
    sim::Tally tally;
    tally.seeds = 1;
    return tally;
  };
  SwarmResult const result = run_swarm(work);
  EXPECT_EQ(result.tally.seeds, 10u);
  EXPECT_EQ(result.tally.failed, 2u);
  ASSERT_EQ(result.failures.size(), 2u);
  EXPECT_EQ(result.failures[0].seed, 13u);
  EXPECT_THAT(describe(result.failures[0]), HasSubstr("CHECK at 0.000000000 s: seed != 13"));
  EXPECT_EQ(result.failures[1].seed, 17u);
  EXPECT_THAT(describe(result.failures[1]), HasSubstr("the process ended with an error"));
}

TEST(Swarm, UnreachedRowsAreFindingsWithEnoughSeeds) {
  sim::Tally tally;
  tally.transitions.fill(1);
  tally.timers.fill(1);
  tally.drops.fill(1);
  tally.link_drops.fill(1);
  tally.faults.fill(1);
  sim::visit_rows(tally, [&](const sim::TallyRow&) {});
  tally.seeds = coverage_seeds_min;
  for (std::uint32_t i = 0; i < drop_count; ++i) {
    if (!sim::why_unreachable(name_of(static_cast<Drop>(i))).empty()) {
      tally.drops[i] = 0;
    }
  }
  for (std::uint32_t i = 0; i < tally.link_drops.size(); ++i) {
    if (!sim::why_unreachable(sim::name_of(static_cast<sim::LinkDrop>(i))).empty()) {
      tally.link_drops[i] = 0;
    }
  }
  EXPECT_THAT(coverage_findings(tally), testing::IsEmpty());
  tally.transitions[3] = 0;
  EXPECT_THAT(coverage_findings(tally), testing::ElementsAre(HasSubstr("was never reached")));
  tally.seeds = coverage_seeds_min - 1;
  EXPECT_THAT(coverage_findings(tally), testing::IsEmpty());
}

TEST(SavedWorld, IsReadAsItWasWritten) {
  std::uint32_t faults = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    sim::World const world = sim::draw_world(seed);
    std::string const text = text_of({"nothing", seed, world});
    SavedWorld const saved = read_saved_world(text, "text");
    ASSERT_EQ(text_of(saved), text) << "seed " << seed;
    ASSERT_EQ(saved.seed, seed);
    ASSERT_EQ(saved.broke, "nothing");
    faults += static_cast<std::uint32_t>(world.lane_faults.size() + world.host_faults.size());
  }
  EXPECT_GT(faults, 300u);
}

// The text contains everything that a run depends on.
TEST(SavedWorld, RunsAsTheSeedDid) {
  std::uint32_t routed = 0;
  std::uint32_t queued = 0;
  std::uint32_t random = 0;
  for (std::uint64_t seed = 500; seed < 540; ++seed) {
    sim::World const drawn = sim::draw_world(seed);
    routed += drawn.routers.empty() ? 0 : 1;
    for (sim::LinkSpec const& link : drawn.links) {
      queued += link.forward.output.plain() ? 0 : 1;
    }
    for (sim::AppSpec const& app : drawn.apps) {
      random += app.draws.any() ? 1 : 0;
    }
    SavedWorld const saved = read_saved_world(text_of({"nothing", seed, drawn}), "text");
    EXPECT_EQ(sim::run_trial(drawn, seed).fingerprint,
              sim::run_trial(saved.world, seed).fingerprint)
        << "seed " << seed;
  }
  EXPECT_GT(routed, 0u);
  EXPECT_GT(queued, 0u);
  EXPECT_GT(random, 0u);
}

TEST(SavedWorld, KeepsNicsAndTheirErrors) {
  sim::Registry const registry = with_nics(sim::swarm_registry());
  std::uint32_t errs = 0;
  for (std::uint64_t seed = 500; seed < 520; ++seed) {
    sim::World drawn = sim::draw_world(seed);
    give_nics(drawn);
    draw_errors(drawn, seed);
    for (sim::HostSpec const& host : drawn.hosts) {
      errs += host.nic.errs() ? 1 : 0;
    }
    SavedWorld const saved = read_saved_world(text_of({"nothing", seed, drawn}), "text");
    EXPECT_EQ(sim::run_trial(drawn, seed, nullptr, registry).fingerprint,
              sim::run_trial(saved.world, seed, nullptr, registry).fingerprint)
        << "seed " << seed;
  }
  EXPECT_GT(errs, 10u);
}

TEST(SavedWorld, BadTextIsOneLine) {
  std::string const good = text_of({"nothing", 7, sim::draw_world(7)});
  auto const refused = [](const std::string& text) -> std::string {
    try {
      static_cast<void>(read_saved_world(text, "file"));
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), ExitCode::bad_input);
      return failure.what();
    }
    return "taken";
  };
  EXPECT_EQ(refused(good), "taken");
  EXPECT_THAT(refused(good + "host.0.colour 7\n"), HasSubstr("host.0.colour: not a field"));
  EXPECT_THAT(refused(good + "seed 8\n"), HasSubstr("not given before"));
  EXPECT_THAT(refused("seed\n"), HasSubstr("file:1:"));
  EXPECT_THAT(refused("seed -1\n"), HasSubstr("file:1: seed -1: expected a number"));
  EXPECT_THAT(refused("hosts 65\n"), HasSubstr("expected at most 64"));
  EXPECT_THAT(refused(""), HasSubstr("file: "));
}

// Failures of the past, saved as worlds, because seeds draw other worlds when the drawing changes.
TEST(KnownSeeds, AllPassNow) {
  std::uint32_t count = 0;
  std::filesystem::path const folder = LOCKSTEP_SOURCE_DIR "/sim/swarm/known_seeds";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    SavedWorld const saved = load_saved_world(entry.path().string());
    SwarmWork work;
    work.seeds = {saved.seed, saved.seed};
    work.work = [&](std::uint64_t seed, FailureNote& note) {
      return run_world(saved.world, seed, note);
    };
    SwarmResult const result = run_swarm(work);
    EXPECT_TRUE(result.failures.empty())
        << entry.path() << " (" << saved.broke << ") fails again: " << describe(result.failures[0]);
    ++count;
  }
  EXPECT_GT(count, 8u);
}

}  // namespace
}  // namespace lockstep::tools
