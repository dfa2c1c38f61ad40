// Malformed scripts are refused, and any deviation from a script fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conformance/script/packet.hpp"
#include "conformance/script/script_kit.hpp"
#include "conformance/script/settings.hpp"
#include "conformance/script/sysctl.hpp"

namespace lockstep::conformance::script {
namespace {

using testing::HasSubstr;

const std::string socket = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n";

std::string finding_of(const std::string& text) {
  Ran const ran = run_text(text);
  EXPECT_EQ(ran.verdict, Verdict::failed) << text;
  return finding_text(ran);
}

void passes(const std::string& text) {
  Ran const ran = run_text(text);
  EXPECT_EQ(ran.verdict, Verdict::passed) << text << finding_text(ran);
}

TEST(NoFalseGreen, SettingsApplyExactly) {
  const std::string write = open_passively + "+0 write(4, ..., 3000) = 3000\n";
  const std::string joined = "+0 > P. 1:3001(3000) ack 1\n";
  for (const char* const good : {"", "=true", "=1"}) {
    EXPECT_THAT(finding_of("--strict_segments" + std::string(good) + "\n" + write + joined),
                HasSubstr("! length"));
    passes("--allow_trailing" + std::string(good) + "\n" + write);
  }
  for (const char* const off : {"=false", "=0"}) {
    passes("--strict_segments" + std::string(off) + "\n" + write + joined);
    EXPECT_THAT(finding_of("--allow_trailing" + std::string(off) + "\n" + write),
                HasSubstr("a packet that the script does not expect was sent"));
  }
  for (const char* const bad :
       {"--strict_segments=banana", "--strict_segments=", "--allow_trailing=no",
        "--profile=", "--profile",
        "--local_ip=", "--remote_ip=", "--mtu=", "--ip_version=", "--config=", "--bind_port="}) {
    EXPECT_THAT(refusal_of(std::string(bad) + "\n" + socket), HasSubstr("x.pkt:1:1: ")) << bad;
  }
}

TEST(NoFalseGreen, CommandsThatSetNothingAreRefused) {
  for (const char* const bad :
       {"``", "` `", "`;`", "`sysctl`", "`sysctl -q`", "`sysctl net.ipv4.tcp_sack=0; sysctl`"}) {
    EXPECT_THAT(refusal_of(std::string(bad) + "\n" + socket), HasSubstr("x.pkt:1:1: ")) << bad;
  }
  passes("`sysctl net.ipv4.tcp_sack=0;`\n" + socket);
}

TEST(NoFalseGreen, NothingInTimesAndCodeIsIgnored) {
  EXPECT_THAT(refusal_of("0.0000000001 close(3) = 0\n"), HasSubstr("x.pkt:1:1: "));
  passes("0.000000001 close(3) = -1 EBADF\n");
  EXPECT_THAT(refusal_of("0 %{ }%\n"), HasSubstr("no assertion here"));
  EXPECT_THAT(refusal_of("0 %{ assert 1 / 2 == 0 }%\n"), HasSubstr("x.pkt:1:15: '/' gives"));
  EXPECT_THAT(refusal_of("0 %{ assert 010 == 8 }%\n"), HasSubstr("the name 010"));
}

TEST(NoFalseGreen, ResultsAreTheStacks) {
  std::string refused = open_passively;
  refused.replace(refused.rfind("= 4"), 3, "= -1");
  EXPECT_THAT(finding_of(refused), HasSubstr("accept returned another result"));
  EXPECT_THAT(finding_of("0 socket(..., SOCK_STREAM, IPPROTO_TCP) = -1 EMFILE\n"),
              HasSubstr("socket returned another result"));
  EXPECT_THAT(refusal_of(socket + "+0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n"),
              HasSubstr("x.pkt:2:1: the descriptor 3 is still open"));
  passes(socket + "+0 close(3) = 0\n+0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n");
  // A descriptor that the script does not name gets a number that the script does not use.
  passes(socket +
         "+0 socket(..., SOCK_STREAM, IPPROTO_TCP) = ...\n"
         "+0 close(4) = 0\n+0 close(3) = 0\n");
}

TEST(NoFalseGreen, AddressesAreComparedWithTheScript) {
  const auto bind_to = [](const std::string& name) {
    return socket + "+0 bind(3, " + name + ", ...) = 0\n";
  };
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"{sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr(\"192.168.0\")}", "an address"},
      {"{sa_family=AF_INET, sin_port=htons(80), sin_addr=\"here\"}", "an address"},
      {"{sa_family=AF_INET, sin_prt=htons(80)}", "before '=', not sin_prt"},
      {"{sa_family=AF_INET, sin_port=htons(80), sin_port=htons(81)}", "sin_port once"},
      {"{sa_family=AF_INET, sin_port=htons(73616)}", "htons of 73616 is out of range"},
      {"{sa_family=AF_INET, sin_port=73616}", "a port, 0 to 65535"},
      {"{sa_family=AF_INET, sin_addr=inet_addr(\"2001:db8::1\")}", "an address of IPv4"},
      {"{AF_INET, htons(80)}", "{sa_family"},
      {"[1]", "{sa_family"},
  };
  for (auto const& [name, what] : bad) {
    EXPECT_THAT(refusal_of(bind_to(name)), HasSubstr(what)) << name;
    EXPECT_THAT(refusal_of(bind_to(name)), HasSubstr("x.pkt:2:")) << name;
  }
  passes(bind_to("{sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr(\"192.168.0.1\")}") +
         "+0 getsockname(3, {sa_family=AF_INET, sin_port=htons(80), "
         "sin_addr=inet_addr(\"192.168.0.1\")}, [16]) = 0\n");
  EXPECT_THAT(finding_of(bind_to("{sa_family=AF_INET, sin_port=htons(80)}") +
                         "+0 getsockname(3, {sin_port=htons(81)}, ...) = 0\n"),
              HasSubstr("the port is 80, not 81"));
  EXPECT_THAT(finding_of(bind_to("...") + "+0 getsockname(3, ..., [28]) = 0\n"),
              HasSubstr("the length is 16, not 28"));
  passes(socket + "+0 bind(3, {sa_family=AF_INET6}, ...) = -1 EAFNOSUPPORT\n");
  passes(socket + "+0 bind(3, ..., 4) = -1 EINVAL\n");
  std::string other = open_passively;
  other.replace(other.find("accept(3, ..., ...)"), 19,
                "accept(3, {sin_addr=inet_addr(\"192.0.2.9\")}, ...)");
  EXPECT_THAT(finding_of(other), HasSubstr("the address is 192.0.2.1, not 192.0.2.9"));
}

TEST(NoFalseGreen, OptionLengthsAreCompared) {
  passes(open_passively +
         "+0 getsockopt(4, IPPROTO_TCP, TCP_NODELAY, [0], [4]) = 0\n"
         "+0 setsockopt(4, IPPROTO_TCP, TCP_NODELAY, [1], 2) = -1 EINVAL\n");
  EXPECT_THAT(
      finding_of(open_passively + "+0 getsockopt(4, IPPROTO_TCP, TCP_NODELAY, [0], [8]) = 0\n"),
      HasSubstr("the length is 4, not 8"));
}

TEST(NoFalseGreen, VectorsUseTheirOwnCalls) {
  passes(open_passively +
         "+0 writev(4, [{..., 10}, {..., 20}], 2) = 30\n"
         "+0 > P. 1:31(30) ack 1\n"
         "+0 < P. 1:31(30) ack 31 win 65535\n"
         "+0 readv(4, [{..., 10}, {..., 10}], 2) = 20\n"
         "+0 readv(4, [{..., 10}, {..., 10}], 1) = 10\n"
         "+0 writev(4, [], 0) = -1 EINVAL\n"
         "+0 readv(4, [], 0) = -1 EINVAL\n"
         "* > . 31:31(0) ack 31\n");
  EXPECT_THAT(refusal_of(open_passively + "+0 writev(4, [{..., 10}], 2) = 10\n"),
              HasSubstr("0 to 1, as many as the list has"));
  passes(open_passively +
         "+0 sendmsg(4, {msg_name(...)=..., msg_iov(2)=[{..., 5}, {..., 5}], "
         "msg_flags=0}, 0) = 10\n"
         "+0 > P. 1:11(10) ack 1\n"
         "+0 < P. 1:11(10) ack 11 win 65535\n"
         "+0 recvmsg(4, {msg_name(...)=..., msg_iov(1)=[{..., 100}], "
         "msg_flags=0}, 0) = 10\n"
         "* > . 11:11(0) ack 11\n");
  EXPECT_THAT(finding_of(open_passively + "+0 < P. 1:11(10) ack 1 win 65535\n"
                                          "+0 recvmsg(4, {msg_name(...)=..., msg_iov(1)="
                                          "[{..., 100}], msg_flags=MSG_TRUNC}, 0) = 10\n"),
              HasSubstr("msg_flags is 0x0, not 0x20"));
}

TEST(NoFalseGreen, ImpossiblePacketsAreRefused) {
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"+0 < S 0:0(0)\n", "x.pkt:2:6: this arriving packet has no window"},
      {"+0 < S 0:0(0) <mss 1000>\n", "has no window"},
      {"+0 < [ttl 0] S 0:0(0) win 1\n", "x.pkt:2:7: a time to live of 0"},
      {"+0 > [ttl 0] S 0:0(0)\n", "a time to live of 0"},
      {"+0 < . 1:65536(65535) ack 1 win 1\n", "x.pkt:2:4: a packet with 65535 octets"},
      {"+0 < . 1:65497(65496) ack 1 win 1\n", "longer than IP"},
      {"+0 < . 1:65494(65493) ack 1 win 1 <nop>\n", "longer than IP"},
      {"+0 < icmp unreachable port_unreachable [1:65536(65535)]\n", "longer than IP"},
      {"+0 < [flowlabel 7] S 0:0(0) win 1\n", "IPv4 has no flow label"},
      {"+0 > [checksum bad] S 0:0(0)\n", "can have a bad checksum"},
      {"+0 < [checksum bad] icmp echo_request id 1\n", "can have a bad checksum"},
  };
  for (auto const& [packet, what] : bad) {
    EXPECT_THAT(refusal_of(socket + packet), HasSubstr(what)) << packet;
  }
  passes(socket + "+0 < . 1:65496(65495) ack 1 win 1\n+0 > R 1:1(0)\n");
  EXPECT_THAT(refusal_of("--ip_version=ipv6\n" + socket + "+0 < . 1:65517(65516) ack 1 win 1\n"),
              HasSubstr("longer than IP"));
}

TEST(NoFalseGreen, SysctlsAreNotRounded) {
  Config config;
  EXPECT_EQ(set_sysctl("net.inet.tcp.initcwnd_segments", "0", config), "");
  EXPECT_EQ(config.tcp.initial_window, tcp::InitialWindow::rfc5681);
  EXPECT_EQ(set_sysctl("net.inet.tcp.initcwnd_segments", "10", config), "");
  EXPECT_EQ(config.tcp.initial_window, tcp::InitialWindow::rfc6928);
  for (const char* const bad : {"1", "4", "9", "11", "-1", ""}) {
    EXPECT_THAT(set_sysctl("net.inet.tcp.initcwnd_segments", bad, config), HasSubstr("expected 0"));
  }
  for (const char* const late :
       {"net.inet.tcp.keepidle=500", "net.inet.tcp.keepidle=1500", "net.inet.tcp.keepidle=0",
        "net.inet.tcp.keepidle=32768000", "net.ipv4.tcp_keepalive_time=0",
        "net.ipv4.tcp_keepalive_time=32768", "net.ipv4.ip_default_ttl=0", "net.inet.ip.ttl=0"}) {
    EXPECT_THAT(refusal_of(socket + "`sysctl " + late + "`\n"), HasSubstr("x.pkt:2:1: ")) << late;
  }
  // Sockets accept every sysctl that may be set later.
  for (SysctlRow const& row : sysctl_rows()) {
    std::string const value = row.name.ends_with("keepidle") ? "1000" : "1";
    if (row.later) {
      passes(socket + "`sysctl " + row.name + "=" + value + "`\n" +
             "+0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 4\n+0 epoll_create1(0) = 5\n");
    }
  }
}

// ---- what is compared ----

Flow flow_of_peer(const Flow& flow) {
  Flow out = flow;
  std::swap(out.local, out.remote);
  return out;
}

TEST(NoFalseGreen, AllOfAnIcmpMessageIsCompared) {
  for (const char* const version : {"ipv4", "ipv6"}) {
    Script const script = parse("x.pkt",
                                "--ip_version=" + std::string(version) + "\n" + socket +
                                    "+0 < icmp unreachable port_unreachable [1:101(100)]\n",
                                {});
    Plan const plan = plan_of(script, {});
    Flow flow;
    flow.local = {plan.local, Port{8080}};
    flow.remote = {plan.remote, Port{1000}};
    Packet expected = script.events[1].packet;
    Live const live = read_live(build(expected, flow_of_peer(flow)));
    ASSERT_TRUE(live.readable) << live.complaint;
    expected.direction = Direction::out;
    EXPECT_FALSE(differ(compare(expected, live, flow, false))) << version;
    Packet longer = expected;
    longer.icmp.quoted->length += 1;
    EXPECT_TRUE(differ(compare(longer, live, flow, false))) << version;
    Packet later = expected;
    later.icmp.quoted->begin += 1;
    EXPECT_TRUE(differ(compare(later, live, flow, false))) << version;
    Flow elsewhere = flow;
    elsewhere.remote.address.low ^= 1;
    EXPECT_TRUE(differ(compare(expected, live, elsewhere, false))) << version;
    Flow not_ours = flow;
    not_ours.local.address.low ^= 1;
    EXPECT_TRUE(differ(compare(expected, live, not_ours, false))) << version;
  }
}

TEST(NoFalseGreen, OnlyMatchingSegmentsAreJoined) {
  Live first;
  first.readable = true;
  first.length = 1000;
  first.flags = 0x10;
  first.ttl = 64;
  Live next = first;
  next.sequence = 1000;
  const auto joins = [&first](Live const& other) {
    Live whole = first;
    return join(whole, other, 1000);
  };
  EXPECT_TRUE(joins(next));
  const std::vector<void (*)(Live&)> changes = {
      [](Live& live) { live.options.push_back({5, {0, 0, 0, 1, 0, 0, 0, 2}, std::uint8_t{10}}); },
      [](Live& live) { live.ttl = 63; },
      [](Live& live) { live.flow_label = 1; },
      [](Live& live) { live.urgent = 1; },
      [](Live& live) { live.window = 1; },
      [](Live& live) { live.traffic_class = 2; },
      [](Live& live) { live.ack = 1; },
      [](Live& live) { live.sequence = 1001; },
      [](Live& live) { live.length = 1001; },
      [](Live& live) { live.flags = 0x30; },
      [](Live& live) { live.source.port = Port{1}; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    Live other = next;
    changes[i](other);
    EXPECT_FALSE(joins(other)) << i;
  }
}

}  // namespace
}  // namespace lockstep::conformance::script
