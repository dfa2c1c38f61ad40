// Commands between backticks, settings of packetdrill, and the preprocessor.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conformance/script/report.hpp"
#include "conformance/script/script_kit.hpp"
#include "conformance/script/sysctl.hpp"

namespace lockstep::conformance::script {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

const std::string a_socket = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n";

/// The names and values that the commands of a script set, as NAME=VALUE.
std::vector<std::string> set_by(const std::string& command) {
  Script const read = parse("x.pkt", "`" + command + "`\n" + a_socket, {});
  std::vector<std::string> out;
  for (Event const& event : read.events) {
    for (Assignment const& one : event.shell.set) {
      out.push_back(one.name + "=" + one.value);
    }
  }
  return out;
}

std::vector<std::string> noted_in(const std::string& command) {
  std::vector<std::string> out;
  for (Note const& one : parse("x.pkt", "`" + command + "`\n" + a_socket, {}).notes) {
    out.push_back(one.text);
  }
  return out;
}

TEST(Shell, SysctlsHaveTheirSpellings) {
  using testing::ElementsAre;
  EXPECT_THAT(set_by("sysctl -q net.ipv4.tcp_sack=0 net.ipv4.tcp_ecn=1"),
              ElementsAre("net.ipv4.tcp_sack=0", "net.ipv4.tcp_ecn=1"));
  EXPECT_THAT(set_by("/sbin/sysctl -e -w net/ipv4/tcp_sack=0"), ElementsAre("net.ipv4.tcp_sack=0"));
  EXPECT_THAT(set_by("../common/set_sysctls.py /proc/sys/net/ipv4/tcp_sack=0 \\\n"
                     "   /proc/sys/net/ipv4/tcp_wmem=\"4096 5000 $((2 * 4096 + 1))\""),
              ElementsAre("net.ipv4.tcp_sack=0", "net.ipv4.tcp_wmem=4096 5000 8193"));
  EXPECT_THAT(
      set_by("sysctl net.ipv4.tcp_sack=0 # off\nsysctl -q net.ipv4.tcp_ecn=2 >/dev/null 2>&1"),
      ElementsAre("net.ipv4.tcp_sack=0", "net.ipv4.tcp_ecn=2"));
  EXPECT_THAT(set_by("echo 0 > /proc/sys/net/ipv4/tcp_sack"), ElementsAre("net.ipv4.tcp_sack=0"));
  EXPECT_THAT(set_by("ip route change 192.0.2.0/24 dev tun0 initcwnd 10 mtu lock 1400"),
              ElementsAre("route.initcwnd=10", "route.mtu=1400"));
  EXPECT_THAT(set_by("sysctl net.ipv4.tcp_sack=0 || true"), ElementsAre("net.ipv4.tcp_sack=0"));
}

TEST(Shell, WhatOnlyPreparesAMachineIsNoted) {
  for (const char* const one :
       {"kldload -n tcp_rack", "tc qdisc replace dev tun0 root fq", "ethtool -K tun0 tso off",
        "ifconfig tun0 -txcsum", "ip tcp_metrics flush all", "iptables -F", "sleep 0.1",
        "nstat > /dev/null", "/tmp/sysctl_restore_${PPID}.sh"}) {
    EXPECT_THAT(noted_in(one), testing::SizeIs(1)) << one;
    EXPECT_THAT(set_by(one), IsEmpty()) << one;
  }
  Ran const ran = run_text("`kldload cc_dctcp\nsysctl kern.ipc.maxsockbuf=2097152`\n" + a_socket);
  ASSERT_EQ(ran.notes.size(), 2U);
  EXPECT_EQ(ran.notes[0].text, "kldload cc_dctcp");
  EXPECT_EQ(ran.notes[1].text, "kern.ipc.maxsockbuf=2097152");
  EXPECT_FALSE(ran.notes[0].lenient);
}

TEST(Shell, TheRestIsRefusedByNameWithItsPlace) {
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"`true\n  python3 -c pass`\n", "x.pkt:2:3: the command python3"},
      {"`sysctl net.ipv4.tcp_sack=$(nproc)`\n", "the output of a command"},
      {"`sysctl net.ipv4.tcp_sack=$((1 + ))`\n", "cannot be evaluated"},
      {"`sysctl 'net.ipv4.tcp_sack=1`\n", "a quote begins here"},
      {"`cat < /etc/passwd`\n", "this redirection"},
      {"`./set_sysctls.py tcp_sack=1`\n", "expected /proc/sys/NAME=VALUE"},
      {"`iptables -A INPUT -j DROP`\n", "there is no filter"},
      {"`ip route change 192.0.2.0/24 quickack 1`\n", "this route sets"},
      {"`ip route change 192.0.2.0/24 initcwnd 70000`\n", "a number up to 65535"},
      {"`nstat | grep TcpExtTCPLoss`\n", "is not understood"},
      {"`ss -tin | grep cwnd`\n", "is not understood"},
      {"`sysctl net.inet.tcp.fast_finwait2_recycle=1`\n", "expected 0, as this stack behaves"},
      {"`sysctl net.ipv4.tcp_ecn=3`\n", "accurate ECN (RFC 9768)"},
      {"`sysctl net.ipv4.tcp_fastopen_key=00000000-00000000-00000000-00000000`\n",
       "expected another key"},
  };
  for (auto const& [command, what] : bad) {
    EXPECT_THAT(refusal_of(command + a_socket), HasSubstr(what)) << command;
  }
}

/// A connection whose SYN arrives with SACK offered; `answer` is what our SYN-ACK must offer.
std::string opening(int port, const std::string& answer) {
  return fmt::format(
      "+.1 < {0} > 8080 S 0:0(0) win 65535 <mss 1460,nop,nop,sackOK>\n"
      "+0 > 8080 > {0} S. 0:0(0) ack 1 <mss 1460{1}>\n",
      port, answer);
}
const std::string listening = a_socket + "+0 bind(3, ..., ...) = 0\n+0 listen(3, 5) = 0\n";

TEST(Shell, SysctlsBetweenCallsTakeEffectThere) {
  const std::string off = "+0 `sysctl -q net.ipv4.tcp_sack=0`\n";
  const std::string head = "`sysctl net.ipv4.tcp_sack=1 net.ipv4.tcp_timestamps=0`\n";
  Ran const ran = run_text(head + listening + opening(1001, ",nop,nop,sackOK") + off +
                           opening(1002, "") + "+0 `sysctl -q net.ipv4.tcp_sack=1`\n");
  EXPECT_EQ(ran.verdict, Verdict::passed) << finding_text(ran);
  Ran const not_set =
      run_text(head + listening + opening(1001, ",nop,nop,sackOK") + opening(1002, ""));
  EXPECT_EQ(not_set.verdict, Verdict::failed);
}

TEST(Shell, TimesOfCommandsAtTheHeadCount) {
  Ran const ran = run_text(
      "0 `sysctl net.ipv4.tcp_sack=0`\n+0.5 `sysctl net.ipv4.tcp_ecn=0`\n"
      "+0.25 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n0.75 close(3) = 0\n");
  EXPECT_EQ(ran.verdict, Verdict::passed) << finding_text(ran);
  EXPECT_EQ(ran.virtual_ns, 750'000'000U);
}

TEST(Shell, ToolsAssertStates) {
  const std::string open = open_passively;
  for (const char* const holds :
       {"sockstat -4 -P tcp -s | grep packetdril | grep -c ESTABLISHED | grep 1",
        "ss -tan state established | grep -q 8080", "ss -tan | grep -q ESTAB",
        "! ss -tan | grep -q TIME-WAIT", "sockstat -P tcp -c | grep -c LAST_ACK | grep 0",
        "grep \" 0A \" /proc/net/tcp /proc/net/tcp6 | grep \":1F90\""}) {
    Ran const ran = run_text(open + "+0 `" + holds + "`\n");
    EXPECT_EQ(ran.verdict, Verdict::passed) << holds << finding_text(ran);
  }
  for (const char* const fails :
       {"sockstat -P tcp -s | grep -c ESTABLISHED | grep 2", "ss -tan | grep -q FIN-WAIT-1",
        "! ss -tan | grep -q ESTAB", "grep \" 06 \" /proc/net/tcp"}) {
    Ran const ran = run_text(open + "+0 `" + fails + "`\n");
    EXPECT_EQ(ran.verdict, Verdict::failed) << fails;
    EXPECT_THAT(ran.finding.what, HasSubstr("does not hold")) << fails;
  }
}

TEST(Shell, DefaultsAreLinuxs) {
  Overrides linux;
  linux.profile = "linux";
  const std::string script =
      "`../common/defaults.sh`\n" + listening +
      "+0 < S 0:0(0) win 65535 <mss 1000,sackOK,nop,nop,nop,wscale 7>\n"
      "+0 > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK,nop,wscale 8>\n"
      "+0 < . 1:1(0) ack 1 win 500\n+0 accept(3, ..., ...) = 4\n+0 close(4) = 0\n";
  Ran const ran = run_text(script, linux);  // what close() sends is not expected, as in packetdrill
  EXPECT_EQ(ran.verdict, Verdict::passed) << finding_text(ran);
  Ran const strict = run_text("--allow_trailing=false\n" + script, linux);
  EXPECT_THAT(strict.finding.what, HasSubstr("does not expect"));
}

TEST(Preprocessor, BranchesObeyNames) {
  const auto calls = [](const std::string& text, const Defines& defines) {
    std::string out;
    for (Event const& event : parse("x.pkt", text, defines).events) {
      out += event.call.name + " ";
    }
    return out;
  };
  const std::string text =
      "#ifdef FAST\n0 close(1) = 0\n#else\n0 shutdown(1, 0) = 0\n#endif\n"
      "#if defined(N) && N > 3\n0 listen(1, N) = 0\n#elif N == 2\n0 socket(1, 1, 1) = 0\n"
      "#else\n0 usleep(1) = 0\n#endif\n# if this is a comment\n";
  EXPECT_EQ(calls(text, {}), "shutdown usleep ");
  EXPECT_EQ(calls(text, {{"FAST", ""}, {"N", "2"}}), "close socket ");
  EXPECT_EQ(calls(text, {{"N", "4"}}), "shutdown listen ");
  EXPECT_EQ(calls("#define N 4\n#undef FAST\n" + text, {{"FAST", "1"}}), "shutdown listen ");
  EXPECT_EQ(calls("#define OPEN socket(..., 1, 0) = 3\n0 OPEN\n+0 close(3) = 0 // OPEN\n", {}),
            "socket close ");
}

TEST(Preprocessor, RefusesWithItsPlace) {
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"  #ifdef A\n", "x.pkt:1:3: this #if is never closed"},
      {a_socket + "#endif\n", "x.pkt:2:1: #endif without #if"},
      {"#if 1 +\n#endif\n", "cannot be evaluated"},
      {"#ifdef A B\n#endif\n", "expected one name"},
      {"#if 0\n#else\n#else\n#endif\n", "#else after #else"},
      {"#include \"a.h\"\n", "#include is not supported"},
      {"#define 1 2\n", "expected NAME"},
  };
  for (auto const& [text, what] : bad) {
    EXPECT_THAT(refusal_of(text + a_socket), HasSubstr(what)) << text;
  }
}

TEST(Head, SettingsOfPacketdrill) {
  Script const read =
      parse("x.pkt",
            "--ip_version=ipv4 --mtu=1400 // small\n--debug\n--tolerance_usecs=10 \n"
            "--gateway_ip=10.0.0.1\n--netmask_ip=255.255.0.0\n--send_omit_free\n" +
                a_socket,
            {});
  EXPECT_EQ(read.head.mtu, 1400U);
  EXPECT_EQ(read.head.tolerance_ns, 10'000U);
  EXPECT_EQ(read.notes.size(), 4U);
  for (const char* const bad : {"--non_fatal=packet", "--wire_client", "--udp_encapsulation=both",
                                "--init_scripts=a.sh", "--so_filename=a.so", "--dry_run"}) {
    EXPECT_THAT(refusal_of(std::string(bad) + "\n" + a_socket), HasSubstr("is not supported"))
        << bad;
  }
}

TEST(Head, MssCutsWhatArrives) {
  const std::string data = "+0 < P. 1:3001(3000) ack 1 win 65535\n* > . 1:1(0) ack 3001\n";
  Ran const ran = run_text("--mss=1000\n" + open_passively + data);
  EXPECT_EQ(ran.packets_in, 5U) << finding_text(ran);
  EXPECT_EQ(run_text(open_passively + data).packets_in, 3U);
}

TEST(Lenient, LeavesOutAndSaysSo) {
  Overrides lenient;
  lenient.lenient = true;
  const auto run_leniently = [&lenient](const std::string& text) {
    Arena arena;
    return run(parse("x.pkt", text, {}, Strictness::lenient), lenient, arena);
  };
  const std::string strange = "+0.5 frobnicate(3) = 7\n+0 `ipfw flush`\n";
  Ran const ran = run_leniently(open_passively + strange +
                                "+0 write(4, ..., 10) = 10\n"
                                "+0 > P. 1:11(10) ack 1\n");
  EXPECT_EQ(ran.verdict, Verdict::passed) << finding_text(ran);
  ASSERT_EQ(ran.notes.size(), 2U);
  EXPECT_TRUE(ran.notes[0].lenient);
  EXPECT_THAT(ran.notes[0].why, HasSubstr("x.pkt:9:6: the call frobnicate"));
  EXPECT_EQ(ran.virtual_ns, 600'000'000U);
  Ran const empty = run_leniently("0 frobnicate(3) = 7\n");
  EXPECT_EQ(empty.verdict, Verdict::left_out);
  Report report;
  report.scripts = {ran, empty};
  EXPECT_THAT(table_text(report, true, 100), HasSubstr("x.pkt:9: left out: "));
  EXPECT_THAT(table_text(report, true, 100), HasSubstr("1 are left out"));
  EXPECT_THAT(json_text(report), HasSubstr("\"not_carried_out\""));
  EXPECT_THAT(junit_text(report), HasSubstr("<system-out>"));
}

}  // namespace
}  // namespace lockstep::conformance::script
