// Runs the seeds, prints the table and the failures, shrinks and captures.
#include "tools/verbs/swarm/swarm.hpp"

#include <fmt/core.h>

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "sim/kernel/trace.hpp"
#include "sim/swarm/draw.hpp"
#include "sim/swarm/shrink.hpp"
#include "sim/swarm/trial.hpp"
#include "tools/base/output/atomic_file.hpp"
#include "tools/base/output/json.hpp"
#include "tools/base/output/progress.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/lib/sim_nic/mpipe_nic.hpp"
#include "tools/verbs/swarm/world_text.hpp"

namespace lockstep::tools {
namespace {

std::uint64_t parse_seed(std::string_view text, const std::string& whole) {
  std::uint64_t seed = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error != std::errc{} || end != text.data() + text.size() || seed == ~std::uint64_t{0}) {
    throw Failure(ExitCode::bad_input,
                  fmt::format("--seeds {}: expected A..B or N, each from 0 to {}: correct it",
                              whole, ~std::uint64_t{0} - 1));
  }
  return seed;
}

std::string name_of_row(const sim::TallyRow& row) {
  return row.to.empty() ? std::string(row.name) : fmt::format("{} -> {}", row.name, row.to);
}

void print_table(const sim::Tally& tally) {
  std::string_view kind;
  sim::visit_rows(tally, [&](const sim::TallyRow& row) {
    if (row.kind != kind) {
      fmt::print("{}s\n", row.kind);
      kind = row.kind;
    }
    std::string_view const why = sim::why_unreachable(row.name);
    fmt::print("  {:<34} {:>14}{}{}\n", name_of_row(row), row.count,
               why.empty() ? "" : "   unreachable: ", why);
  });
}

// The world of a seed of this run.
sim::World world_of(const SwarmOptions& options, std::uint64_t seed) {
  sim::World world =
      options.world.empty() ? sim::draw_world(seed) : load_saved_world(options.world).world;
  if (options.driver != "plain") {
    give_nics(world);
  }
  if (options.driver == "mpipe-errs") {
    draw_errors(world, seed);
  }
  return world;
}

// Applies --driver and --workers just before the run; drawn, shrunk and saved worlds do not hold
// them.
sim::World on_workers(const SwarmOptions& options, sim::World world) {
  if (options.workers > 1) {
    spread_over_workers(world, {options.workers});
  }
  return world;
}

void save_world(const SwarmOptions& options, const FailureNote& note) {
  make_folder(options.save);
  AtomicFile file(fmt::format("{}/seed-{}.world", options.save, note.seed));
  file.put(text_of({describe(note), note.seed, world_of(options, note.seed)}));
  file.keep();
}

void print_failures(const SwarmOptions& options, const SwarmResult& result) {
  constexpr std::size_t shown_max = 100;
  for (std::size_t i = 0; i < result.failures.size() && i < shown_max; ++i) {
    FailureNote const& note = result.failures[i];
    std::string const which = options.world.empty()
                                  ? fmt::format("--seeds {}..{}", note.seed, note.seed)
                                  : "--world " + options.world;
    std::string driver = options.driver == "plain" ? "" : " --driver " + options.driver;
    if (options.workers > 1) {
      driver += fmt::format(" --workers {}", options.workers);
    }
    fmt::print("FAILED seed {}: {}\n  replay: lockstep swarm {}{} --pcapng DIR\n", note.seed,
               describe(note), which, driver);
    if (!options.save.empty()) {
      save_world(options, note);
    }
  }
  if (result.failures.size() > shown_max) {
    fmt::print("... and {} more failing seeds\n", result.failures.size() - shown_max);
  }
}

void print_smallest(const SwarmOptions& options, const FailureNote& note) {
  sim::Shrinker shrinker(world_of(options, note.seed));
  std::string const checker = note.checker.data();
  std::string last = describe(note);
  sim::World candidate;
  while (shrinker.next(candidate)) {
    SwarmWork work;
    work.seeds = {note.seed, note.seed};
    work.work = [&](std::uint64_t seed, FailureNote& found) {
      return run_world(on_workers(options, candidate), seed, found);
    };
    SwarmResult const result = run_swarm(work);
    bool const fails = !result.failures.empty() && result.failures[0].checker == note.checker;
    if (fails) {
      last = describe(result.failures[0]);
    }
    shrinker.answer(fails);
  }
  fmt::print("Seed {}, the smallest world that still fails in {} ({} tried): {}\n{}", note.seed,
             checker, shrinker.tries(), last, describe(shrinker.smallest()));
}

nlohmann::json json_of(const SwarmOptions& options, const SwarmResult& result) {
  nlohmann::json out;
  out["seeds"] = {{"first", options.seeds.first}, {"last", options.seeds.last}};
  out["failed"] = result.tally.failed;
  out["fingerprint"] = fmt::format("{:016x}", result.tally.fingerprint);
  out["frames"] = result.tally.frames;
  out["connections"] = result.tally.connections;
  out["bytes_read"] = result.tally.bytes_read;
  out["virtual_ms"] = result.tally.virtual_ms;
  sim::visit_rows(result.tally, [&](const sim::TallyRow& row) {
    out["fired"][std::string(row.kind)][name_of_row(row)] = row.count;
  });
  for (const sim::Unreachable& each : sim::unreachable) {
    out["unreachable"].push_back(each.name);
  }
  out["failures"] = nlohmann::json::array();
  for (const FailureNote& note : result.failures) {
    out["failures"].push_back({{"seed", note.seed}, {"what", describe(note)}});
  }
  out["coverage"] = coverage_findings(result.tally);
  return out;
}

// A capture of the run, as far as it got.
class FileSink final : public sim::ByteSink {
 public:
  explicit FileSink(const std::string& path) : path_(path), out_(path, std::ios::binary) {}
  // Flushed at once, because the run may end in a failed CHECK.
  void put(std::span<const std::byte> bytes) override {
    out_.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    out_.flush();
    if (!out_) {
      throw Failure(ExitCode::environment, fmt::format("{}: cannot be written", path_));
    }
  }

 private:
  std::string path_;
  std::ofstream out_;
};

}  // namespace

SeedRange parse_seeds(const std::string& text) {
  std::size_t const dots = text.find("..");
  std::string_view const view(text);
  SeedRange range;
  range.first = parse_seed(view.substr(0, dots), text);
  range.last = dots == std::string::npos ? range.first : parse_seed(view.substr(dots + 2), text);
  if (range.last < range.first) {
    throw Failure(ExitCode::bad_input,
                  fmt::format("--seeds {}: the first seed is greater than the last: did you mean "
                              "{}..{}?",
                              text, range.last, range.first));
  }
  return range;
}

std::vector<std::string> coverage_findings(const sim::Tally& tally) {
  std::vector<std::string> findings;
  sim::visit_rows(tally, [&](const sim::TallyRow& row) {
    bool const reachable = sim::why_unreachable(row.name).empty();
    if (!reachable && row.count != 0) {
      findings.push_back(fmt::format("{} {} was reached, but is listed as unreachable", row.kind,
                                     name_of_row(row)));
    }
    if (reachable && row.count == 0 && tally.seeds >= coverage_seeds_min) {
      findings.push_back(fmt::format("{} {} was never reached", row.kind, name_of_row(row)));
    }
  });
  return findings;
}

void make_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    throw Failure(ExitCode::environment,
                  fmt::format("{}: cannot be created: {}", folder, error.message()));
  }
}

void write_capture(const std::string& folder, const sim::World& world, std::uint64_t seed) {
  FileSink sink(fmt::format("{}/seed-{}.pcapng", folder, seed));
  sim::Trace trace(world, sink);
  static_cast<void>(sim::run_trial(world, seed, &trace, with_nics(sim::swarm_registry())));
}

int run_swarm_verb(const SwarmOptions& options) {
  SwarmWork work;
  work.seeds = options.seeds;
  work.jobs = options.jobs;
  Progress progress;
  std::uint64_t const total = options.seeds.last - options.seeds.first + 1;
  work.progress = [&progress, total](std::uint64_t done) {
    progress.draw(done, total, fmt::format("{} of {} seeds", done, total));
  };
  if (!options.pcapng.empty()) {
    make_folder(options.pcapng);
  }
  work.work = [&options](std::uint64_t seed, FailureNote& note) {
    sim::World const world = on_workers(options, world_of(options, seed));
    if (!options.pcapng.empty()) {
      write_capture(options.pcapng, world, seed);
    }
    return run_world(world, seed, note);
  };
  std::unique_ptr<AtomicFile> json;
  if (!options.json.empty()) {
    json = std::make_unique<AtomicFile>(options.json);
  }
  SwarmResult const result = run_swarm(work);
  progress.clear();
  print_table(result.tally);
  std::vector<std::string> const missing = coverage_findings(result.tally);
  for (const std::string& line : missing) {
    fmt::print("MISSING {}\n", line);
  }
  if (result.tally.seeds < coverage_seeds_min) {
    fmt::print("Rows of 0 are allowed below {} seeds.\n", coverage_seeds_min);
  }
  print_failures(options, result);
  for (std::size_t i = 0; i < result.failures.size() && i < options.shrink; ++i) {
    if (std::string_view(result.failures[i].checker.data()) != "hang") {
      print_smallest(options, result.failures[i]);
    }
  }
  fmt::print(
      "{} seeds, {} failed; {} connections, {} frames, {} bytes read in {} virtual s; "
      "fingerprint {:016x}\n",
      result.tally.seeds, result.tally.failed, result.tally.connections, result.tally.frames,
      result.tally.bytes_read, result.tally.virtual_ms / 1'000, result.tally.fingerprint);
  if (json != nullptr) {
    json->put(json_text(json_of(options, result)));
    json->keep();
  }
  bool const fine = result.failures.empty() && missing.empty();
  return static_cast<int>(fine ? ExitCode::fine : ExitCode::finding);
}

}  // namespace lockstep::tools
