// The examples run to completion, repeat exactly, and leave complete files.
#include "tools/verbs/sim/run.hpp"

#include <gtest/gtest.h>
#include <test_paths.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "sim/kernel/kernel.hpp"
#include "tools/base/output/json.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/lib/sim_apps/http_app.hpp"
#include "tools/lib/sim_report/report_json.hpp"
#include "tools/lib/world_file/world_file.hpp"
#include "tools/verbs/sim/report.hpp"

namespace lockstep::tools {
namespace {

namespace fs = std::filesystem;

fs::path examples() { return fs::path(LOCKSTEP_SOURCE_DIR) / "sim" / "examples"; }

std::string contents(const fs::path& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

class Example : public testing::TestWithParam<std::string> {};

TEST_P(Example, RunsToCompletionWithEveryByteInItsPlace) {
  const sim::World world = read_world((examples() / (GetParam() + ".toml")).string());
  sim::Kernel kernel(world, 1, world_registry());
  const sim::Ending ending = kernel.run();
  EXPECT_EQ(ending, sim::Ending::completed);
  EXPECT_TRUE(all_well(kernel, ending));
  std::uint32_t finished = 0;
  for (const sim::Flow& flow : kernel.ledger().flows()) {
    if (!flow.foreign && !flow.joined) {
      EXPECT_EQ(flow.end(sim::Side::opener).cause, Cause::finished);
      EXPECT_EQ(flow.end(sim::Side::acceptor).read, flow.end(sim::Side::opener).written);
      ++finished;
    }
  }
  EXPECT_GT(finished, 0u);
}

INSTANTIATE_TEST_SUITE_P(All, Example,
                         testing::Values("two_hosts", "lossy_path", "dumbbell", "reorder", "shards",
                                         "partition_and_heal", "slow_reader", "random_peer",
                                         "long_fat_path", "mpipe", "http_mpipe", "short_flows",
                                         "cellular", "satellite", "asymmetric", "queues", "routers",
                                         "parking_lot"),
                         [](const auto& each) { return each.param; });

/// Octets read on the long fat path after this many seconds.
std::uint64_t read_after(sim::World world, std::uint64_t seconds) {
  sim::Kernel kernel(world, 1);
  kernel.run_until(Instant{Duration::seconds(seconds).ns});
  return kernel.ledger().flows().at(0).end(sim::Side::acceptor).read;
}

TEST(Report, SaysWhetherAnythingIsDrawnFromTheSeed) {
  constexpr std::string_view none =
      "nothing is drawn from the seed: every seed gives these times and sizes\n";
  sim::Kernel constant(read_world((examples() / "two_hosts.toml").string()), 1);
  sim::Ending ending = constant.run();
  EXPECT_TRUE(report_text(constant, ending, 0).ends_with(none));
  auto json = nlohmann::json::parse(report_json(constant, name_of(ending)));
  EXPECT_EQ(json.at("drawn_from_seed").size(), 0u);
  sim::Kernel drawing(read_world((examples() / "short_flows.toml").string()), 1);
  ending = drawing.run();
  EXPECT_EQ(report_text(drawing, ending, 0).find(none), std::string::npos);
  json = nlohmann::json::parse(report_json(drawing, name_of(ending)));
  EXPECT_EQ(json.at("drawn_from_seed").at(0), "app pages");
}

//= rfc7323#2.2
//= type=test
//# 7323:TS-1 with scaled windows a flow fills 2.5 MB of path; if one host has them off, 64 KiB
TEST(Examples, ALongFatPathNeedsScaledWindows) {
  sim::World world = read_world((examples() / "long_fat_path.toml").string());
  constexpr std::uint64_t all = std::uint64_t{32} << 20;
  EXPECT_EQ(read_after(world, 5), all);
  world.hosts.at(1).config.tcp.window_scale = false;
  // At most one window of 65,535 octets per round trip of 100 ms.
  EXPECT_LT(read_after(world, 5), 50u * 65'535u);
}

TEST(Examples, ShowWhatTheyAreFor) {
  sim::Kernel slow(read_world((examples() / "slow_reader.toml").string()), 1);
  // The window closes: the sender sees a window of zero while the reader sleeps.
  slow.run_until(Instant{Duration::milliseconds(1'500).ns});
  const sim::FlowEnd& sender = slow.ledger().flows().at(0).end(sim::Side::opener);
  EXPECT_EQ(slow.host({0}).stack().inspect(sender.id).send.wnd.count, 0u);

  sim::Kernel cut(read_world((examples() / "partition_and_heal.toml").string()), 1);
  cut.run();
  const auto& lane = cut.bus().lane({0}).counters();
  EXPECT_GT(lane.drops[static_cast<std::uint32_t>(sim::LinkDrop::partitioned)], 0u);
}

class SimRun : public testing::Test {
 protected:
  SimRun() : folder_(fs::path(testing::TempDir()) / "lockstep_simrun_test") {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~SimRun() override { fs::remove_all(folder_); }
  fs::path folder_;
};

TEST_F(SimRun, WritesCapturesAndJsonTheSameBytesTwice) {
  for (const char* name : {"one", "two"}) {
    const std::string folder = (folder_ / name).string();
    EXPECT_EQ(run_simulation({(examples() / "lossy_path.toml").string(), "9", folder,
                              folder + "/report.json", folder + "/series.csv", "1s"}),
              0);
  }
  for (const char* name : {"a.pcapng", "b.pcapng", "report.json", "series.csv"}) {
    const std::string one = contents(folder_ / "one" / name);
    EXPECT_GT(one.size(), 1'000u);
    EXPECT_EQ(one, contents(folder_ / "two" / name)) << name;
  }
  const auto report = parse_json(contents(folder_ / "one" / "report.json"));
  EXPECT_EQ(report["seed"], 9);
  EXPECT_EQ(report["connections"].size(), 1u);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "one"), {}), 4);
  const std::string series = contents(folder_ / "one" / "series.csv");
  const auto columns = [](std::string_view row) { return std::ranges::count(row, ','); };
  EXPECT_TRUE(series.starts_with("time_ns,flow,cwnd,ssthresh,"));
  EXPECT_EQ(columns(series.substr(0, series.find('\n'))),
            columns(series.substr(series.rfind('\n', series.size() - 2) + 1)));
}

// The device of our own stack is always built.
TEST_F(SimRun, AnotherTcpIsAHostOfTheWorldTheSameTwice) {
  for (const char* name : {"one", "two"}) {
    SimRunOptions options;
    options.file = (examples() / "two_tcps.toml").string();
    options.json_file = (folder_ / name).string() + ".json";
    options.series_file = (folder_ / name).string() + ".csv";
    options.settings = {"a.device=" LOCKSTEP_BINARY_DIR "/devices/lockstep.so", "theirs.bytes=1MiB",
                        "ours.bytes=1MiB"};
    EXPECT_EQ(run_simulation(options), 0);
  }
  EXPECT_EQ(contents(folder_ / "one.json"), contents(folder_ / "two.json"));
  EXPECT_EQ(contents(folder_ / "one.csv"), contents(folder_ / "two.csv"));
  const auto report = parse_json(contents(folder_ / "one.json"));
  ASSERT_EQ(report["connections"].size(), 2u);
  for (const auto& each : report["connections"]) {
    EXPECT_EQ(each["outcome"], "finished");
    EXPECT_EQ(each["acceptor"]["read"], 1'048'576);
  }
  EXPECT_GT(report["frames_sent"], 1'448u);  // of the data alone: both senders count
  EXPECT_NE(contents(folder_ / "one.csv").find(",0,"), std::string::npos);
}

TEST_F(SimRun, TheOutFolderHasTheSameBytesTwice) {
  SimRunOptions options;
  options.file = (examples() / "queues.toml").string();
  options.until = "2s";
  for (const char* name : {"one", "two"}) {
    options.out_folder = (folder_ / name).string();
    EXPECT_EQ(run_simulation(options), 0);
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "one"), {}), 6);
  for (const char* name : {"summary.json", "connections.csv", "senders.csv", "rtt_samples.csv",
                           "readers.csv", "queues.csv"}) {
    const std::string one = contents(folder_ / "one" / name);
    EXPECT_GT(one.size(), 500u) << name;
    EXPECT_EQ(one, contents(folder_ / "two" / name)) << name;
  }
  const auto summary = parse_json(contents(folder_ / "one" / "summary.json"));
  EXPECT_GT(summary["goodput_bits_per_second"], 1'000'000);
}

TEST_F(SimRun, AnOutFolderWithFilesNeedsForce) {
  SimRunOptions options;
  options.file = (examples() / "two_hosts.toml").string();
  options.out_folder = (folder_ / "run").string();
  options.json_file = options.out_folder + "/again.json";
  options.pcapng_folder = options.out_folder + "/captures";
  EXPECT_EQ(run_simulation(options), 0);
  const std::string summary = contents(folder_ / "run" / "summary.json");
  options.seed = "2";
  EXPECT_THROW(run_simulation(options), Failure);
  EXPECT_EQ(contents(folder_ / "run" / "summary.json"), summary);
  options.force = true;
  EXPECT_EQ(run_simulation(options), 0);
  EXPECT_NE(contents(folder_ / "run" / "summary.json"), summary);
  options.out_folder = options.file;  // a file
  EXPECT_THROW(run_simulation(options), Failure);
}

TEST_F(SimRun, ChecksChangeNothing) {
  SimRunOptions options;
  options.file = (examples() / "lossy_path.toml").string();
  std::set<std::string> reports;
  for (const char* checks : {"all", "sampled", "off"}) {
    options.checks = checks;
    options.json_file = (folder_ / checks).string();
    EXPECT_EQ(run_simulation(options), 0);
    reports.insert(contents(options.json_file));
  }
  EXPECT_EQ(reports.size(), 1u);
  options.checks = "some";
  EXPECT_THROW(run_simulation(options), Failure);
}

TEST_F(SimRun, LeavesNothingBehindOnBadInput) {
  const std::string folder = (folder_ / "captures").string();
  const std::string file = (examples() / "two_hosts.toml").string();
  EXPECT_THROW(run_simulation({file, "18446744073709551616", folder, "", "", ""}), Failure);
  EXPECT_THROW(run_simulation({file, "-1", folder, "", "", ""}), Failure);
  EXPECT_THROW(run_simulation({file, "1", folder, "", "", "soon"}), Failure);
  const std::string none = (folder_ / "none.toml").string();
  EXPECT_THROW(run_simulation({none, "1", folder, "", "", ""}), Failure);
  EXPECT_FALSE(fs::exists(folder));
}

}  // namespace
}  // namespace lockstep::tools
