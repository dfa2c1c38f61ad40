// The script language: what is parsed, what is refused and where, and what a run finds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conformance/script/packet.hpp"
#include "conformance/script/report.hpp"
#include "conformance/script/script_kit.hpp"
#include "conformance/script/sysctl.hpp"

namespace lockstep::conformance::script {
namespace {

using testing::HasSubstr;

TEST(Script, PassesAndCounts) {
  Ran const ran = run_text(open_passively +
                           "+0 write(4, ..., 10) = 10\n"
                           "+0 > P. 1:11(10) ack 1\n");
  EXPECT_EQ(ran.verdict, Verdict::passed) << finding_text(ran);
  EXPECT_EQ(ran.packets_in, 2u);
  EXPECT_EQ(ran.packets_out, 2u);
  EXPECT_EQ(ran.virtual_ns, 100'000'000u);
}

struct Refused {
  std::string text;
  std::string where, what;
};

TEST(Script, RefusesWithLineAndColumn) {
  const std::string socket = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n";
  const std::vector<Refused> cases = {
      {"", ":1:1: ", "has no event"},
      {"hello\n", ":1:1: ", "expected a time"},
      {"0 sokcet(..., SOCK_STREAM, IPPROTO_TCP) = 3\n",
       ":1:3: ", "the call sokcet is not known (did you mean 'socket'?)"},
      {"0 socket(..., SOCK_STREAM) = 3\n", ":1:3: ", "has 2 arguments, expected 3"},
      {"0 socket(..., SOCK_STREEM, 0) = 3\n", ":1:15: ", "the name SOCK_STREEM"},
      {"0 close(3) = -1 EBAD\n", ":1:17: ", "the errno EBAD"},
      {"0 close(3)\n", ":2:1: ", "expected '='"},
      {"0 poll([{fd=3, 4], 1, 0) = 0\n", ":1:16: ", "some items here have names"},
      {socket + "+0 < X 0:0(0) win 1\n", ":2:6: ", "flags of F S R P"},
      {socket + "+0 < S 0:1(0) win 1\n", ":2:8: ", "is not 0 long"},
      {socket + "+0 < . 0:0(0) ack ... win 1\n", ":2:19: ", "an acknowledgment"},
      {socket + "+0 < . 0:0(0) ack 1 win 1 <TS val ... ecr 1>\n", ":2:28: ", "cannot be ..."},
      {socket + "+0 < S 0:0(0) win 65536\n", ":2:19: ", "out of range"},
      {socket + "+0 < S 0:0(0) win 1 <mss 1460,sak>\n", ":2:31: ", "the TCP option sak"},
      {socket + "+0 > S 0:0(0) <nop>\n", ":2:16: ", "a multiple of 4"},
      {socket + "+0 < udp (10)\n", ":2:6: ", "neither UDP nor tunnels"},
      {socket + "+0 < icmp unreachable nowhere\n", ":2:23: ", "a code of ICMP"},
      {socket + "+0.2...0.1 accept(3, ..., ...) = 4\n", ":2:8: ", "before it begins"},
      {socket + "+0~+1 < S 0:0(0) win 1\n",
       ":2:1: ", "an open time is only for packets of the stack"},
      {"1 close(3) = 0\n0.5 close(3) = 0\n", ":2:1: ", "before that of the previous event"},
      {"/* a\n0 close(3) = 0\n", ":1:1: ", "does not end"},
      {"--mtoo=1500\n0 close(3) = 0\n", ":1:1: ", "the setting --mtoo"},
      {"--config=msl=fast\n0 close(3) = 0\n", ":1:1: ", "for msl"},
      {"--config=mls=1s\n0 close(3) = 0\n", ":1:1: ", "no field mls"},
      {"--profile=solaris\n0 close(3) = 0\n", ":1:1: ", "no profile 'solaris'"},
      {"`ipfw flush`\n0 close(3) = 0\n", ":1:1: ", "the command ipfw"},
      {"`sysctl net.ipv4.tcp_sak=0`\n0 close(3) = 0\n", ":1:1: ", "net.ipv4.tcp_sak has no effect"},
      {"`sysctl net.ipv4.tcp_sack=7`\n0 close(3) = 0\n", ":1:1: ", "expected 0 to 1"},
      {socket + "`sysctl net.ipv4.tcp_sack=2`\n", ":2:1: ", "expected 0 to 1"},
      {socket + "`sysctl net.ipv4.ip_default_ttl=999`\n", ":2:1: ", "expected 0 to 255"},
      {socket + "`iptables -A INPUT -j DROP`\n", ":2:1: ", "there is no filter"},
      {"0 %{ import os }%\n", ":1:6: ", "no other Python"},
      {"0 %{ assert tcpi_stat == 1 }%\n", ":1:13: ", "the name tcpi_stat"},
      {"0 %{ assert tcpi_snd_nxt == 1 }%\n", ":1:13: ", "this stack has no value for"},
      {"0 %{ assert (1 == 1 }%\n", ":1:", "expected ')'"},
  };
  for (Refused const& one : cases) {
    std::string const message = refusal_of(one.text);
    EXPECT_THAT(message, HasSubstr("x.pkt" + one.where)) << one.text;
    EXPECT_THAT(message, HasSubstr(one.what)) << one.text;
    EXPECT_THAT(message, HasSubstr(": ")) << one.text;
  }
}

TEST(Script, OptionsHaveNames) {
  const auto options = [](const std::string& text) {
    Script const read = parse("x.pkt", "0 < [ect0] SEW 0:0(0) win 1 <" + text + ">\n", {});
    return read.events[0].packet.tcp.options;
  };
  for (const char* const text :
       {"mss 1460,sackOK,TS val 1 ecr 2,nop,wscale 8", "md5 00112233445566778899aabbccddeeff",
        "ECN e0b 1 ceb 2 e1b 16777215", "ECN e1b 1 ceb 2 e0b 3", "ECN e0b 1 ceb 2", "ECN e1b 7",
        "FO", "FO 0123456789abcdef", "uto 30", "kind 19 len 4 hex 0102", "kind 172 len 4 hex 0102",
        "sack 1:2 3:4", "ao 7 255 000a", "mptcp 0101", "kind 29 len 4 hex 0102", "kind 30 len 2"}) {
    EXPECT_EQ(options_text(options(text)), text);
  }
  EXPECT_EQ(options("ECN e1b 1 ceb 2 e0b 3")[0],
            (Option{174, {0, 0, 1, 0, 0, 2, 0, 0, 3}, std::uint8_t{11}}));
  EXPECT_EQ(options("ECN e0b 256")[0], (Option{172, {0, 1, 0}, std::uint8_t{5}}));
  const std::string front = "0 < S 0:0(0) win 1 <";
  EXPECT_THAT(refusal_of(front + "md5 0011>\n"), HasSubstr("x.pkt:1:25: a digest of 2 octets"));
  EXPECT_THAT(refusal_of(front + "md5 valid>\n"), HasSubstr("x.pkt:1:25: md5 valid needs a key"));
  EXPECT_THAT(refusal_of(front + "ECN>\n"), HasSubstr("ECN e0b N ceb N e1b N"));
  EXPECT_THAT(refusal_of(front + "ECN e0b 16777216>\n"), HasSubstr("a counter of 24 bits"));
  // The three bits of AccECN, as letters or as a number.
  const auto flags = [](const std::string& text) {
    Script const read = parse("x.pkt", "0 > " + text + " 1:1(0) ack 1\n", {});
    return flags_text(read.events[0].packet.tcp.flags);
  };
  EXPECT_EQ(flags(".5"), "EA.");
  EXPECT_EQ(flags("P.0"), "P.");
  EXPECT_EQ(flags(".7"), flags("EWA."));
  EXPECT_THAT(refusal_of("0 > E.5 1:1(0) ack 1\n"), HasSubstr("flags of F S"));
}

TEST(Script, FindsWhatDiffers) {
  const std::string write = "+0 write(4, ..., 10) = 10\n";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {write + "+0 > P. 1:12(11) ack 1\n", "! length"},
      {write + "+0 > . 1:11(10) ack 1\n", "! flags"},
      {write + "+0 > P. 2:12(10) ack 1\n", "! sequence"},
      {write + "+0 > P. 1:11(10) ack 2\n", "! ack"},
      {write + "+0 > P. 1:11(10) ack 1 win 1\n", "! window"},
      {write + "+0 > P. 1:11(10) ack 1 <nop,nop,nop,nop>\n", "! options"},
      {write + "+.1 > P. 1:11(10) ack 1\n", "! time"},
      {write + "+0 > [ect0] P. 1:11(10) ack 1\n", "! ecn"},
      {write + "+0 > [ttl 63] P. 1:11(10) ack 1\n", "! ttl"},
      {write, "was sent at 0.100"},
      {write + "+1 close(4) = 0\n+0 > F. 11:11(0) ack 1\n", "was sent at 0.100"},
      {"+.5 > P. 1:11(10) ack 1\n", "no packet was sent by 0.600"},
      {"+0 write(4, ..., 10) = 9\n", "write returned another result"},
      {"+0 read(4, ..., 10) = -1 EPIPE (Broken pipe)\n", "-1 EAGAIN"},
      {"+0...0.1 read(4, ..., 10) = 10\n+.2 < P. 1:11(10) ack 1 win 1\n", "still waits"},
      {"+0...0.3 read(4, ..., 10) = 10\n+.2 < P. 1:11(10) ack 1 win 1\n", "another time"},
      {"+0 ioctl(4, SIOCINQ, [1]) = 0\n", "it is 0, not 1"},
      {"+0 getsockopt(4, IPPROTO_TCP, TCP_NODELAY, [1], [4]) = 0\n", "the option is 0, not 1"},
      {"+0 poll([{fd=4, events=POLLIN|POLLOUT, revents=POLLIN}], 1, 0) = 1\n", "revents is 0x4"},
      {"+0 %{ assert tcpi_state == TCP_LISTEN }%\n", "tcpi_state = 1"},
  };
  for (auto const& [text, what] : cases) {
    Ran const ran = run_text(open_passively + text);
    EXPECT_EQ(ran.verdict, Verdict::failed) << text;
    EXPECT_THAT(finding_text(ran), HasSubstr(what)) << text;
    EXPECT_THAT(finding_text(ran), HasSubstr("state: ")) << text;
    EXPECT_FALSE(ran.capture.empty());
  }
}

TEST(Script, SegmentsAreJoinedUnlessStrict) {
  const std::string text = open_passively +
                           "+0 write(4, ..., 3000) = 3000\n"
                           "+0 > P. 1:3001(3000) ack 1\n";
  EXPECT_EQ(run_text(text).verdict, Verdict::passed) << finding_text(run_text(text));
  Overrides strict;
  strict.strict_segments = true;
  EXPECT_THAT(finding_text(run_text(text, strict)), HasSubstr("! length"));
  const std::string apart = open_passively +
                            "+0 write(4, ..., 3000) = 3000\n"
                            "+0 > . 1:1001(1000) ack 1\n"
                            "+0 > . 1001:2001(1000) ack 1\n"
                            "+0 > P. 2001:3001(1000) ack 1\n";
  EXPECT_EQ(run_text(apart, strict).verdict, Verdict::passed);
}

TEST(Script, TimesMayBeOpen) {
  const std::string write = open_passively + "+0 write(4, ..., 10) = 10\n+0 > P. 1:11(10) ack 1\n";
  EXPECT_EQ(run_text(write + "* > P. 1:11(10) ack 1\n").verdict, Verdict::passed);
  EXPECT_EQ(run_text(write + "+.9~+1.1 > P. 1:11(10) ack 1\n").verdict, Verdict::passed);
  EXPECT_EQ(run_text(write + "1.1 > P. 1:11(10) ack 1\n").verdict, Verdict::passed);
  EXPECT_EQ(run_text(write + "+.5~+.9 > P. 1:11(10) ack 1\n").verdict, Verdict::failed);
  EXPECT_EQ(run_text("--tolerance_usecs=4000\n" + write + "+.997 > P. 1:11(10) ack 1\n").verdict,
            Verdict::passed);
  EXPECT_EQ(run_text(write + "+.997 > P. 1:11(10) ack 1\n").verdict, Verdict::failed);
}

TEST(Script, ToleranceIsAPercentageOfTheElapsedTime) {
  const std::string write = open_passively + "+0 write(4, ..., 10) = 10\n+0 > P. 1:11(10) ack 1\n";
  const std::string late = "+.95 > P. 1:11(10) ack 1\n";
  EXPECT_EQ(run_text("--tolerance_percent=12.5\n" + write + late).verdict, Verdict::passed);
  EXPECT_EQ(run_text("--tolerance_percent=5\n" + write + late).verdict, Verdict::failed);
  EXPECT_EQ(run_text("--tolerance_percent=5.3\n" + write + late).verdict, Verdict::passed);
  for (const char* const bad : {"", ".", "1.2.3", "101", "-1", "1.23456", "half"}) {
    EXPECT_THAT(refusal_of("--tolerance_percent=" + std::string(bad) + "\n" + write),
                HasSubstr("x.pkt:1:1: --tolerance_percent="))
        << bad;
  }
}

TEST(Script, PortsNameConnections) {
  const std::string two =
      "--profile=rfc\n"
      "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n"
      "+0 bind(3, ..., ...) = 0\n"
      "+0 listen(3, 5) = 0\n"
      "+0 < 1001 > 8080 S 0:0(0) win 65535 <mss 1000>\n"
      "+0 > 8080 > 1001 S. 0:0(0) ack 1 win 65535 <mss 1460>\n"
      "+0 < 1002 > 8080 S 0:0(0) win 65535 <mss 1000>\n"
      "+0 > 8080 > 1002 S. 0:0(0) ack 1 win 65535 <mss 1460>\n";
  EXPECT_EQ(run_text(two).verdict, Verdict::passed) << finding_text(run_text(two));
  // A packet of the other connection does not match.
  std::string wrong = two;
  wrong.replace(wrong.rfind("> 8080 > 1002"), 13, "> 8080 > 1001");
  EXPECT_THAT(finding_text(run_text(wrong)), HasSubstr("! addresses"));
  // Without ports a packet belongs to the connection used last.
  EXPECT_EQ(run_text(two + "+.1 < . 1:1(0) ack 1 win 65535\n"
                           "+0 accept(3, ..., ...) = 4\n"
                           "+0 %{ assert tcpi_state == TCP_ESTABLISHED }%\n"
                           "+0 < 1001 > 8080 R 1:1(0) win 0\n"
                           "+0 write(4, ..., 10) = 10\n"
                           "+0 > 8080 > 1002 P. 1:11(10) ack 1\n")
                .verdict,
            Verdict::passed);
  // The peer's port is that of the call; ours stands for the one that the stack chose.
  const std::string active =
      "--profile=rfc\n0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n"
      "+0 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0\n"
      "+0 connect(3, {sin_port=htons(80)}, ...) = -1 EINPROGRESS (So)\n";
  const std::string syn = " S 0:0(0) win 65535 <mss 1460>\n";
  EXPECT_EQ(run_text(active + "+0 > 5000 > 80" + syn).verdict, Verdict::passed);
  EXPECT_EQ(run_text(active + "+0 >" + syn).verdict, Verdict::passed);
  EXPECT_THAT(finding_text(run_text(active + "+0 > 5000 > 81" + syn)), HasSubstr("! addresses"));
  EXPECT_THAT(refusal_of("0 close(3) = 0\n+0 < 1001 8080 S 0:0(0) win 1\n"),
              HasSubstr("x.pkt:2:11: "));
  EXPECT_THAT(refusal_of("0 close(3) = 0\n+0 < 1001 > 65536 S 0:0(0) win 1\n"),
              HasSubstr("a port"));
}

TEST(Script, CallsBlock) {
  const std::string text =
      "--profile=rfc\n"
      "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n"
      "+0...0.2 connect(3, ..., ...) = 0\n"
      "+0 > S 0:0(0) win 65535 <mss 1460>\n"
      "+.2 < S. 0:0(0) ack 1 win 1000 <mss 1000>\n"
      "+0 > . 1:1(0) ack 1\n"
      "+0...+0.3 read(3, ..., 100) = 50\n";
  EXPECT_THAT(refusal_of(text), HasSubstr("x.pkt:7:"));
  const std::string rest =
      "+0...0.3 read(3, ..., 100) = 50\n"
      "+.3 < P. 1:51(50) ack 1 win 1000\n"
      "+.2 > . 1:1(0) ack 51\n";
  Ran const ran = run_text(text.substr(0, text.rfind("+0...")) + rest);
  EXPECT_EQ(ran.verdict, Verdict::passed) << finding_text(ran);
}

TEST(Script, NamesAreDefined) {
  Arena arena;
  const std::string text = open_passively +
                           "+0 write(4, ..., SIZE) = SIZE\n"
                           "+0 > P. 1:11(SIZE) ack 1\n";
  EXPECT_EQ(run(parse("x.pkt", text, {{"SIZE", "10"}}), {}, arena).verdict, Verdict::passed);
  EXPECT_EQ(run(parse("x.pkt", "--define=SIZE=10\n" + text, {}), {}, arena).verdict,
            Verdict::passed);
  EXPECT_THAT(refusal_of(text), HasSubstr("the name SIZE"));
}

TEST(Script, SysctlsBecomeConfig) {
  Config config;
  for (SysctlRow const& row : sysctl_rows()) {
    std::string const& name = row.name;
    EXPECT_NE(row.fields, "") << name;
    bool const buffer = name.ends_with("mem");
    bool const ports = name.ends_with("port_range");
    std::string const value =
        buffer                               ? "4096 65536 1048576"
        : ports                              ? "40000 40001"
        : name.ends_with("fastopen_key")     ? "00000001-00000002-00000003-00000004"
        : name.find("initcwnd") != name.npos ? "10"
        : name.find("cong") != name.npos || name.find(".cc.") != name.npos ? "newreno"
                                                                           : "1";
    EXPECT_EQ(set_sysctl(name, value, config), "") << name;
    EXPECT_NE(set_sysctl(name, "-1", config), "") << name;
  }
  EXPECT_EQ(config.tcp.port_last, Port{40001});
  EXPECT_EQ(config.tcp.congestion, tcp::Congestion::reno);
  const std::string text =
      "`sysctl -q net.ipv4.tcp_timestamps=0 net.ipv4.tcp_sack=0;\n"
      "sysctl -w net.ipv4.tcp_window_scaling=0 net.ipv4.tcp_ecn=0`\n"
      "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n"
      "+0 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0\n"
      "+0 connect(3, ..., ...) = -1 EINPROGRESS (Operation in progress)\n"
      "+0 > S 0:0(0) win 65535 <mss 1460>\n";
  EXPECT_EQ(run_text(text).verdict, Verdict::passed) << finding_text(run_text(text));
}

TEST(Script, SomeSysctlsApplyFromThenOn) {
  const std::string text = open_passively +
                           "+0 `sysctl -q net.ipv4.ip_default_ttl=17`\n"
                           "+0 write(4, ..., 10) = 10\n"
                           "+0 > [ttl 64] P. 1:11(10) ack 1\n"
                           "+0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 5\n"
                           "+0 fcntl(5, F_SETFL, O_RDWR|O_NONBLOCK) = 0\n"
                           "+0 connect(5, ..., ...) = -1 EINPROGRESS (Operation in progress)\n"
                           "+0 > [ttl 17] S 0:0(0) win 65535 <mss 1460>\n";
  EXPECT_EQ(run_text(text).verdict, Verdict::passed) << finding_text(run_text(text));
}

TEST(Script, CodeIsEvaluated) {
  const std::string good =
      "+0 %{\nassert tcpi_state == TCP_ESTABLISHED, tcpi_state\n"
      "assert not (1 + 2 * 3 != 7 or tcpi_unacked > 0) and True # as it is\n"
      "assert -7 // 2 == -4 and -7 % 2 == 1; assert 1 << 4 | 1 == 17 }%\n";
  Ran const ran = run_text(open_passively + good);
  EXPECT_EQ(ran.verdict, Verdict::passed) << finding_text(ran);
  // As in Python: rounding down, the divisor's sign, and lazy evaluation.
  for (const char* const one :
       {"7 // -2 == -4", "-7 // -2 == 3", "7 % -2 == -1", "-7 % -2 == -1", "-8 >> 1 == -4",
        "-8 >> 99 == -1", "8 >> 99 == 0", "1 << 63 == 9223372036854775807 + 1", "0 << 99 == 0",
        "tcpi_max_pacing_rate > 0", "1 or 1 // 0", "not (0 and 1 // 0)", "-2 * 3 == -6",
        "tcpi_state // 2 == 0", "-5 & 7 == 3", "2 - -3 == 5"}) {
    Ran const computed = run_text(open_passively + "+0 %{ assert " + one + " }%\n");
    EXPECT_EQ(computed.verdict, Verdict::passed) << one << finding_text(computed);
    Ran const negated =
        run_text(open_passively + "+0 %{ assert not (" + std::string(one) + ") }%\n");
    EXPECT_EQ(negated.verdict, Verdict::failed) << one;
  }
}

TEST(Script, AnExpressionThatCannotBeEvaluatedFails) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"tcpi_state // 2 == 99999", "tcpi_state = 1"},
      {"1 // 0 == 0", "a division by zero"},
      {"not 1 % 0", "a division by zero"},
      {"1 << 64 != 1", "a shift by more than 63 bits"},
      {"1 << -1 == 0", "a negative shift"},
      {"1 >> -1 == 0", "a negative shift"},
      {"9223372036854775807 * 9223372036854775807 > 0", "more than 64 bits"},
      {"tcpi_max_pacing_rate + 1 > 0", "more than 64 bits"},
      {"1 == 1, 'a; b'; assert 1 == 2", "assert 1 == 2 does not hold"},
      {"1 == 1, 1; assert 1 == 2", "assert 1 == 2 does not hold"},
  };
  for (auto const& [code, what] : cases) {
    Ran const ran = run_text(open_passively + "+0 %{\nassert " + code + " }%\n");
    EXPECT_EQ(ran.verdict, Verdict::failed) << code;
    EXPECT_THAT(finding_text(ran), HasSubstr(what)) << code;
    EXPECT_EQ(ran.finding.place.line, 10) << code;
  }
}

}  // namespace
}  // namespace lockstep::conformance::script
