// `lockstep swarm --devices`: the same result for any number of jobs.
#include "tools/verbs/swarm/devices.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <test_paths.hpp>

#include "tools/base/process/failure.hpp"

namespace lockstep::tools {
namespace {

using testing::HasSubstr;

const std::string ours = LOCKSTEP_BINARY_DIR "/devices/lockstep.so";

TEST(DeviceSwarm, IsTheSameForAnyNumberOfJobs) {
  DeviceSwarmOptions options{{ours}, {10, 21}, 1, "", ""};
  DeviceSwarmResult const one = run_device_swarm(options);
  options.jobs = 3;
  DeviceSwarmResult const three = run_device_swarm(options);
  EXPECT_EQ(one.fingerprint, three.fingerprint);
  ASSERT_EQ(one.pairs.size(), 1U);
  EXPECT_EQ(one.pairs[0].worlds, 12U);
  EXPECT_EQ(one.pairs[0].octets, three.pairs[0].octets);
  EXPECT_GT(one.pairs[0].octets, 10'000U);
  EXPECT_TRUE(one.faults.empty());
}

TEST(DeviceSwarm, EveryPairIsRun) {
  DeviceSwarmResult const result = run_device_swarm({{ours, ours}, {0, 5}, 2, "", ""});
  ASSERT_EQ(result.pairs.size(), 3U);
  for (PairTally const& pair : result.pairs) {
    EXPECT_EQ(pair.pair, "lockstep + lockstep");
    EXPECT_EQ(pair.worlds, 2U);
  }
}

TEST(DeviceSwarm, AnUnknownDeviceIsBadInput) {
  try {
    run_device_swarm({{"no_such"}, {0, 0}, 1, "", ""});
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::bad_input);
    EXPECT_THAT(failure.what(), HasSubstr("no_such"));
  }
}

}  // namespace
}  // namespace lockstep::tools
