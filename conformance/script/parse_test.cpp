// The language of .pkt scripts: what is in it, and the place of what is not.
#include "conformance/script/parse.hpp"

#include <gtest/gtest.h>

#include "conformance/script/format.hpp"
#include "core/units/random.hpp"

namespace lockstep::script {
namespace {

// One event, as format() writes it.
std::string reads(const std::string& line) {
  try {
    Script const script = parse(line);
    if (script.events.size() != 1) {
      return std::to_string(script.events.size()) + " events";
    }
    std::string out = format(script);
    out.pop_back();
    return out;
  } catch (const SyntaxError& error) {
    return std::to_string(error.place().line) + ":" + std::to_string(error.place().column) + ": " +
           error.what();
  }
}

TEST(Parse, Times) {
  EXPECT_EQ(reads("0 close(3) = 0"), "0 close(3) = 0");
  EXPECT_EQ(reads("1.50 close(3) = 0"), "1.5 close(3) = 0");
  EXPECT_EQ(reads(".000000001 close(3) = 0"), "0.000000001 close(3) = 0");
  EXPECT_EQ(reads("+.1 close(3) = 0"), "+0.1 close(3) = 0");
  EXPECT_EQ(reads("* > . 1:1(0) ack 1"), "* > . 1:1(0) ack 1");
  EXPECT_EQ(reads("0.1~0.2 > . 1:1(0) ack 1"), "0.1~0.2 > . 1:1(0) ack 1");
  EXPECT_EQ(reads("+0~+0.2 > . 1:1(0)"), "+0~+0.2 > . 1:1(0)");
  EXPECT_EQ(reads("0.1...0.2 read(3, ..., 9) = 9"), "0.1...0.2 read(3, ..., 9) = 9");
  EXPECT_EQ(reads("+0...0.2 accept(3, ..., ...) = 4"), "+0...0.2 accept(3, ..., ...) = 4");
}

TEST(Parse, Packets) {
  for (std::string const line : {
           "0 < S 0:0(0) win 32792 <mss 1000,sackOK,nop,nop,nop,wscale 7>",
           "+0 > S. 0:0(0) ack 1 win 65535 <...>",
           "+0 > SEW 0:0(0) <mss 1460,nop,wscale 6,sackOK,TS val 100 ecr 0,eol>",
           "+0 < . 1:1(0) ack 1 win 257 <nop,nop,sack 2001:3001 4001:5001>",
           "+0 < FP. 4294967295:0(1) ack 1",
           "+0 > [ect0] P. 1:11(10) ack 1 urg 10",
           "+0 < [ce] . 1:1001(1000) ack 1 win 0",
           "+0 < [noecn] - 1:1(0)",
           "+0 < S 0:10(10) win 5840 <mss 1040,FO 0011223344556677>",
           "+0 > S 0:0(0) <mss 1460,FO>",
           "+0 > S 0:0(0) <FOEXP a1b2>",
           "+0 < R 1:1(0)",
           "+0 < icmp unreachable frag_needed mtu 1200 [1:1461(1460)]",
           "+0 < icmp unreachable port_unreachable",
           "+0 < icmp source_quench [1:11(10)]",
           "+0 < icmpv6 packet_too_big mtu 1400 [1:1461(1460)]",
           "+0 < icmpv6 unreachable no_route",
       }) {
    EXPECT_EQ(reads(line), line);
  }
  EXPECT_EQ(reads("+0<S 0x10:0x10(0)win 5<>"), "+0 < S 16:16(0) win 5");
}

TEST(Parse, Calls) {
  for (std::string const line : {
           "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3",
           "+0 setsockopt(3, SOL_SOCKET, SO_REUSEADDR, [1], 4) = 0",
           "+0 fcntl(3, F_SETFL, O_RDWR | O_NONBLOCK) = 0",
           "+0 connect(3, ..., ...) = -1 EINPROGRESS",
           "+0 bind(3, {sa_family=AF_INET, sin_port=htons(8080), "
           "sin_addr=inet_addr(\"192.168.0.1\")}, ...) = 0",
           "+0 poll([{fd=3, events=POLLIN | POLLOUT, revents=~POLLERR}], 1, 0) = 1",
           "+0 writev(4, [{..., 1000}, {\"abc\", 3}], 2) = 1003",
           "+0 sendmsg(4, {msg_name(...)=..., msg_iov(1)=[{..., 100}], msg_flags=0}, MSG_MORE) = "
           "100",
           "+0 setsockopt(4, SOL_SOCKET, SO_LINGER, {onoff=1, linger=0}, 8) = 0",
           "+0 epoll_ctl(5, EPOLL_CTL_ADD, 4, {events=EPOLLIN | EPOLLET, fd=4}) = 0",
           "+0 read(4, \"GET /\"..., 4096) = 5",
           "+0 f([], {}, g(), -5, [[1, 2], [{a=[3]}]]) = -2",
           "+0 f(a | ~b | c(1 | 2), ~[1]) = ...",
       }) {
    EXPECT_EQ(reads(line), line);
  }
  EXPECT_EQ(reads("+0 read(4,...,0x10)=-1 EAGAIN (Resource temporarily unavailable)"),
            "+0 read(4, ..., 16) = -1 EAGAIN");
  EXPECT_EQ(reads("+0 write(4, \"a\\\"\\\\\\n\\x41\", 5) = 5"),
            "+0 write(4, \"a\\\"\\\\\\x0aA\", 5) = 5");
}

TEST(Parse, CodeAndCommands) {
  EXPECT_EQ(reads("+0 %{ assert tcpi_snd_cwnd == 10, tcpi_snd_cwnd }%"),
            "+0 %{ assert tcpi_snd_cwnd == 10, tcpi_snd_cwnd }%");
  EXPECT_EQ(reads("+0 `sysctl -q net.ipv4.tcp_sack=0`"), "+0 `sysctl -q net.ipv4.tcp_sack=0`");
}

TEST(Parse, AWholeScript) {
  Script const script = parse(
      "// What it shows.\n"
      "--tolerance_usecs=0\n--strict_segments\n--note=\"two words\"\n"
      "`../common/defaults.sh`\n"
      "/* a comment\n   of two lines */\n"
      "    0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3 // and one more\n"
      "   +0 < S 0:0(0) win 1000\n"
      "   +0 > S. 0:0(0) ack 1 <...>\n");
  ASSERT_EQ(script.settings.size(), 3u);
  EXPECT_EQ(script.settings[0].name, "tolerance_usecs");
  EXPECT_EQ(script.settings[0].value, "0");
  EXPECT_EQ(script.settings[1].value, "");
  EXPECT_EQ(script.settings[2].value, "two words");
  EXPECT_EQ(script.first->text, "../common/defaults.sh");
  ASSERT_EQ(script.events.size(), 3u);
  EXPECT_EQ(script.events[0].place, (Place{8, 5}));
  EXPECT_EQ(script.events[2].place, (Place{10, 4}));
  EXPECT_EQ(format(parse(format(script))), format(script));
  EXPECT_TRUE(parse("").events.empty());
  EXPECT_TRUE(parse(" \n// nothing\n").events.empty());
}

struct Wrong {
  const char* script;
  const char* error;
};

class ParseError : public ::testing::TestWithParam<Wrong> {};

TEST_P(ParseError, NamesThePlace) { EXPECT_EQ(reads(GetParam().script), GetParam().error); }

INSTANTIATE_TEST_SUITE_P(
    Scripts, ParseError,
    ::testing::Values(
        Wrong{"close(3) = 0", "1:1: 'close(3'; expected a time (1.5, +0.1, *) before an event"},
        Wrong{"+0", "1:3: the script ends; expected an event: < or > and a packet, a call, "
                    "`command` or %{ code }%"},
        Wrong{"+x close(3) = 0", "1:2: 'x'; expected a time in seconds"},
        Wrong{"+0close(3) = 0", "1:3: 'close(3'; expected a space behind the time"},
        Wrong{"0.0000000001 close(3) = 0",
              "1:1: the time is finer than a nanosecond: nine digits after the point at most"},
        Wrong{"99999999999 close(3) = 0", "1:1: the time is too large: 4000000000 s at most"},
        Wrong{"0.2~0.1 > . 1:1(0)", "1:5: this ends before it begins"},
        Wrong{"+0.1~0.2 > . 1:1(0)",
              "1:6: '0.2'; expected '+': both ends of a span are relative, or none is"},
        Wrong{"+0~+1 close(3) = 0",
              "1:1: only a packet has a span of time: no ~ in the time of anything else"},
        Wrong{"0...1 > . 1:1(0)",
              "1:1: only a call blocks: no ... in the time of anything else"},
        Wrong{"+0 < X 0:0(0)", "1:6: 'X'; expected TCP flags (some of F S R P . U E W A, or -), "
                               "or icmp, icmpv6"},
        Wrong{"+0 < SS 0:0(0)", "1:7: 'S'; expected each flag once"},
        Wrong{"+0 < udp (1000)", "1:6: 'udp'; expected TCP flags (some of F S R P . U E W A, or "
                                 "-), or icmp, icmpv6"},
        Wrong{"+0 < . 1:11(9)", "1:8: 1:11 are 10 octets, and not 9"},
        Wrong{"+0 < . 1:4294967296(1)",
              "1:10: the sequence number behind the text is too large: 4294967295 at most"},
        Wrong{"+0 < . 1:1(0) win 65536", "1:19: the window is too large: 65535 at most"},
        Wrong{"+0 < . 1:1(0) <mss 1000,wsacle 7>",
              "1:25: 'wsacle'; expected a TCP option: mss, wscale, sackOK, sack, TS, FO, FOEXP, "
              "nop, eol"},
        Wrong{"+0 < . 1:1(0) <nop nop>", "1:20: 'nop>'; expected '>'"},
        Wrong{"+0 < . 1:1(0) <TS val 1>", "1:24: '>'; expected 'ecr'"},
        Wrong{"+0 < . 1:1(0) <FO 012>", "1:21: '2>'; expected a cookie of whole octets in "
                                        "hexadecimal"},
        Wrong{"+0 < . 1:1(0) <sack 1:2 1:2 1:2 1:2,TS val 1 ecr 1>",
              "1:15: these options have 44 octets, a header 40 at most"},
        Wrong{"+0 < [ect2] . 1:1(0)", "1:7: 'ect2]'; expected noecn, ect0, ect1 or ce"},
        Wrong{"+0 < icmp gone", "1:11: 'gone' is no type of ICMP; expected one of unreachable, "
                                "source_quench, redirect, time_exceeded, parameter_problem"},
        Wrong{"+0 < icmpv6 time_exceeded soon",
              "1:27: 'soon' is no code of time_exceeded; expected one of hop_limit, "
              "reassembly_exceeded"},
        Wrong{"+0 read(3, ..., 100", "1:20: the script ends; expected ',' or ')'"},
        Wrong{"+0 read(3,, 100) = 0", "1:11: ','; expected a value: a number, a name, \"text\", "
                                      "[...], {...} or ..."},
        Wrong{"+0 f([1, 2) = 0", "1:11: ')'; expected ',' or ']'"},
        Wrong{"+0 f(~~a) = 0", "1:7: '~a'; expected one ~"},
        Wrong{"+0 f(1)", "1:8: the script ends; expected '='"},
        Wrong{"+0 f(\"ab", "1:6: this string has no end: \" is missing"},
        Wrong{"+0 f(\"a\\q\") = 0",
              "1:8: '\\q\"'; expected one of \\\" \\\\ \\n \\t \\r \\0 \\xNN"},
        Wrong{"+0 f(99999999999999999999) = 0",
              "1:6: a value is too large: 9223372036854775807 at most"},
        Wrong{"+0 %{ assert", "1:6: this code has no end: }% is missing"},
        Wrong{"+0 `ls", "1:5: this command has no end: ` is missing"},
        Wrong{"/* never", "1:1: this comment has no end: */ is missing"},
        Wrong{"0 close(3) = 0\n+0 >\n", "3:1: the script ends; expected TCP flags (some of F S R P "
                                        ". U E W A, or -), or icmp, icmpv6"},
        Wrong{"+0 f([[[[[[[[[[[[[[[[[1", "1:22: nested deeper than 16"}));

// Whatever the octets, there is a script or an error in one of its lines.
TEST(Parse, AnythingEndsWell) {
  std::string const good =
      "--a=b\n0 socket(..., SOCK_STREAM, 0) = 3\n+0 < S 0:0(0) win 9 <mss 1000,TS val 1 ecr 2>\n"
      "+0 > [ect0] S. 0:0(0) ack 1 <...>\n+.1...0.2 f([{a=1 | ~b(\"x\"...)}]) = -1 EAGAIN (No)\n"
      "+0 `c`\n+0 %{ d }%\n* < icmp unreachable frag_needed mtu 9 [1:2(1)]\n";
  Random random(7);
  std::uint32_t whole = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text = good;
    for (std::uint64_t change = random.below(4); change != 0; --change) {
      std::size_t const at = random.below(text.size());
      switch (random.below(3)) {
        case 0:
          text.erase(at, 1 + random.below(5));
          break;
        case 1:
          text.insert(at, 1, good[random.below(good.size())]);
          break;
        default:
          text[at] = static_cast<char>(random.below(256));
      }
    }
    try {
      Script const script = parse(text);
      EXPECT_EQ(format(parse(format(script))), format(script)) << text;
      ++whole;
    } catch (const SyntaxError& error) {
      EXPECT_GE(error.place().line, 1u);
      EXPECT_LE(error.place().line, 14u);
    }
  }
  EXPECT_GT(whole, 1000u);
}

}  // namespace
}  // namespace lockstep::script
