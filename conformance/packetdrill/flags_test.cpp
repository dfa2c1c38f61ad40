// Tests of --so_flags: accepted flags, and the errors for others.
#include "conformance/packetdrill/flags.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tools/base/process/failure.hpp"

namespace lockstep::tools::packetdrill {
namespace {

std::string complaint_of(std::string_view text) {
  try {
    read_flags(text);
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::bad_input);
    return failure.what();
  }
  return "none";
}

TEST(Flags, NoFlagsMeanTheDefaultProfileAndAddress) {
  Settings const out = read_flags("");
  EXPECT_EQ(out.plan.config.addresses[0].address, IpAddress::v4(192, 168, 0, 1));
  EXPECT_EQ(out.plan.config.mtu, Bytes{1500});
  EXPECT_EQ(out.plan.config.link, LinkType::ip);
}

TEST(Flags, ProfileAddressMtuMssFieldsAndSysctlsApply) {
  Settings const out = read_flags(
      "profile=linux,local_ip=10.0.0.7 --mtu=1400 mss=1200\tnagle=false,congestion=reno "
      "net.ipv4.tcp_sack=0,horizon=5s");
  Config const& config = out.plan.config;
  EXPECT_EQ(config.addresses[0].address, IpAddress::v4(10, 0, 0, 7));
  EXPECT_EQ(config.mtu, Bytes{1400});
  EXPECT_EQ(config.tcp.mss, Bytes{1200});
  EXPECT_FALSE(config.tcp.nagle);
  EXPECT_EQ(config.tcp.congestion, tcp::Congestion::reno);
  EXPECT_FALSE(config.tcp.sack);
  EXPECT_EQ(out.horizon, Duration::seconds(5));
}

TEST(Flags, AnAddressSelectsItsFamily) {
  EXPECT_FALSE(read_flags("local_ip=fd00::9").plan.local.is_v4());
  EXPECT_TRUE(read_flags("ip_version=ipv4-mapped-ipv6").plan.local.is_v4());
  EXPECT_FALSE(read_flags("ip_version=ipv6").plan.local.is_v4());
}

TEST(Flags, ValuesWithBlanksAreQuoted) {
  Settings const out = read_flags("net.ipv4.tcp_rmem='4096 20000 30000' mtu=1300");
  EXPECT_EQ(out.plan.config.mtu, Bytes{1300});
  EXPECT_EQ(out.plan.config.tcp.receive_buffer, Bytes{20000});
}

TEST(Flags, AnUnknownFlagIsReportedWithItsColumn) {
  EXPECT_EQ(complaint_of("mtu=1500 tapdance=7"),
            "--so_flags:1:10: the flag tapdance is not known, expected profile, local_ip, "
            "ip_version, mtu, mss, horizon, a sysctl that 'lockstep pkt sysctls' lists or a field "
            "that 'lockstep profiles' lists: remove it");
  EXPECT_EQ(complaint_of("mtu"),
            "--so_flags:1:1: 'mtu' was found, expected NAME=VALUE: correct it");
  EXPECT_EQ(complaint_of("mtu=x"),
            "--so_flags:1:1: 'x' was found for mtu, expected a number from 1 to 65535: correct it");
  EXPECT_EQ(complaint_of("a='b"), "--so_flags:1:1: a ' is not closed: close it");
  for (const char* const bad : {"profile=lynux", "local_ip=1.2.3", "ip_version=5", "horizon=soon",
                                "nagle=perhaps", "net.ipv4.none=1", "mtu=60"}) {
    EXPECT_TRUE(complaint_of(bad).starts_with("--so_flags:1:1: ")) << complaint_of(bad);
  }
}

}  // namespace
}  // namespace lockstep::tools::packetdrill
