// The verb when the program lockstep_ns3 is missing, as it is beside this test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "tools/base/process/failure.hpp"
#include "tools/verbs/verbs.hpp"

namespace lockstep::tools {
namespace {

TEST(Ns3Verb, SaysHowToGetNs3) {
  CLI::App app;
  int exit_code = 0;
  register_ns3(app, exit_code);
  try {
    app.parse("ns3 run dumbbell --seed 7");
    FAIL() << "it ran";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::environment);
    EXPECT_THAT(failure.what(),
                testing::EndsWith("lockstep_ns3 is missing: run tools/setup --with ns3, then build "
                                  "the target program_lockstep_ns3"));
  }
}

}  // namespace
}  // namespace lockstep::tools
