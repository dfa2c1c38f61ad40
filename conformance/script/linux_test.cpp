// Scripts of profile linux on Linux's kernel: its calls and sysctls, compared without exceptions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <test_paths.hpp>

#include <filesystem>
#include <string>

#include "conformance/script/report.hpp"
#include "conformance/script/script_kit.hpp"
#include "conformance/script/settings.hpp"
#include "tools/base/process/failure.hpp"

namespace lockstep::conformance::script {
namespace {

using testing::HasSubstr;

Ran run_on_linux(const std::string& text, Overrides overrides = {}) {
  overrides.device = LOCKSTEP_BINARY_DIR "/devices/linux.so";
  Arena arena;
  return run(parse("linux.pkt", "--profile=linux\n" + text, {}), overrides, arena);
}

bool is_missing(const Ran& ran) { return ran.reason.find("there is no kernel") != ran.reason.npos; }

constexpr const char* accepted = R"(`sysctl net.ipv4.tcp_timestamps=0 net.ipv4.tcp_sack=0`
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 65535 <mss 1000>
+0 > S. 0:0(0) ack 1 win 64240 <mss 1460>
+.1 < . 1:1(0) ack 1 win 65535
+0 accept(3, ..., ...) = 4
)";

TEST(ScriptOnLinux, RunsWithItsOwnCallsAndSysctls) {
  Ran const ran = run_on_linux(std::string(accepted) +
                               "+0 setsockopt(4, SOL_SOCKET, SO_SNDBUF, [10000], 4) = 0\n"
                               "+0 getsockopt(4, SOL_SOCKET, SO_SNDBUF, [20000], [4]) = 0\n"
                               "+0 write(4, ..., 100) = 100\n"
                               "+0 > P. 1:101(100) ack 1\n"
                               "+0 %{ assert tcpi_unacked == 1 and tcpi_rtt == 100000 }%\n"
                               "+0 epoll_create(1) = 5\n"
                               "+0 epoll_ctl(5, EPOLL_CTL_ADD, 4, {events=EPOLLIN, fd=4}) = 0\n"
                               "+0 epoll_wait(5, {}, 1, 0) = 0\n"
                               "+.1 < P. 1:11(10) ack 101 win 65535\n"
                               "+0 > . 101:101(0) ack 11\n"
                               "+0 epoll_wait(5, {events=EPOLLIN, fd=4}, 1, 0) = 1\n"
                               "+0 epoll_create(1) = 6\n"
                               "+0 close(5) = 0\n"
                               "+0 epoll_create(1) = 7\n"
                               "+0 epoll_wait(6, {}, 1, 0) = 0\n"
                               "+0 epoll_wait(7, {}, 1, 0) = 0\n"
                               "+0 ioctl(4, SIOCINQ, [10]) = 0\n"
                               "+0 read(4, ..., 100) = 10\n"
                               "+0 read(4, ..., 100) = -1 EAGAIN\n");
  if (is_missing(ran)) {
    GTEST_SKIP() << ran.reason;
  }
  EXPECT_EQ(ran.verdict, Verdict::passed) << finding_text(ran);
}

TEST(ScriptOnLinux, ASysctlWhileItRuns) {
  std::string const text = std::string(accepted) +
                           "+0 `sysctl net.ipv4.tcp_timestamps=1`\n"
                           "+0 < 9 > 8080 S 0:0(0) win 65535 <mss 1000,TS val 7 ecr 0>\n";
  Ran const on =
      run_on_linux(text + "+0 > 8080 > 9 S. 0:0(0) ack 1 <mss 1460,nop,nop,TS val 1 ecr 7>\n");
  if (is_missing(on)) {
    GTEST_SKIP() << on.reason;
  }
  EXPECT_EQ(on.verdict, Verdict::passed) << finding_text(on);
  Ran const off = run_on_linux(text + "+0 > 8080 > 9 S. 0:0(0) ack 1 <mss 1460>\n");
  EXPECT_EQ(off.verdict, Verdict::failed);
}

TEST(ScriptOnLinux, ComparesWindowsPushAndAcks) {
  std::string const start(accepted);
  Ran const window = run_on_linux(
      "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n"
      "+0 bind(3, ..., ...) = 0\n+0 listen(3, 1) = 0\n"
      "+0 < S 0:0(0) win 65535 <mss 1000>\n"
      "+0 > S. 0:0(0) ack 1 win 64000 <mss 1460>\n");
  if (is_missing(window)) {
    GTEST_SKIP() << window.reason;
  }
  EXPECT_THAT(finding_text(window), HasSubstr("! window    64000     64240"));
  Ran const push = run_on_linux(start +
                                "+0 write(4, ..., 100) = 100\n"
                                "+0 > . 1:101(100) ack 1\n");
  EXPECT_EQ(push.verdict, Verdict::failed);
  Ran const early = run_on_linux(start +
                                 "+.1 < P. 1:11(10) ack 1 win 65535\n"
                                 "+.2 > . 1:1(0) ack 11\n");
  EXPECT_EQ(early.verdict, Verdict::failed);
}

// The RTO of 300 ms expires 304 ms after the write: at a step of the kernel's timer wheel.
TEST(ScriptOnLinux, AStepOfTheTimerWheelIsNoFindingUnlessTimesAreExact) {
  std::string const text = std::string(accepted) +
                           "+0 write(4, ..., 100) = 100\n"
                           "+0 > P. 1:101(100) ack 1\n"
                           "+.3 > P. 1:101(100) ack 1\n";
  Ran const ran = run_on_linux(text);
  if (is_missing(ran)) {
    GTEST_SKIP() << ran.reason;
  }
  EXPECT_EQ(ran.verdict, Verdict::passed) << finding_text(ran);
  Overrides exact;
  exact.exact_times = true;
  EXPECT_EQ(run_on_linux(text, exact).verdict, Verdict::failed);
}

TEST(ScriptOnLinux, WhatItCannotTakeLeavesTheScriptOut) {
  Ran const other = run_on_linux("`sysctl net.inet.tcp.msl=100`\n" + std::string(accepted));
  if (is_missing(other)) {
    GTEST_SKIP() << other.reason;
  }
  Ran const field = run_on_linux("--config=sack=true\n" + std::string(accepted));
  EXPECT_EQ(field.reason, "the kernel has no field sack");
  EXPECT_EQ(other.reason, "the kernel has no setting net.inet.tcp.msl");
  Ran const value = run_on_linux("`sysctl net.ipv4.tcp_ecn=9`\n" + std::string(accepted));
  EXPECT_THAT(value.reason, HasSubstr("the kernel refuses net.ipv4.tcp_ecn=9"));
}

TEST(ScriptOnLinux, ASynOfAConnectionThatCannotBeSeenKeepsItsNumbers) {
  Ran const ran = run_on_linux(
      "`sysctl net.ipv4.tcp_timestamps=0 net.ipv4.tcp_sack=0`\n"
      "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n"
      "+0 bind(3, ..., ...) = 0\n+0 listen(3, 1) = 0\n"
      "+0 < S 0:0(0) win 65535 <mss 1000>\n"
      "+0 > S. 0:0(0) ack 1 <mss 1460>\n"
      "+.1 < . 1:1(0) ack 1 win 65535\n"
      "+.1 < S 100:100(0) win 65535 <mss 1000>\n"
      "+0 > . 1:1(0) ack 1\n");
  if (is_missing(ran)) {
    GTEST_SKIP() << ran.reason;
  }
  EXPECT_EQ(ran.verdict, Verdict::passed) << finding_text(ran);
}

TEST(ScriptOnLinux, WhatOpensOrRefusesAConnectionIsNumberedAsOnOurStack) {
  std::string const text =
      "`sysctl net.ipv4.tcp_timestamps=0 net.ipv4.tcp_sack=0`\n"
      "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n"
      "+0 bind(3, ..., ...) = 0\n+0 listen(3, 1) = 0\n"
      "+0 < S 0:0(0) win 65535 <mss 1000>\n"
      "+0 > S. 0:0(0) ack 1 <mss 1460>\n";
  Ran const refused = run_on_linux(text +
                                   "+.1 < R 1:1(0) win 0\n"
                                   "+0 close(3) = 0\n"
                                   "+.1 < S 100:100(0) win 65535 <mss 1000>\n"
                                   "+0 > R. 0:0(0) ack 101 win 0\n");
  if (is_missing(refused)) {
    GTEST_SKIP() << refused.reason;
  }
  EXPECT_EQ(refused.verdict, Verdict::passed) << finding_text(refused);
  Ran const another = run_on_linux(text +
                                   "+.1 < 1002 > 8080 S 0:0(0) win 65535 <mss 1000>\n"
                                   "+.1 read(3, ..., 1) = 1\n");
  EXPECT_THAT(finding_text(another), HasSubstr("> S. 0:0(0) ack 1"));
}

TEST(ScriptOnLinux, WhatIsQueuedAndWhereUrgentDataEnds) {
  Ran const ran = run_on_linux(std::string(accepted) +
                               "+0 ioctl(4, SIOCOUTQ, [0]) = 0\n"
                               "+0 write(4, ..., 2500) = 2500\n"
                               "+0 > P. 1:2001(2000) ack 1\n"
                               "+0 > P. 2001:2501(500) ack 1\n"
                               "+0 ioctl(4, SIOCOUTQ, [2500]) = 0\n"
                               "+.1 < PU. 1:11(10) ack 1001 win 1500 urg 5\n"
                               "+0 write(4, ..., 100) = 100\n"
                               "+0 ioctl(4, SIOCOUTQ, [1600]) = 0\n"
                               "+0 ioctl(4, SIOCOUTQNSD, [100]) = 0\n"
                               "+0 shutdown(4, SHUT_WR) = 0\n"
                               "+0 ioctl(4, SIOCOUTQ, [1601]) = 0\n"
                               "+0 ioctl(4, SIOCATMARK, [0]) = 0\n"
                               "+0 read(4, ..., 100) = 4\n"
                               "+0 ioctl(4, SIOCATMARK, [1]) = 0\n"
                               "+0 ioctl(3, SIOCOUTQ, [0]) = -1 EINVAL\n"
                               "+0 read(4, ..., 100) = 5\n"
                               "+0 ioctl(4, SIOCATMARK, [0]) = 0\n"
                               "+0~+.1 > . 2501:2501(0) ack 11\n");
  if (is_missing(ran)) {
    GTEST_SKIP() << ran.reason;
  }
  EXPECT_EQ(ran.verdict, Verdict::passed) << finding_text(ran);
}

TEST(ScriptOnLinux, WhatCanBeReadFromASocketWithoutAConnection) {
  Ran const ran = run_on_linux(std::string(accepted) +
                               "+0 ioctl(3, SIOCINQ, [0]) = -1 EINVAL\n"
                               "+0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 5\n"
                               "+0 ioctl(5, SIOCINQ, [0]) = 0\n"
                               "+0 ioctl(5, SIOCATMARK, [0]) = 0\n");
  if (is_missing(ran)) {
    GTEST_SKIP() << ran.reason;
  }
  EXPECT_EQ(ran.verdict, Verdict::passed) << finding_text(ran);
  // A read would take the error of the reset, which ioctl() leaves.
  for (char const* const request : {"SIOCINQ", "SIOCATMARK"}) {
    Ran const failed = run_on_linux(std::string(accepted) + "+.1 < R. 1:1(0) ack 1 win 0\n" +
                                    "+0 ioctl(4, " + request + ", [0]) = 0\n");
    EXPECT_EQ(failed.verdict, Verdict::left_out) << finding_text(failed);
    EXPECT_THAT(failed.reason, HasSubstr("has an error"));
  }
}

TEST(ScriptOnLinux, ASilenceOfHoursPasses) {
  Ran const ran = run_on_linux(std::string(accepted) +
                               "+20000 < P. 1:11(10) ack 1 win 65535\n"
                               "+0 > . 1:1(0) ack 11\n");
  if (is_missing(ran)) {
    GTEST_SKIP() << ran.reason;
  }
  EXPECT_EQ(ran.verdict, Verdict::passed) << finding_text(ran);
}

TEST(ScriptOnLinux, ASettingOfTheRouteIsRefusedByItsPlace) {
  for (const char* const value : {"99999999999999999999999", "some"}) {
    try {
      run_on_linux("`ip route change 192.168.0.0/16 dev tun0 initcwnd " + std::string(value) +
                   "`\n" + accepted);
      ADD_FAILURE() << value;
    } catch (const tools::Failure& failure) {
      EXPECT_THAT(failure.what(), HasSubstr("linux.pkt:2")) << value;
    }
  }
}

TEST(ScriptOnLinux, AnotherLibraryOfThatNameIsNotTheKernel) {
  std::filesystem::path const folder = std::filesystem::path(LOCKSTEP_BINARY_DIR) / "another";
  std::filesystem::create_directories(folder);
  std::filesystem::copy_file(LOCKSTEP_BINARY_DIR "/devices/lockstep.so", folder / "linux.so",
                             std::filesystem::copy_options::overwrite_existing);
  Overrides overrides;
  overrides.device = folder / "linux.so";
  Script const script = parse("linux.pkt", "--profile=linux\n" + std::string(accepted), {});
  EXPECT_FALSE(plan_of(script, overrides).original);
  overrides.device = LOCKSTEP_BINARY_DIR "/devices/linux.so";
  EXPECT_TRUE(plan_of(script, overrides).original);
}

}  // namespace
}  // namespace lockstep::conformance::script
