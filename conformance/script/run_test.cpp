// Scripts that hold and scripts that do not, and where they break.
#include "conformance/script/run.hpp"

#include <gtest/gtest.h>

#include "conformance/script/cursor.hpp"
#include "conformance/script/files.hpp"
#include "conformance/script/parse.hpp"

namespace lockstep::script {
namespace {

std::string text_of(const RunResult& result) {
  if (result.verdict == Verdict::passed) {
    return "passed";
  }
  return std::to_string(result.place.line) + ": " + result.expected +
         (result.actual.empty() ? "" : " | " + result.actual);
}

// A connection, then `rest`, from line 9 on.
std::string told(const std::string& rest, bool strict = false) {
  std::string const script =
      "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n"
      "+0 bind(3, ..., ...) = 0\n"
      "+0 listen(3, 1) = 0\n"
      "+0 < S 0:0(0) win 60000 <mss 1000,nop,nop,sackOK,nop,nop,TS val 7 ecr 0>\n"
      "+0 > S. 0:0(0) ack 1 <mss 1460,sackOK,TS val 100 ecr 7>\n"
      "+0 < . 1:1(0) ack 1 win 60000 <nop,nop,TS val 7 ecr 100>\n"
      "+0 accept(3, ..., ...) = 4\n"
      "+0 fcntl(4, F_SETFL, O_RDWR | O_NONBLOCK) = 0\n";
  RunSettings settings;
  settings.strict_segments = strict;
  try {
    return text_of(run(parse(script + rest), settings));
  } catch (const SyntaxError& error) {
    return "refused " + std::to_string(error.place().line) + ":" +
           std::to_string(error.place().column) + ": " + error.what();
  }
}

TEST(Run, AllScriptsOfTheFolderPass) {
  auto const scripts = find_scripts({LOCKSTEP_SOURCE_DIR "/conformance/script"});
  EXPECT_GE(scripts.size(), 9u);
  for (auto const& path : scripts) {
    ReadScript const read = read_script(path);
    ASSERT_TRUE(read.script) << read.fault;
    EXPECT_EQ(text_of(run(*read.script, {})), "passed") << path;
    EXPECT_EQ(text_of(run(*read.script, {})), "passed") << path;
  }
}

TEST(Run, NumbersAndStampsAreTheScripts) {
  EXPECT_EQ(told("+0 write(4, ..., 10) = 10\n"
                 "+0 > P. 1:11(10) ack 1 <nop,nop,TS val 100 ecr 7>\n"
                 "+.05 < . 1:1(0) ack 11 win 60000 <nop,nop,TS val 8 ecr 100>\n"
                 "+0 write(4, ..., 10) = 10\n"
                 "+0 > P. 11:21(10) ack 1 <nop,nop,TS val 150 ecr 8>\n"),
            "passed");
  EXPECT_EQ(told("+0 write(4, ..., 10) = 10\n"
                 "+0 > P. 1:11(10) ack 1 <nop,nop,TS val 101 ecr 7>\n"),
            "10: > P. 1:11(10) ack 1 <nop,nop,TS val 101 ecr 7> | "
            "> P. 1:11(10) ack 1 <nop,nop,TS val 100 ecr 7>");
}

TEST(Run, APacketIsHeldToItsTime) {
  std::string const write = "+0 write(4, ..., 10) = 10\n+0 > P. 1:11(10) ack 1 <...>\n";
  EXPECT_EQ(told(write + "+.2 > P. 1:11(10) ack 1 <...>\n"), "passed");
  EXPECT_EQ(told(write + "+.3 > P. 1:11(10) ack 1 <...>\n"),
            "11: > P. 1:11(10) ack 1 <...> at 0.3 | > P. 1:11(10) ack 1 <...> at 0.2");
  EXPECT_EQ(told(write + "+.199 > P. 1:11(10) ack 1 <...>\n"),
            "11: > P. 1:11(10) ack 1 <...> | nothing was sent by 0.199");
  EXPECT_EQ(told(write + "+.1~+.2 > P. 1:11(10) ack 1 <...>\n"), "passed");
  EXPECT_EQ(told(write + "* > P. 1:11(10) ack 1 <...>\n"), "passed");
}

TEST(Run, FlagsTextAndAcksAreCompared) {
  std::string const write = "+0 write(4, ..., 10) = 10\n";
  EXPECT_EQ(told(write + "+0 > . 1:11(10) ack 1 <...>\n"),
            "10: > . 1:11(10) ack 1 <...> | > P. 1:11(10) ack 1 <...>");
  EXPECT_EQ(told(write + "+0 > .P 1:11(10) ack 1 <...>\n"), "passed");
  EXPECT_EQ(told(write + "+0 > P. 1:12(11) ack 1 <...>\n"),
            "10: > P. 1:12(11) ack 1 <...> | > P. 1:11(10) ack 1 <...>");
  EXPECT_EQ(told(write + "+0 > P. 1:11(10) ack 2 <...>\n"),
            "10: > P. 1:11(10) ack 2 <...> | > P. 1:11(10) ack 1 <...>");
  EXPECT_EQ(told(write + "+0 > P. 1:11(10) ack 1\n"),
            "10: > P. 1:11(10) ack 1 | > P. 1:11(10) ack 1 <nop,nop,TS val 100 ecr 7>");
  EXPECT_EQ(told(write + "+0 > [ect0] P. 1:11(10) ack 1 <...>\n"),
            "10: > [ect0] P. 1:11(10) ack 1 <...> | > [noecn] P. 1:11(10) ack 1 <...>");
}

TEST(Run, WindowsAreComparedWhereTheyAreNamed) {
  std::string const write = "+0 write(4, ..., 10) = 10\n";
  EXPECT_EQ(told(write + "+0 > P. 1:11(10) ack 1 win 65535 <...>\n"), "passed");
  EXPECT_EQ(told(write + "+0 > P. 1:11(10) ack 1 win 1000 <...>\n"),
            "10: > P. 1:11(10) ack 1 win 1000 <...> | > P. 1:11(10) ack 1 win 65535 <...>");
}

TEST(Run, SegmentsAreMergedUnlessStrict) {
  std::string const text = "+0 write(4, ..., 2976) = 2976\n+0 > P. 1:2977(2976) ack 1 <...>\n";
  EXPECT_EQ(told(text), "passed");
  EXPECT_EQ(told(text, true),
            "10: > P. 1:2977(2976) ack 1 <...> | > . 1:989(988) ack 1 <...>");
}

TEST(Run, ResultsOfCallsAreCompared) {
  EXPECT_EQ(told("+0 read(4, ..., 10) = -1 EAGAIN (Try again)\n"), "passed");
  EXPECT_EQ(told("+0 read(4, ..., 10) = 0\n"), "9: read gave -1 EAGAIN, expected 0");
  EXPECT_EQ(told("+0 read(4, ..., 10) = -1 EPIPE\n"),
            "9: read gave -1 EAGAIN, expected -1 EPIPE");
  EXPECT_EQ(told("+0 getsockopt(4, SOL_SOCKET, SO_KEEPALIVE, [1], [4]) = 0\n"),
            "9: getsockopt: the option is 0");
  EXPECT_EQ(told("+0 poll([{fd=4, events=POLLIN, revents=POLLIN}], 1, 0) = 1\n"),
            "9: poll: revents of entry 0 is 0x0, expected 0x1; ");
  EXPECT_EQ(told("+0 write(4, ..., 5) = 5\n+0 ioctl(4, SIOCOUTQ, [5]) = 0\n"), "passed");
  EXPECT_EQ(told("+0 setsockopt(4, SOL_SOCKET, SO_LINGER, {onoff=1, linger=0}, 8) = 0\n"
                 "+0 close(4) = 0\n+0 > R 1:1(0) <...>\n"),
            "passed");
}

TEST(Run, TextThatIsReadIsCompared) {
  // What the peer sends is zeros.
  std::string const text = "+0 < P. 1:4(3) ack 1 win 60000 <nop,nop,TS val 9 ecr 100>\n";
  EXPECT_EQ(told(text + "+0 read(4, \"\\0\\0\\0\", 10) = 3\n"), "passed");
  EXPECT_EQ(told(text + "+0 read(4, \"\\0\"..., 10) = 3\n"), "passed");
  EXPECT_EQ(told(text + "+0 read(4, \"\\0\\0\", 2) = 2\n"), "passed");
  EXPECT_EQ(told(text + "+0 read(4, \"abc\", 10) = 3\n"),
            "10: read: read \"\\x00\\x00\\x00\"");
  EXPECT_NE(told(text + "+0 read(4, \"\\0\\0\", 10) = 3\n"), "passed");
}

TEST(Run, ADescriptorHasToBeWanted) {
  EXPECT_EQ(told("+0 socket(..., SOCK_STREAM, IPPROTO_TCP) = -1 EMFILE\n"),
            "9: socket gave a descriptor");
}

TEST(Run, CallsThatBlock) {
  std::string const blocking = "+0 fcntl(4, F_SETFL, O_RDWR) = 0\n";
  EXPECT_EQ(told(blocking + "+0 read(4, ..., 10) = 3\n"),
            "10: a call that returns at once; this one blocks: write when it returns, as "
            "0.1...0.2, or set O_NONBLOCK");
  std::string const text = "+.5 < P. 1:4(3) ack 1 win 60000 <nop,nop,TS val 9 ecr 100>\n";
  EXPECT_EQ(told(blocking + "+0...0.5 read(4, ..., 10) = 3\n" + text), "passed");
  EXPECT_EQ(told(blocking + "+0...0.6 read(4, ..., 10) = 3\n" + text),
            "10: the call to return at 0.6; it did at 0.5");
  EXPECT_EQ(told(blocking + "+0...0.4 read(4, ..., 10) = 3\n"),
            "10: the call to return; it blocks still");
}

TEST(Run, WhatIsNotKnownIsRefusedByName) {
  EXPECT_EQ(told("+0 splice(4, 5) = 0\n"),
            "refused 9:1: 'splice' is no call that can be made here");
  EXPECT_EQ(told("+0 setsockopt(4, SOL_SOCKET, SO_NOSUCH, [1], 4) = 0\n"),
            "refused 9:30: 'SO_NOSUCH' is no name that is known here");
  EXPECT_EQ(told("+0 `sysctl -q x=1`\n"),
            "refused 9:1: code and commands are not known to this runner");
  EXPECT_EQ(told("+0 < icmp source_quench [1:2(1)]\n"),
            "refused 9:1: ICMP is no packet that this runner knows");
  EXPECT_THROW(run(parse("--mtu=100\n"), {}), SyntaxError);
  EXPECT_THROW(run(parse("`ls`\n"), {}), SyntaxError);
}

TEST(Run, TimeDoesNotRunBackwards) {
  EXPECT_EQ(told("+1 write(4, ..., 1) = 1\n0.5 write(4, ..., 1) = 1\n"),
            "10: the time of this event has passed: it is 1 already");
}

}  // namespace
}  // namespace lockstep::script
