// Packets and assertions as packetdrill's scripts write them.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conformance/script/packet.hpp"
#include "conformance/script/script_kit.hpp"

namespace lockstep::conformance::script {
namespace {

using testing::HasSubstr;

/// A listener and a handshake that begins with the peer's number `first`; `one` is what the script
/// calls the number after it.
std::string opened_at(std::uint32_t first, std::uint32_t one) {
  return fmt::format(
      "--profile=rfc\n--config=sack=true\n"
      "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 bind(3, ..., ...) = 0\n+0 listen(3, 1) = 0\n"
      "+0 < S {0}:{0}(0) win 65535 <mss 1000,sackOK,nop,nop>\n"
      "+0 > S. 0:0(0) ack {1} win 65535 <mss 1460,nop,nop,sackOK>\n"
      "+.1 < . {1}:{1}(0) ack 1 win 65535\n+0 accept(3, ..., ...) = 4\n",
      first, one);
}

void passes(const std::string& text) {
  Ran const ran = run_text(text);
  EXPECT_EQ(ran.verdict, Verdict::passed) << text << finding_text(ran);
}
std::string finding_of(const std::string& text) { return finding_text(run_text(text)); }

TEST(Language, PacketsOfOtherConnectionsAreJudgedInTheirOwnOrder) {
  std::string const two =
      "--profile=rfc\n"
      "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 bind(3, ..., ...) = 0\n"
      "+0 listen(3, 2) = 0\n"
      "+0 < 1001 > 8080 S 0:0(0) win 65535 <mss 1000>\n"
      "+0 > 8080 > 1001 S. 0:0(0) ack 1 <mss 1460>\n"
      "+0 < 1002 > 8080 S 0:0(0) win 65535 <mss 1000>\n"
      "+0 > 8080 > 1002 S. 0:0(0) ack 1 <mss 1460>\n"
      "+.1 < 1001 > 8080 . 1:1(0) ack 1 win 65535\n"
      "+0 < 1002 > 8080 . 1:1(0) ack 1 win 65535\n"
      "+0 accept(3, ..., ...) = 4\n+0 accept(3, ..., ...) = 5\n"
      "+0 write(4, ..., 100) = 100\n+0 write(5, ..., 200) = 200\n";
  std::string const first = "+0 > 8080 > 1001 P. 1:101(100) ack 1\n";
  std::string const second = "+0 > 8080 > 1002 P. 1:201(200) ack 1\n";
  passes(two + first + second);
  passes(two + second + first);
  EXPECT_THAT(finding_of(two + second), HasSubstr("does not expect"));
  EXPECT_THAT(finding_of(two + second + second + first), HasSubstr("! addresses"));
}

TEST(Language, ASocketNamesItsConnection) {
  std::string const two = open_passively +
                          "+0 < 1002 > 8080 S 0:0(0) win 65535 <mss 1000>\n"
                          "+0 > 8080 > 1002 S. 0:0(0) ack 1 <...>\n"
                          "+0 < 1002 > 8080 . 1:1(0) ack 1 win 65535\n"
                          "+0 accept(3, ..., ...) = 5\n";
  passes(two +
         "+0 < sock(4) P. 1:11(10) ack 1 win 65535\n+0 read(4, ..., 99) = 10\n"
         "+0 write(4, ..., 10) = 10\n+0 > sock(4) P. 1:11(10) ack 11\n"
         "+0 < sock(5) P. 1:21(20) ack 1 win 65535\n+0 read(5, ..., 99) = 20\n");
  EXPECT_THAT(finding_of(two + "+0 < sock(5) P. 1:11(10) ack 1 win 65535\n"
                               "+0 read(4, ..., 99) = 10\n"),
              HasSubstr("-1 EAGAIN"));
  EXPECT_THAT(finding_of(two + "+0 < sock(3) . 1:1(0) ack 1 win 1\n"),
              HasSubstr("sock(3) has no connection: name one of accept()"));
  EXPECT_THAT(refusal_of("0 < sock 4 . 1:1(0) ack 1 win 1\n"), HasSubstr("sock(N)"));
}

TEST(Language, FieldsOfArrivingPacketsAreChanged) {
  // Lengths and checksums follow the changes.
  passes(open_passively +
         "+0 < {ins tcp 20 0x01010101; rep tcp data_offset 0x60} P. 1:11(10) ack 1 win 65535\n"
         "+0 read(4, ..., 100) = 10\n+.2 > . 1:1(0) ack 11\n");
  passes(open_passively +
         "+0 < P. 1:11(10) ack 1 win 65535 {rep tcp 12 0x60; rep tcp 20 0x01010101}\n"
         "+0 read(4, ..., 100) = 6\n+.2 > . 1:1(0) ack 7\n");
  passes(open_passively +
         "+0 < P. 1:11(10) ack 1 win 65535 {trun tcp 24 6}\n"
         "+0 read(4, ..., 100) = 4\n+.2 > . 1:1(0) ack 5\n");
  // Without a valid header or checksum nothing is accepted.
  for (const char* const change :
       {"{rep ipv4 version_ihl 0x4B}", "{trun tcp 0 20}", "{rep tcp checksum 0x1234}",
        "{rep tcp 12 0xf0}", "{rep ipv4 total_length 0x0010}", "{rep ip protocol 17}"}) {
    Overrides overrides;
    overrides.allow_trailing = true;
    Ran const ran = run_text(open_passively + "+0 < " + change +
                                 " P. 1:11(10) ack 1 win 65535\n"
                                 "+0 read(4, ..., 100) = -1 EAGAIN\n",
                             overrides);
    EXPECT_EQ(ran.verdict, Verdict::passed) << change << finding_text(ran);
  }
  EXPECT_THAT(refusal_of(open_passively + "+0 < {rep udp 0 0x00} . 1:1(0) ack 1 win 1\n"),
              HasSubstr("x.pkt:9:11: 'udp' was found, expected tcp or ipv4"));
  EXPECT_THAT(refusal_of(open_passively + "+0 < {put tcp 0 0x00} . 1:1(0) ack 1 win 1\n"),
              HasSubstr("expected rep, ins or trun"));
  EXPECT_THAT(refusal_of(open_passively + "+0 < {rep tcp mss 0x00} . 1:1(0) ack 1 win 1\n"),
              HasSubstr("tcp has no field mss"));
  EXPECT_THAT(refusal_of(open_passively + "+0 < {rep tcp 0 zz} . 1:1(0) ack 1 win 1\n"),
              HasSubstr("'zz' was found"));
  EXPECT_THAT(refusal_of(open_passively + "+0 > {rep tcp 0 0x00} . 1:1(0) ack 1\n"),
              HasSubstr("only an arriving packet can have changed fields"));
}

TEST(Language, NumbersCountFromThePeersFirst) {
  passes(opened_at(123, 1) +
         "+0 < P. 1001:2001(1000) ack 1 win 65535\n"
         "+0 > . 1:1(0) ack 1 <nop,nop,sack 1001:2001>\n");
  passes(opened_at(123, 124) +
         "+0 < P. 1124:2124(1000) ack 1 win 65535\n"
         "+0 > . 1:1(0) ack 124 <nop,nop,sack 1124:2124>\n");
  EXPECT_THAT(finding_of(opened_at(123, 1) + "+0 < P. 1001:2001(1000) ack 1 win 65535\n"
                                             "+0 > . 1:1(0) ack 124 <...>\n"),
              HasSubstr("! ack"));
}

TEST(Language, OpenNumbersAreNotCompared) {
  std::string const wrote = open_passively + "+0 write(4, ..., 10) = 10\n";
  passes(wrote + "+0 > P. ...:...(10) ack 1\n");
  passes(wrote + "+0 > P. 1:...(10) ack ...\n");
  passes(wrote + "+0 > P. 1:11(10) ack ! win ...\n");
  EXPECT_THAT(finding_of(wrote + "+0 > P. ...:...(11) ack 1\n"), HasSubstr("! length"));
  EXPECT_THAT(finding_of(wrote + "+0 > P. 2:...(10) ack 1\n"), HasSubstr("! sequence"));
  EXPECT_THAT(refusal_of(wrote + "+0 < . ...:...(0) ack 1 win 1\n"), HasSubstr("x.pkt:10:8: "));
}

TEST(Language, OpenNumbersMayBeMarks) {
  std::string const wrote = open_passively + "+0 write(4, ..., 10) = 10\n";
  passes(wrote + "+0 > P. !(10) ack 1\n");
  passes(wrote + "+0 > P. !:!(10) ack !\n");
  passes(wrote + "+0 > P. 1:!(10) ack 1\n");
  EXPECT_THAT(finding_of(wrote + "+0 > P. 2:!(10) ack 1\n"), HasSubstr("! sequence"));
  EXPECT_THAT(finding_of(wrote + "+0 > P. !(11) ack 1\n"), HasSubstr("! length"));
  EXPECT_THAT(refusal_of(wrote + "+0 > P. !:11(10) ack 1\n"), HasSubstr("an open end"));
  // An arriving packet has all numbers; its length gives the end.
  passes(open_passively + "+0 < P. 1:...(10) ack 1 win 65535\n+0 read(4, ..., 99) = 10\n");
  EXPECT_THAT(refusal_of(open_passively + "+0 < P. !(10) ack 1 win 1\n"), HasSubstr("'!'"));
}

std::vector<Option> options_of(const std::string& text) {
  Script const read = parse("x.pkt", "0 < S 0:0(0) win 1 <" + text + ">\n", {});
  return read.events[0].packet.tcp.options;
}

std::string octets_of(const std::string& text) {
  std::string out;
  for (Option const& one : options_of(text)) {
    out += fmt::format("{:02x}", one.kind);
    out += one.length ? fmt::format("{:02x}", *one.length) : "";
    for (std::uint8_t const octet : one.data) {
      out += fmt::format("{:02x}", octet);
    }
  }
  return out;
}

TEST(Language, OptionsThatThisStackDeclines) {
  EXPECT_EQ(octets_of("ao 7 8 0a0b0c0d"), "1d0807080a0b0c0d");
  EXPECT_EQ(octets_of("mp_capable"), "1e040101");
  EXPECT_EQ(octets_of("mp_capable 0102030405060708"), "1e0c01010102030405060708");
  EXPECT_EQ(octets_of("mptcp 2001"), "1e042001");
  EXPECT_EQ(octets_of("ACC_ECN e1b 5 ceb 0"), octets_of("ECN e1b 5 ceb 0"));
  EXPECT_EQ(octets_of("ACC_ECN e1b 5 ceb 0"), "ae08000005000000");
  EXPECT_THAT(refusal_of("0 < S 0:0(0) win 1 <mp_capable 01>\n"), HasSubstr("a key of 1 octets"));
  EXPECT_THAT(refusal_of("0 < S 0:0(0) win 1 <mp_capable a_key>\n"), HasSubstr("--define"));
  EXPECT_THAT(refusal_of("0 < S 0:0(0) win 1 <mp_capable 0102030405060708 0102030405060708 "
                         "0102030405060708>\n"),
              HasSubstr("at most two keys"));
  EXPECT_THAT(refusal_of("0 < S 0:0(0) win 1 <ao 7 300 00>\n"), HasSubstr("an RNextKeyID"));
  Defines const names{{"a_key", "0102030405060708"}};
  Script const named = parse("x.pkt", "0 < S 0:0(0) win 1 <mp_capable a_key>\n", names);
  EXPECT_EQ(named.events[0].packet.tcp.options[0].data.size(), 10U);
}

TEST(Language, AcknowledgmentsWithoutTheirFlag) {
  // A segment without ACK is dropped in ESTABLISHED, whatever its number is.
  passes(open_passively + "+0 < P 1:11(10) ack 1 win 65535\n+0 read(4, ..., 9) = -1 EAGAIN\n");
  Packet const bare = parse("x.pkt", "0 < . 0:0(0) win 1\n", {}).events[0].packet;
  EXPECT_FALSE(bare.tcp.ack);
  EXPECT_EQ(bare.tcp.flags, 0x10);
  EXPECT_THAT(finding_of(open_passively + "+0 write(4, ..., 10) = 10\n+0 > P. 1:11(10)\n"),
              HasSubstr("! ack"));
  EXPECT_THAT(finding_of(open_passively + "+0 write(4, ..., 10) = 10\n+0 > P 1:11(10) ack 1\n"),
              HasSubstr("! flags"));
}

TEST(Language, TimestampsMayBeOpen) {
  std::string const head =
      "--profile=rfc\n--config=timestamps=true\n--tcp_ts_tick_usecs=1000\n"
      "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n"
      "+0 connect(3, ..., ...) = -1 EINPROGRESS\n";
  passes(head + "+0 > S 0:0(0) win 65535 <mss 1460,nop,nop,TS val ... ecr 0>\n");
  passes(head + "+0 > S 0:0(0) win 65535 <mss 1460,nop,nop,TS val 7 ecr ...>\n");
  passes(head + "+0 > S 0:0(0) win 65535 <mss 1460,nop,nop,TS ecr 0>\n");
  EXPECT_THAT(finding_of(head + "+0 > S 0:0(0) win 65535 <mss 1460,nop,nop,TS ecr 1>\n"),
              HasSubstr("! options"));
  EXPECT_THAT(refusal_of(head + "+0 < S 0:0(0) win 1 <nop,nop,TS ecr 1>\n"),
              HasSubstr("an arriving timestamp"));
  EXPECT_THAT(finding_of(head + "+0 > S 0:0(0) win 65535 <mss 1460,nop,nop,TS val ... ecr 1>\n"),
              HasSubstr("! options"));
}

TEST(Language, CountersOfAccurateEcnAreFlags) {
  const auto flags_of = [](const std::string& text) {
    return parse("x.pkt", "0 < " + text + " 1:1(0) ack 1 win 1\n", {}).events[0].packet.tcp.flags;
  };
  EXPECT_EQ(flags_of("5."), 0x150);
  EXPECT_EQ(flags_of("P6."), 0x198);
  EXPECT_EQ(flags_of("0."), 0x10);
  EXPECT_EQ(flags_of("1001 > 80 F7."), 0x1d1);
  EXPECT_EQ(flags_of("SEWA."), 0x1d2);
}

TEST(Language, NamesOfIpFields) {
  const auto ip_of = [](const std::string& text) {
    return parse("x.pkt", "--ip_version=ipv6\n0 < [" + text + "] S 0:0(0) win 1\n", {})
        .events[0]
        .packet.ip;
  };
  EXPECT_EQ(ip_of("dscp af21").dscp, 18);
  EXPECT_EQ(ip_of("dscp EF").dscp, 46);
  EXPECT_EQ(ip_of("dscp cs6").dscp, 48);
  EXPECT_EQ(ip_of("dscp 9, ce").dscp, 9);
  EXPECT_EQ(ip_of("class 0x30").tos, 0x30);
  EXPECT_EQ(ip_of("hlim 7").ttl, 7);
  std::string const wrote = open_passively + "+0 write(4, ..., 10) = 10\n";
  passes(wrote + "+0 > [dscp 0] P. 1:11(10) ack 1\n");
  EXPECT_THAT(finding_of(wrote + "+0 > [dscp cs1] P. 1:11(10) ack 1\n"), HasSubstr("! dscp"));
  EXPECT_THAT(refusal_of("0 > [dscp zz9] S 0:0(0)\n"), HasSubstr("a code point"));
}

TEST(Language, DefinedNamesInOctetsAndIcmp) {
  Defines const names{{"COOKIE", "0x0102aB"}, {"WHAT", "frag_needed"}, {"CODE", "4"}};
  Script const read = parse("x.pkt",
                            "0 < S 0:0(0) win 1 <FO COOKIE>\n"
                            "0 < icmp unreachable CODE mtu 900\n0 < icmp type_3 code_4 mtu 900\n",
                            names);
  EXPECT_EQ(options_text(read.events[0].packet.tcp.options), "FO 0102ab");
  EXPECT_EQ(read.events[1].packet.icmp.code, 4);
  EXPECT_EQ(read.events[2].packet.icmp.type, 3);
  EXPECT_EQ(read.events[2].packet.icmp.code, 4);
  EXPECT_THAT(refusal_of("0 < S 0:0(0) win 1 <FO COOKIE>\n"), HasSubstr("x.pkt:1:24: 'COOKIE'"));
}

TEST(Language, TheStateOfCongestionHasTwoNames) {
  passes(open_passively + "+0 %{ assert tcpi_ca_state == TCPI_CA_Open }%\n");
  passes(open_passively + "+0 %{ assert tcpi_ca_state != TCPI_CA_Recovery }%\n");
}

std::string asserted(const std::string& code) {
  Ran const ran = run_text(open_passively + "+0 %{ " + code + " }%\n");
  return ran.verdict == Verdict::passed ? "holds" : ran.finding.what;
}

TEST(Python, ComparisonsFormChains) {
  EXPECT_EQ(asserted("assert 0 < tcpi_state <= 1 < 2"), "holds");
  EXPECT_EQ(asserted("assert not (0 < 2 < 2) and 1 < 2 <= 2"), "holds");
  EXPECT_EQ(asserted("assert (1 < 2 < 3) == True"), "holds");
  EXPECT_THAT(asserted("assert 1 < 3 < 2"), HasSubstr("does not hold"));
  EXPECT_THAT(asserted("assert 3 < 2 < 4"), HasSubstr("does not hold"));
  EXPECT_THAT(asserted("assert 1 < 2 < 3 < 3"), HasSubstr("does not hold"));
  EXPECT_THAT(asserted("assert 1 == 1 == 0 or 0"), HasSubstr("does not hold"));
}

TEST(Python, StatementsOfScripts) {
  EXPECT_EQ(asserted("assert tcpi_state == \\\n TCPI_ESTABLISHED, 'state=%d' % (\ntcpi_state)\n"
                     "print \"a }\", tcpi_snd_cwnd\nprint(tcpi_rto,\n 'x')\n# if\npass"),
            "holds");
  Ran const ran = run_text(open_passively + "+0 %{ print(tcpi_rto) }%\n");
  EXPECT_EQ(ran.verdict, Verdict::passed);
  ASSERT_EQ(ran.notes.size(), 1U);
  EXPECT_THAT(ran.notes[0].text, HasSubstr("print(tcpi_rto)"));
  EXPECT_EQ(asserted("print(1); assert tcpi_snd_rexmitpack == 0"), "holds");
  EXPECT_THAT(refusal_of(open_passively + "+0 %{ assert tcpi_rcv_nxt == 1 }%\n"),
              HasSubstr("no value for tcpi_rcv_nxt"));
}

TEST(Python, ControlMessages) {
  std::string const got = open_passively + "+0 < P. 1:11(10) ack 1 win 65535\n";
  std::string const call = "+0 recvmsg(4, {msg_name(...)=..., msg_iov(1)=[{..., 5}], msg_flags=0, ";
  passes(got + call + "msg_control=[]}, 0) = 5\n* > . 1:1(0) ack 11\n");
  EXPECT_THAT(finding_of(got + call +
                         "msg_control=[{cmsg_level=SOL_TCP, cmsg_type=TCP_CM_INQ, "
                         "cmsg_data=5}]}, 0) = 5\n"),
              HasSubstr("msg_control has no item"));
}

// ---- profiles that speak like their namesakes ----

const std::string bsd_client =
    "--profile=freebsd\n0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n"
    "+0 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0\n"
    "+0 getsockopt(3, SOL_SOCKET, SO_RCVBUF, [65536], [4]) = 0\n"
    "+0 connect(3, ..., ...) = -1 EINPROGRESS\n"
    "+0 > S 0:0(0) win 65535 <mss 1460,nop,wscale 6,sackOK,TS val 1 ecr 0>\n"
    "+.1 < S. 0:0(0) ack 1 win 32767 <mss 1460,sackOK,eol,eol>\n"
    "+0 > . 1:1(0) ack 1 win 65535\n";

TEST(Profiles, FreebsdRoundsItsBufferAndShowsItsFreeSpace) {
  std::string const opened =
      bsd_client +
      "+0 getsockopt(3, SOL_SOCKET, SO_RCVBUF, [65700], [4]) = 0\n"
      "+.1 < . 1:1001(1000) ack 1 win 32767\n+0 < . 1001:2001(1000) ack 1 win 32767\n"
      "+0 > . 1:1(0) ack 2001 win 63700\n+0 read(3, ..., 1) = 1\n"
      "+.1 < . 2001:3001(1000) ack 1 win 32767\n"
      "+0 < . 3001:4001(1000) ack 1 win 32767\n";
  passes(opened + "+0 > . 1:1(0) ack 4001 win 61701\n");
  std::string const waits = "--config=window_each_ack=false\n";
  EXPECT_EQ(run_text(waits + opened + "+0 > . 1:1(0) ack 4001 win 61701\n").verdict,
            Verdict::failed);
  EXPECT_THAT(finding_of("--config=receive_buffer_rounded=false\n" + opened),
              HasSubstr("the option is 65536, not 65700"));
}

TEST(Profiles, FreebsdHasOneSetOfFunctions) {
  auto const text = [](const std::string& name) {
    return "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 setsockopt(3, IPPROTO_TCP, "
           "TCP_FUNCTION_BLK, {function_set_name=\"" +
           name + "\", pcbcnt=0}, 36) = 0\n";
  };
  passes(text("freebsd"));
  EXPECT_THAT(refusal_of(text("rack")), HasSubstr("no other set of functions"));
}

TEST(Profiles, FreebsdAcknowledgesEachSecondSegment) {
  std::string const two = "+.1 < . 1:4(3) ack 1 win 32767\n+0 < . 4:6(2) ack 1 win 32767\n";
  passes(bsd_client + two + "+0 > . 1:1(0) ack 6\n");
  passes("--config=ack_each_second=false\n" + bsd_client + two + "+.04 > . 1:1(0) ack 6\n");
}

TEST(Profiles, FreebsdEndsItsOptions) {
  std::string const server =
      "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 bind(3, ..., ...) = 0\n"
      "+0 listen(3, 1) = 0\n+0 < S 0:0(0) win 65535 <mss 1460,nop,nop,sackOK>\n";
  passes("--profile=freebsd\n" + server +
         "+0 > S. 0:0(0) ack 1 win 65535 <mss 1460,sackOK,eol,eol>\n");
  passes("--profile=linux\n" + server +
         "+0 > S. 0:0(0) ack 1 win 65535 <mss 1460,nop,nop,sackOK>\n");
}

TEST(Profiles, LinuxAcknowledgesAtOnceUntilItSends) {
  auto const text = [](const std::string& profile) {
    return "--profile=" + profile +
           "\n0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 bind(3, ..., ...) = 0\n"
           "+0 listen(3, 1) = 0\n+0 < S 0:0(0) win 65535 <mss 1460>\n"
           "+0 > S. 0:0(0) ack 1 win 65535 <...>\n+.1 < . 1:1(0) ack 1 win 65535\n"
           "+0 accept(3, ..., ...) = 4\n+.1 < P. 1:101(100) ack 1 win 65535\n";
  };
  passes(text("linux") +
         "+0 > . 1:1(0) ack 101\n+0 write(4, ..., 1) = 1\n+0 > P. 1:2(1) ack 101\n"
         "+.1 < . 101:101(0) ack 2 win 65535\n+0 < P. 101:201(100) ack 2 win 65535\n"
         "+.041 > . 2:2(0) ack 201\n");
  passes(text("default") + "+.04 > . 1:1(0) ack 101\n");
}

TEST(Profiles, PushOfAnOffloadIsNotCompared) {
  Overrides linux;
  linux.profile = "linux";
  auto const run_as = [&linux](const std::string& head, const std::string& last) {
    return run_text(head +
                        "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 bind(3, ..., ...) = 0\n"
                        "+0 listen(3, 1) = 0\n+0 < S 0:0(0) win 65535 <mss 1000>\n"
                        "+0 > S. 0:0(0) ack 1 <...>\n+.1 < . 1:1(0) ack 1 win 65535\n"
                        "+0 accept(3, ..., ...) = 4\n+0 write(4, ..., 9000) = 9000\n" +
                        last,
                    linux)
        .verdict;
  };
  std::string const joined = "+0 > P. 1:5001(5000) ack 1\n";
  std::string const single = "+0 > P. 1:1001(1000) ack 1\n";
  EXPECT_EQ(run_as("`defaults.sh`\n", joined), Verdict::passed);
  EXPECT_EQ(run_as("`defaults.sh`\n", single), Verdict::failed);
  EXPECT_EQ(run_as("--allow_trailing\n", joined), Verdict::failed);
}

TEST(Profiles, ToleranceOfPacketdrill) {
  auto const late = [](const std::string& head) {
    return run_text(head +
                    "`sysctl net.ipv4.tcp_syn_retries=1`\n"
                    "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n"
                    "+0 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0\n"
                    "+0 connect(3, ..., ...) = -1 EINPROGRESS\n+0 > S 0:0(0) <...>\n"
                    "+1.003 > S 0:0(0) <...>\n")
        .verdict;
  };
  EXPECT_EQ(late(""), Verdict::passed);
  EXPECT_EQ(late("--tolerance_usecs=1000\n"), Verdict::failed);
  EXPECT_EQ(late("--profile=linux\n"), Verdict::failed);
}

TEST(Language, SpliceMovesOctetsBetweenASocketAndAPipe) {
  passes(open_passively +
         "+0 pipe([5, 6]) = 0\n"
         "+0 splice(5, NULL, 4, NULL, 100, SPLICE_F_NONBLOCK) = -1 EAGAIN\n"
         "+.1 < P. 1:101(100) ack 1 win 65535\n"
         "+0 splice(4, NULL, 6, NULL, 60, 0) = 60\n"
         "+0 splice(4, [0], 6, [0], 60, 0) = 40\n"
         "+0 splice(4, NULL, 6, NULL, 60, SPLICE_F_NONBLOCK) = -1 EAGAIN\n"
         "+0 splice(5, NULL, 4, NULL, 1000, 0) = 100\n"
         "+0 > P. 1:101(100) ack 101\n"
         "+0 splice(5, NULL, 4, [7], 10, 0) = -1 ESPIPE\n"
         "+0 splice(4, NULL, 4, NULL, 10, 0) = -1 EINVAL\n"
         "+0 write(6, ..., 10) = 10\n"
         "+0 read(5, ..., 4) = 4\n"
         "+0 close(6) = 0\n"
         "+0 read(5, ..., 100) = 6\n"
         "+0 splice(5, NULL, 4, NULL, 10, 0) = 0\n"
         "+0 close(5) = 0\n");
  // One that blocks returns once there is data.
  passes(open_passively +
         "+0 pipe([5, 6]) = 0\n"
         "0.1...0.2 splice(4, NULL, 6, NULL, 60, 0) = 10\n"
         "0.2 < P. 1:11(10) ack 1 win 65535\n");
  EXPECT_THAT(finding_of(open_passively + "+0 pipe([5, 6]) = 0\n"
                                          "+.1 < P. 1:11(10) ack 1 win 65535\n"
                                          "+0 splice(4, NULL, 6, NULL, 60, 0) = 11\n"),
              HasSubstr("10"));
  EXPECT_THAT(refusal_of(open_passively + "+0 pipe([4, 6]) = 0\n"), HasSubstr("no other"));
  EXPECT_THAT(refusal_of(open_passively + "+0 pipe([5, 6]) = 0\n+0 write(6, ..., -1) = 0\n"),
              HasSubstr("a number of octets"));
  passes(open_passively + "+0 splice(9, NULL, 4, NULL, 10, 0) = -1 EBADF\n");
}

}  // namespace
}  // namespace lockstep::conformance::script
