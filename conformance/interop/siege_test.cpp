// Devices under attack: ours serves its clients, equal plans are equal runs, and a device that
// breaks is named.
#include "conformance/interop/siege.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <test_paths.hpp>

#include <filesystem>
#include <fstream>

namespace lockstep::conformance {
namespace {

namespace fs = std::filesystem;
using sim::Attack;
using testing::HasSubstr;

const fs::path ours = LOCKSTEP_BINARY_DIR "/devices/lockstep.so";

TEST(Siege, OursServesItsClients) {
  SiegePlan plan{ours, ours, Attack::syn_flood, 0, 1};
  SiegeReport const quiet = run_siege(plan);
  ASSERT_TRUE(quiet.honest_done) << quiet.fault << quiet.wrong;
  EXPECT_EQ(quiet.frames_in, 0U);
  plan.frames = 100;
  for (Attack const attack : {Attack::syn_flood, Attack::sequence_guesses, Attack::urgent_games}) {
    plan.attack = attack;
    SiegeReport const report = run_siege(plan);
    EXPECT_TRUE(report.honest_done) << name_of(attack) << report.fault << report.wrong;
    EXPECT_GE(report.frames_in, 70U) << name_of(attack);
    EXPECT_LE(report.honest.ns, quiet.honest.ns * 2) << name_of(attack);
  }
}

TEST(Siege, TheSamePlanIsTheSameRun) {
  SiegePlan plan{ours, ours, Attack::syn_flood, 50, 7};
  SiegeReport const one = run_siege(plan), again = run_siege(plan);
  EXPECT_EQ(one.fingerprint, again.fingerprint);
  EXPECT_EQ(one.capture, again.capture);
  plan.attack = Attack::ack_storm;
  EXPECT_NE(run_siege(plan).fingerprint, one.fingerprint);
}

TEST(Siege, NamesADeviceThatEnds) {
  fs::path const folder = fs::path(testing::TempDir()) / "siege";
  fs::create_directories(folder);
  fs::path const device = folder / "device";
  std::ofstream(device) << "#!/bin/sh\nexit 3\n";
  fs::permissions(device, fs::perms::owner_all);
  SiegeReport const report = run_siege({device, ours, Attack::syn_flood, 10, 1});
  EXPECT_THAT(report.fault, HasSubstr("about: it has ended with exit code 3"));
  EXPECT_FALSE(report.honest_done);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace lockstep::conformance
