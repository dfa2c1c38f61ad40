// Scripts on a device: ours passes what our stack passes, and what a device lacks is said.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <test_paths.hpp>

#include <filesystem>
#include <map>
#include <string>

#include "conformance/script/report.hpp"
#include "conformance/script/script_kit.hpp"

namespace lockstep::conformance::script {
namespace {

using testing::HasSubstr;

const std::filesystem::path ours = LOCKSTEP_BINARY_DIR "/devices/lockstep.so";

Ran run_on_device(const std::string& text) {
  Overrides overrides;
  overrides.device = ours;
  Arena arena;
  return run(parse("device.pkt", text, {}), overrides, arena);
}

constexpr const char* handshake = R"(--profile=rfc
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+.1 < S 0:0(0) win 32792 <mss 1460>
+0 > S. 0:0(0) ack 1 <mss 1460>
+.1 < . 1:1(0) ack 1 win 32792
+0 accept(3, ..., ...) = 4
)";

TEST(ScriptOnDevice, OursPassesEveryScriptThatItHasTheCallsFor) {
  Batch batch;
  batch.overrides.device = ours;
  batch.jobs = 2;
  Report const report = run_all(find_scripts({"conformance/script"}), batch);
  EXPECT_EQ(report.count(Verdict::failed), 0U) << table_text(report, true, 0);
  EXPECT_EQ(report.count(Verdict::bad), 0U) << table_text(report, true, 0);
  EXPECT_GE(report.count(Verdict::passed), 225U) << table_text(report, true, 0);
}

TEST(ScriptOnDevice, AnotherExpectationFails) {
  Ran const ran = run_on_device(std::string(handshake) +
                                "+.1 < P. 1:11(10) ack 1 win 32792\n"
                                "+0 > . 1:1(0) ack 12\n");
  EXPECT_EQ(ran.verdict, Verdict::failed);
  EXPECT_THAT(finding_text(ran), HasSubstr("ack"));
  EXPECT_FALSE(ran.capture.empty());
}

TEST(ScriptOnDevice, ATimerFailsThatExpiresAtAnotherInstant) {
  std::string const text = std::string(handshake) +
                           "+0 write(4, ..., 100) = 100\n"
                           "+0 > P. 1:101(100) ack 1\n";
  Ran const right = run_on_device(text + "+1 > P. 1:101(100) ack 1\n");
  EXPECT_EQ(right.verdict, Verdict::passed) << finding_text(right);
  Ran const wrong = run_on_device(text + "+1.000001 > P. 1:101(100) ack 1\n");
  EXPECT_EQ(wrong.verdict, Verdict::failed);
}

TEST(ScriptOnDevice, ACallThatWaits) {
  std::string const text = "--config=delayed_acks=false\n" + std::string(handshake) +
                           "+0...0.5 read(4, ..., 100) = 10\n";
  Ran const right = run_on_device(text +
                                  "+.5 < P. 1:11(10) ack 1 win 32792\n"
                                  "+0 > . 1:1(0) ack 11\n");
  EXPECT_EQ(right.verdict, Verdict::passed) << finding_text(right);
  Ran const late = run_on_device(text +
                                 "+.6 < P. 1:11(10) ack 1 win 32792\n"
                                 "+0 > . 1:1(0) ack 11\n");
  EXPECT_EQ(late.verdict, Verdict::failed);
  EXPECT_THAT(finding_text(late), HasSubstr("read"));
}

TEST(ScriptOnDevice, WhatItLacksLeavesTheScriptOut) {
  Ran const ran = run_on_device(std::string(handshake) + "+0 epoll_create(1) = 5\n");
  EXPECT_EQ(ran.verdict, Verdict::left_out);
  EXPECT_EQ(ran.reason, "the device has no epoll");
  EXPECT_EQ(ran.exit_code, 0);
}

TEST(ScriptOnDevice, AssertionsAreCountedThatWereNotAsked) {
  Ran const ran =
      run_on_device(std::string(handshake) + "+0 %{ assert tcpi_state == 7, tcpi_state }%\n");
  EXPECT_EQ(ran.verdict, Verdict::passed) << finding_text(ran);
  EXPECT_EQ(ran.unasked, 1U);
}

TEST(ScriptOnDevice, SettingsOfTheScriptReachIt) {
  // Without delayed ACKs each segment is acknowledged at once.
  Ran const ran = run_on_device("--config=delayed_acks=false\n" + std::string(handshake) +
                                "+.1 < P. 1:11(10) ack 1 win 32792\n"
                                "+0 > . 1:1(0) ack 11\n");
  EXPECT_EQ(ran.verdict, Verdict::passed) << finding_text(ran);
}

TEST(ScriptOnDevice, AnAckMayComeSoonerThanOneOfOurs) {
  std::string const at_once = "--config=delayed_acks=false\n" + std::string(handshake);
  for (const char* const rest : {"+.1 < P. 1:11(10) ack 1 win 32792\n"
                                 "+.2 > . 1:1(0) ack 11\n",
                                 "+.1 < P. 1:11(10) ack 1 win 32792\n"
                                 "+0 < P. 11:21(10) ack 1 win 32792\n"
                                 "+0 > . 1:1(0) ack 21\n",
                                 "+.1 < P. 1:11(10) ack 1 win 32792\n"
                                 "+.01 write(4, ..., 10) = 10\n"
                                 "+0 > P. 1:11(10) ack 11\n",
                                 "+.1 < P. 1:11(10) ack 1 win 32792\n"}) {
    Ran const ran = run_on_device(at_once + rest);
    EXPECT_EQ(ran.verdict, Verdict::passed) << finding_text(ran);
    EXPECT_EQ(run_text(at_once + rest).verdict, Verdict::failed) << rest;
  }
  // One ACK twice is none of new data.
  Ran const ran = run_on_device(at_once +
                                "+.1 < P. 1:11(10) ack 1 win 32792\n"
                                "+.1 < P. 1:11(10) ack 1 win 32792\n");
  EXPECT_EQ(ran.verdict, Verdict::failed);
}

TEST(ScriptOnDevice, AWindowThatIsNotZeroIsTheDevicesChoice) {
  std::string const start =
      "--profile=rfc\n--config=receive_buffer_bytes=1000\n"
      "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n"
      "+0 bind(3, ..., ...) = 0\n+0 listen(3, 1) = 0\n"
      "+.1 < S 0:0(0) win 32792 <mss 1460>\n";
  std::string const other = start + "+0 > S. 0:0(0) ack 1 win 999 <mss 1460>\n";
  EXPECT_EQ(run_on_device(other).verdict, Verdict::passed);
  EXPECT_EQ(run_text(other).verdict, Verdict::failed);
  std::string const zero = start + "+0 > S. 0:0(0) ack 1 win 0 <mss 1460>\n";
  EXPECT_EQ(run_on_device(zero).verdict, Verdict::failed);
}

TEST(ScriptOnDevice, TheReportCountsWhatIsLeftOut) {
  Report report;
  report.device = "lwip";
  report.scripts.resize(3);
  report.scripts[0].file = "a.pkt";
  report.scripts[1].file = "b.pkt";
  report.scripts[1].verdict = Verdict::left_out;
  report.scripts[1].reason = "the device has no epoll";
  report.scripts[2].file = "c.pkt";
  report.scripts[2].unasked = 2;
  EXPECT_THAT(table_text(report, false, 0),
              HasSubstr("device lwip: 1 scripts are left out, 2 assertions were not asked\n"
                        "     1  the device has no epoll\n"));
  EXPECT_THAT(tap_text(report), HasSubstr("ok 2 - b.pkt # SKIP the device has no epoll"));
  EXPECT_THAT(junit_text(report), HasSubstr("<skipped message=\"the device has no epoll\"/>"));
  EXPECT_THAT(json_text(report), HasSubstr("\"left_out\": 1"));
  EXPECT_EQ(report.exit_code(), 0);
}

}  // namespace
}  // namespace lockstep::conformance::script
