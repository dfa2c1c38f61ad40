// The command line itself: help, version, and one line for each kind of wrong usage.
#include "tools/verbs/cli/program.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "core/units/check.hpp"
#include "tools/base/process/version.hpp"

namespace lockstep::tools {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

struct Outcome {
  explicit Outcome(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "lockstep");
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    code = run_program(static_cast<int>(arguments.size()), arguments.data());
    out = testing::internal::GetCapturedStdout();
    err = testing::internal::GetCapturedStderr();
  }

  int code = -1;
  std::string out;
  std::string err;
};

TEST(Program, PrintsTheVersion) {
  const Outcome run({"--version"});
  EXPECT_EQ(run.code, 0);
  EXPECT_EQ(run.out, std::string("lockstep ") + version + "\n");
}

TEST(Program, HelpNamesTheVerbs) {
  const Outcome run({"--help"});
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.out, HasSubstr("coverage"));
  EXPECT_THAT(run.err, IsEmpty());
}

TEST(Program, EachVerbsHelpHasAnExampleAndJson) {
  for (const std::string verb :
       {"sim run", "swarm",           "matrix",           "hostile",     "replay",
        "pkt run", "pkt check",       "pkt from-capture", "pkt explain", "pkt sysctls",
        "lint",    "devices",         "coverage",         "profiles",    "serve http",
        "load",    "serve memcached", "testbed",          "doctor",      "conformance",
        "sweep",   "serve echo"}) {
    const std::size_t space = verb.find(' ');
    const std::string first = verb.substr(0, space);
    const std::string second = space == std::string::npos ? "" : verb.substr(space + 1);
    std::vector<const char*> arguments{first.c_str()};
    if (!second.empty()) {
      arguments.push_back(second.c_str());
    }
    arguments.push_back("--help");
    const Outcome run(arguments);
    EXPECT_EQ(run.code, 0);
    EXPECT_THAT(run.out, HasSubstr("Example: lockstep " + verb));
    EXPECT_THAT(run.out, HasSubstr("--json"));
    EXPECT_THAT(run.err, IsEmpty());
  }
}

// A capture of one packet, a UDP datagram.
TEST(Program, ReplayAndLintRefuseACaptureWithoutTcp) {
  const std::string path = testing::TempDir() + "program_udp.pcap";
  std::string octets("\xd4\xc3\xb2\xa1\2\0\4\0\0\0\0\0\0\0\0\0\xff\xff\0\0\x65\0\0\0", 24);
  octets += std::string("\1\0\0\0\0\0\0\0\x1c\0\0\0\x1c\0\0\0", 16);
  octets += std::string("\x45\0\0\x1c\0\0\0\0\x40\x11\0\0\x0a\0\0\1\x0a\0\0\2", 20);
  octets += std::string("\0\1\0\2\0\x08\0\0", 8);
  std::ofstream(path, std::ios::binary) << octets;
  const Outcome lint({"lint", path.c_str()});
  const Outcome replay({"replay", path.c_str()});
  EXPECT_EQ(lint.code, 2);
  EXPECT_THAT(lint.err, HasSubstr("no TCP in 1 packets (1 IP but not TCP)"));
  EXPECT_EQ(replay.code, lint.code);
  EXPECT_EQ(replay.err, lint.err);
}

TEST(Program, WrongUsageIsOneLineAndExitCodeTwo) {
  const std::vector<std::vector<const char*>> wrong = {{},
                                                       {"coverge"},
                                                       {"--bogus"},
                                                       {"coverage", "--bogus"},
                                                       {"coverage", "--rfc", "x"},
                                                       {"sim"},
                                                       {"sim", "rum"},
                                                       {"swarm"},
                                                       {"swarm", "--jobs", "0"},
                                                       {"replay"},
                                                       {"sim", "run"}};
  for (const std::vector<const char*>& arguments : wrong) {
    const Outcome run(arguments);
    EXPECT_EQ(run.code, 2);
    EXPECT_THAT(run.out, IsEmpty());
    EXPECT_THAT(run.err, StartsWith("lockstep: "));
    EXPECT_THAT(run.err, HasSubstr("--help'"));
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
  }
  EXPECT_THAT(Outcome({"coverge"}).err, HasSubstr("there is no verb 'coverge'; see 'lockstep -"));
  EXPECT_THAT(Outcome({"sim", "rum"}).err, HasSubstr("there is no verb 'rum'; see 'lockstep sim"));
  EXPECT_THAT(Outcome({"sim"}).err, HasSubstr("a verb is missing; see 'lockstep sim --help'"));
}

TEST(Program, OutputThatIsLostIsAFailure) {
  std::fflush(stdout);
  testing::internal::CaptureStderr();
  const int kept = dup(STDOUT_FILENO);
  const int full = open("/dev/full", O_WRONLY);
  dup2(full, STDOUT_FILENO);
  const char* const arguments[] = {"lockstep", "--help"};
  const int code = run_program(2, arguments);
  std::clearerr(stdout);
  dup2(kept, STDOUT_FILENO);
  close(kept);
  close(full);
  EXPECT_EQ(code, 3);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              StartsWith("lockstep: standard output cannot be written"));
}

TEST(Program, AVerbsFailureIsOneLineWithItsCode) {
  const Outcome run({"coverage", "--root", "/nonexistent"});
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, StartsWith("lockstep: /nonexistent/conformance/requirements: "));
  EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
}

TEST(Program, AFailedCheckSaysWhatFailed) {
  const char* const version_of[] = {"lockstep", "--version"};
  EXPECT_DEATH((run_program(2, version_of), check_failed({"one == two", "some.cpp", 7})),
               "internal error: CHECK\\(one == two\\) failed at some.cpp:7; please report it");
}

}  // namespace
}  // namespace lockstep::tools
