// A device in a process of its own: what it answers, and what is said of one that breaks.
#include "conformance/devices/peer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <test_paths.hpp>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "tools/base/process/failure.hpp"

namespace lockstep::conformance {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using testing::HasSubstr;

const fs::path ours = LOCKSTEP_BINARY_DIR "/devices/lockstep.so";
constexpr std::string_view setup =
    "local=10.0.0.1\nremote=10.0.0.2\nmtu=1500\nseed=1\nstart=0\nprofile=rfc\n";

/// A folder with the program `device`, a shell script with these lines.
class DevicePeerTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path script(const std::string& lines) {
    fs::path const out = folder_ / "device";
    std::ofstream(out) << "#!/bin/sh\n" << lines << "\n";
    fs::permissions(out, fs::perms::owner_all);
    return out;
  }
  std::string fault_of(const std::string& lines, milliseconds patience = std::chrono::seconds(20)) {
    try {
      DevicePeer peer(script(lines), patience);
    } catch (const DeviceFault& fault) {
      return fault.what();
    }
    return "none";
  }

  fs::path folder_;
};

TEST_F(DevicePeerTest, OursAnswers) {
  DevicePeer peer(ours);
  EXPECT_EQ(peer.about().name, "lockstep");
  EXPECT_TRUE(peer.about().abilities.contains("ipv6"));
  EXPECT_TRUE(peer.about().calls.contains("listen"));
  EXPECT_EQ(peer.about().timer_grain, 1U);
  EXPECT_EQ(peer.ask(LOCKSTEP_CALL_CREATE, 0, 0, setup).result, 0);
  EXPECT_EQ(peer.ask(LOCKSTEP_CALL_LISTEN, 80, 4).result, 1);
  EXPECT_EQ(peer.ask(LOCKSTEP_CALL_ACCEPT, 1).result, LOCKSTEP_DEVICE_AGAIN);
  EXPECT_EQ(peer.ask(LOCKSTEP_CALL_CONNECT, 1000, 80).result, 2);
  DeviceAnswer const sent = peer.ask(LOCKSTEP_CALL_ADVANCE, 0);
  ASSERT_EQ(sent.packets.size(), 1U);
  EXPECT_EQ(sent.packets[0].size(), 44U);  // a SYN with an MSS option
  // The SYN again: after the first timeout.
  DeviceAnswer const again = peer.ask(LOCKSTEP_CALL_ADVANCE, 60'000'000'000);
  EXPECT_EQ(again.now, 1'000'000'000U);
  EXPECT_EQ(again.packets.size(), 1U);
}

TEST_F(DevicePeerTest, AnOptionThatItLacksIsNamed) {
  DevicePeer peer(ours);
  DeviceAnswer const answer =
      peer.ask(LOCKSTEP_CALL_CREATE, 0, 0, std::string(setup) + "colour=red\n");
  EXPECT_LT(answer.result, 0);
  EXPECT_THAT(answer.octets, HasSubstr("colour"));
}

TEST_F(DevicePeerTest, TwoAtOnceDoNotShareAnything) {
  DevicePeer one(ours), other(ours);
  EXPECT_EQ(one.ask(LOCKSTEP_CALL_CREATE, 0, 0, setup).result, 0);
  EXPECT_EQ(other.ask(LOCKSTEP_CALL_CREATE, 0, 0, setup).result, 0);
  EXPECT_EQ(one.ask(LOCKSTEP_CALL_LISTEN, 80, 1).result, 1);
  EXPECT_EQ(other.ask(LOCKSTEP_CALL_LISTEN, 80, 1).result, 1);
}

TEST_F(DevicePeerTest, OneThatEnds) {
  EXPECT_EQ(fault_of("echo first >&2; echo boom >&2; exit 3"),
            "device OneThatEnds: about: it has ended with exit code 3: boom");
}

TEST_F(DevicePeerTest, OneThatCrashes) {
  EXPECT_EQ(fault_of("kill -SEGV $$"), "device OneThatCrashes: about: it has ended by SIGSEGV");
}

TEST_F(DevicePeerTest, OneThatPrints) {
  EXPECT_THAT(fault_of("echo Welcome to this stack; sleep 60"),
              HasSubstr("does it print to its standard output?"));
}

TEST_F(DevicePeerTest, OneThatHangs) {
  EXPECT_EQ(fault_of("sleep 60", milliseconds(50)),
            "device OneThatHangs: about: it has not answered in 0.05 s");
}

TEST_F(DevicePeerTest, OneOfAnotherVersion) {
  // An answer of 28 octets without packets, then "version 9".
  EXPECT_THAT(fault_of("printf '\\045\\0\\0\\0%28sversion 9' '' | tr ' ' '\\0'; sleep 60"),
              HasSubstr("it does not say version 3 and a timer_grain"));
}

TEST_F(DevicePeerTest, APacketThatIsLongerThanItsAnswer) {
  // One packet of 255 octets is announced, and none follows.
  EXPECT_THAT(fault_of("printf '\\041\\0\\0\\0%24s\\001\\0\\0\\0\\377\\0\\0\\0x' '' | tr ' ' '\\0';"
                       "sleep 60"),
              HasSubstr("packet 1 of the 1 in its answer has 255 octets"));
}

TEST_F(DevicePeerTest, AFileThatMayNotBeRun) {
  fs::path const path = script("exit 0");
  fs::permissions(path, fs::perms::owner_read);
  try {
    DevicePeer peer(path);
    FAIL();
  } catch (const tools::Failure& failure) {
    EXPECT_EQ(failure.code(), tools::ExitCode::bad_input);
    EXPECT_THAT(failure.what(), HasSubstr("chmod +x"));
  }
}

}  // namespace
}  // namespace lockstep::conformance
