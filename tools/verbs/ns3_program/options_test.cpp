// The options of `lockstep ns3 run`, on the command line and in a file.
#include "tools/verbs/ns3_program/options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tools/base/process/failure.hpp"

namespace lockstep::tools {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Pair;

/// The settings that result from a command line and a file.
class RunOptionsOf : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(file_); }

  void write(const std::string& text) { std::ofstream(file_) << text; }

  ExperimentSettings read(std::string words) {
    CLI::App run;
    RunOptions options;
    add_run_options(run, options);
    run.parse(words + " --config " + file_);
    auto settings = settings_of(run, options);
    json_ = options.json;
    return settings;
  }

  std::string complaint(const std::string& text) {
    write(text);
    try {
      read("dumbbell");
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), ExitCode::bad_input);
      return failure.what();
    }
    return "";
  }

  std::string file_ = (std::filesystem::temp_directory_path() /
                       ("lockstep-options-" + std::to_string(::getpid()) + ".toml"))
                          .string();
  bool json_ = false;
};

TEST_F(RunOptionsOf, AFileCanSetAllOptions) {
  write(
      "topology = \"lan\"\nflows = [\"ours\", \"cubic\"]\nbytes = 1000\nstop = 2.5\n"
      "rate = \"1Gbps\"\nqueue = 7\nseed = 9\nset = [\"Congestion=reno\"]\n"
      "default = \"ns3::TcpSocketBase::MinRto=1s\"\necn = true\nno-pcap = true\njson = true\n");
  auto const settings = read("");
  EXPECT_EQ(settings.topology.name, "lan");
  EXPECT_THAT(settings.flows, ElementsAre("ours", "cubic"));
  EXPECT_EQ(settings.bytes, 1000u);
  EXPECT_EQ(settings.stop, 2.5);
  EXPECT_EQ(settings.topology.rate, "1Gbps");
  EXPECT_EQ(settings.topology.queue, 7u);
  EXPECT_EQ(settings.seed, 9u);
  EXPECT_THAT(settings.attributes, ElementsAre(Pair("Congestion", "reno")));
  EXPECT_THAT(settings.defaults, ElementsAre(Pair("ns3::TcpSocketBase::MinRto", "1s")));
  EXPECT_TRUE(settings.topology.ecn);
  EXPECT_FALSE(settings.pcap);
  EXPECT_TRUE(json_);
}

TEST_F(RunOptionsOf, TheCommandLineOverridesTheFile) {
  write("topology = \"lan\"\nflows = [\"cubic\"]\nbytes = 1000\nseed = 9\n");
  auto const settings = read("wifi --flows ours,ours --seed 3");
  EXPECT_EQ(settings.topology.name, "wifi");
  EXPECT_THAT(settings.flows, ElementsAre("ours", "ours"));
  EXPECT_EQ(settings.bytes, 1000u);
  EXPECT_EQ(settings.seed, 3u);
}

TEST_F(RunOptionsOf, ErrorsInTheFileHaveTheirLine) {
  EXPECT_THAT(complaint("seed = 2\nbites = 1000\n"),
              HasSubstr(".toml:2: unknown option 'bites': 'lockstep ns3 run --help' lists"));
  EXPECT_THAT(complaint("config = \"other.toml\"\n"), HasSubstr("unknown option 'config'"));
  EXPECT_THAT(complaint("bytes = 0\n"), HasSubstr(".toml:1: --bytes: Value 0 not in range"));
  EXPECT_THAT(complaint("\nseed = [1, 2]\n"), HasSubstr(".toml:2: --seed"));
  EXPECT_THAT(complaint("bytes = \"many\"\n"), HasSubstr(".toml:1: --bytes"));
  EXPECT_THAT(complaint("[network]\nseed = 1\n"), HasSubstr("unknown option 'network'"));
  EXPECT_THAT(complaint("flows = {a = 1}\n"), EndsWith("or an array of these"));
  EXPECT_THAT(complaint("seed = \n"), HasSubstr(".toml:1: "));
}

TEST_F(RunOptionsOf, AFileThatIsNotThereIsNamed) {
  file_ += ".none";
  try {
    read("dumbbell");
    FAIL() << "it was read";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::bad_input);
    EXPECT_THAT(failure.what(), HasSubstr(".toml.none: cannot be read"));
  }
}

TEST_F(RunOptionsOf, NoTopologyIsNamed) {
  EXPECT_THAT(
      [&] {
        write("");
        read("");
      },
      testing::ThrowsMessage<Failure>(HasSubstr("the topology is missing: give dumbbell")));
}

}  // namespace
}  // namespace lockstep::tools
