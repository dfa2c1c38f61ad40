// Worlds of two devices: equal twice, without findings for our own, and with one for each fault.
#include "conformance/interop/interop.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <test_paths.hpp>

#include <filesystem>
#include <fstream>
#include <string>

#include "sim/faults/partition.hpp"

namespace lockstep::conformance {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const fs::path ours = LOCKSTEP_BINARY_DIR "/devices/lockstep.so";
const InteropPair both{ours, ours};

/// A world without faults, in which both sides send something.
InteropWorld calm(std::uint64_t seed) {
  InteropWorld out = draw_interop(seed);
  out.world.lane_faults.clear();
  for (std::size_t i = 0; i < 2; ++i) {
    out.plans[i].send = out.plans[1 - i].receive = 5'000;
    out.plans[i].read_every = {};
  }
  return out;
}

TEST(Interop, OurOwnDeviceHasNoFindings) {
  std::uint64_t octets = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    InteropRun const run = run_interop(both, seed);
    EXPECT_EQ(run.left_out, "") << seed;
    for (InteropFinding const& finding : run.findings) {
      ADD_FAILURE() << seed << " " << run.words << "\n"
                    << finding.device << ": " << finding.what << " " << finding.detail;
    }
    octets += run.octets;
  }
  EXPECT_GT(octets, 1'000'000U);
}

TEST(Interop, TheSameSeedIsTheSameRun) {
  for (std::uint64_t seed : {1U, 7U, 12U}) {
    InteropRun const one = run_interop(both, seed, true);
    InteropRun const again = run_interop(both, seed, true);
    EXPECT_EQ(one.fingerprint, again.fingerprint);
    EXPECT_EQ(one.capture, again.capture);
    EXPECT_THAT(one.capture, Not(IsEmpty()));
    EXPECT_NE(one.fingerprint, run_interop(both, seed + 1).fingerprint);
  }
}

TEST(Interop, DrawsBothFamiliesFaultsAndSlowReaders) {
  std::uint32_t six = 0, faults = 0, slow = 0, default_profile = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    InteropWorld const drawn = draw_interop(seed);
    six += drawn.ipv6 ? 1 : 0;
    faults += drawn.world.lane_faults.empty() ? 0 : 1;
    slow += drawn.plans[0].read_every.ns != 0 ? 1 : 0;
    default_profile += drawn.profiles[0] == "default" ? 1 : 0;
    EXPECT_NE(drawn.plans[0].opens, drawn.plans[1].opens);
    EXPECT_EQ(drawn.plans[0].send, drawn.plans[1].receive);
    EXPECT_TRUE(sim::fault_of(drawn.world).none()) << sim::fault_of(drawn.world).what;
  }
  EXPECT_GT(six, 30U);
  EXPECT_GT(faults, 100U);
  EXPECT_GT(slow, 25U);
  EXPECT_GT(default_profile, 60U);
}

TEST(Interop, AnOctetThatDiffersIsFound) {
  InteropWorld drawn = calm(3);
  drawn.plans[0].peers_pattern ^= 1;  // not what the other side writes
  InteropRun const run = run_interop(both, 3, drawn);
  ASSERT_FALSE(run.findings.empty());
  EXPECT_EQ(run.findings[0].kind, InteropFinding::Kind::stream);
  EXPECT_EQ(run.findings[0].what, "octet N of the stream is not the one that was written");
  EXPECT_THAT(run.capture, Not(IsEmpty()));
}

TEST(Interop, AStreamThatEndsEarlyIsFound) {
  InteropWorld drawn = calm(4);
  drawn.plans[1].receive += 1;
  InteropRun const run = run_interop(both, 4, drawn);
  ASSERT_FALSE(run.findings.empty());
  EXPECT_EQ(run.findings[0].detail, "the stream ended after 5000 of 5001 octets");
}

TEST(Interop, ALinkThatNeverHealsEndsAsAFinding) {
  InteropWorld drawn = calm(5);
  sim::LaneFaultSpec cut;
  cut.name = "cut";
  cut.active.from = Instant{Duration::milliseconds(1).ns};
  cut.fault = sim::Partition{};
  drawn.world.lane_faults.push_back(cut);
  drawn.world.limit = Duration::seconds(100);
  InteropRun const run = run_interop(both, 5, drawn);
  ASSERT_FALSE(run.findings.empty());
  EXPECT_EQ(run.findings[0].kind, InteropFinding::Kind::liveness);
}

TEST(Interop, ADeviceThatEndsIsFound) {
  fs::path const folder = fs::path(testing::TempDir()) / "interop_broken";
  fs::create_directories(folder);
  std::ofstream(folder / "device") << "#!/bin/sh\necho no stack >&2\nexit 1\n";
  fs::permissions(folder / "device", fs::perms::owner_all);
  InteropRun const run = run_interop({ours, folder / "device"}, 1);
  ASSERT_EQ(run.findings.size(), 1U);
  EXPECT_EQ(run.findings[0].kind, InteropFinding::Kind::device);
  EXPECT_EQ(run.findings[0].device, "interop_broken");
  EXPECT_THAT(run.findings[0].what, HasSubstr("no stack"));
  fs::remove_all(folder);
}

}  // namespace
}  // namespace lockstep::conformance
