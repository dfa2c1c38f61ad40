// The command line's own behaviour: help, version, and one line for each wrong usage.
#include "tools/cli/program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tools/cli/version.hpp"

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

TEST(Program, VersionIsTheBuilds) {
  const Outcome run({"--version"});
  EXPECT_EQ(run.code, 0);
  EXPECT_EQ(run.out, std::string("lockstep ") + version + "\n");
  std::ostringstream build;
  build << std::ifstream(LOCKSTEP_SOURCE_DIR "/CMakeLists.txt").rdbuf();
  EXPECT_THAT(build.str(), HasSubstr(std::string("project(lockstep VERSION ") + version));
}

TEST(Program, HelpNamesTheVerbs) {
  const Outcome run({"--help"});
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.out, HasSubstr("coverage"));
  EXPECT_THAT(run.err, IsEmpty());
}

TEST(Program, EachVerbsHelpHasAnExample) {
  const Outcome run({"coverage", "--help"});
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.out, HasSubstr("Example: lockstep coverage"));
}

TEST(Program, WrongUsageIsOneLineAndTwo) {
  const std::vector<std::vector<const char*>> wrong = {
      {}, {"coverge"}, {"--bogus"}, {"coverage", "--bogus"}, {"coverage", "--rfc", "seven"}};
  for (const std::vector<const char*>& arguments : wrong) {
    const Outcome run(arguments);
    EXPECT_EQ(run.code, 2);
    EXPECT_THAT(run.out, IsEmpty());
    EXPECT_THAT(run.err, StartsWith("lockstep: "));
    EXPECT_THAT(run.err, HasSubstr("--help'"));
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
  }
  EXPECT_THAT(Outcome({"coverge"}).err, HasSubstr("there is no verb 'coverge'"));
}

TEST(Program, AVerbsFailureIsOneLineWithItsCode) {
  const Outcome run({"coverage", "--root", "/nonexistent"});
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, StartsWith("lockstep: /nonexistent/conformance/requirements: "));
  EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
}

}  // namespace
}  // namespace lockstep::tools
