// Each fault that keeps a driver from working, one at a time, on an interface that is otherwise
// fine.
#include <gtest/gtest.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "tools/base/output/json.hpp"
#include "tools/verbs/doctor/report.hpp"

namespace lockstep::tools {
namespace {

DoctorFacts good() {
  DoctorFacts facts;
  facts.name = "eth1";
  facts.program_path = "/usr/bin/lockstep";
  facts.interface.ethernet = true;
  facts.interface.up = true;
  facts.driver = "veth";
  facts.channels = hw::ChannelCounts{0, 1};
  facts.xdp.features = 0x0f;
  facts.offloads.gro = true;
  facts.peer.name = "eth2";
  facts.peer.offloads.send_checksum = true;
  facts.peer.offloads.tso = true;
  facts.peer.offloads.gso = true;
  facts.address = HostAddress{IpAddress::v4(10, 9, 0, 2), 24};
  return facts;
}

/// One line of the table; fails if any other line is not fine.
Check only(const DoctorFacts& facts, const DoctorQuestion& question, const std::string& what) {
  Check out;
  for (const Check& check : judge(facts, question)) {
    if (check.what == what) {
      out = check;
    } else {
      EXPECT_NE(check.severity, Severity::breaks) << check.what << ": " << check.found;
    }
  }
  EXPECT_EQ(out.what, what);
  return out;
}

Check only(const DoctorFacts& facts, DriverKind driver, const std::string& what) {
  return only(facts, DoctorQuestion{driver, 0}, what);
}

TEST(Doctor, FindsNothingWhereAllIsFine) {
  for (auto const driver : {DriverKind::packet, DriverKind::xdp, DriverKind::xdp_native}) {
    auto const checks = judge(good(), {driver, 0});
    EXPECT_EQ(checks.size(), 15u);
    EXPECT_EQ(breaks_in(checks), 0u);
  }
}

TEST(Doctor, AnInterfaceThatIsDownOrNoEthernet) {
  DoctorFacts facts = good();
  facts.interface.up = false;
  EXPECT_EQ(only(facts, DriverKind::packet, "interface").mend, "ip link set dev eth1 up");
  facts = good();
  facts.carrier = false;
  EXPECT_EQ(only(facts, DriverKind::xdp, "interface").mend, "ip link set dev eth2 up");
  facts.peer = {};
  EXPECT_EQ(only(facts, DriverKind::xdp, "interface").mend, "bring the other end up");
  facts = good();
  facts.interface.ethernet = false;
  EXPECT_EQ(only(facts, DriverKind::packet, "interface").severity, Severity::breaks);
}

TEST(Doctor, RightsAndKernelFeatures) {
  DoctorFacts facts = good();
  facts.socket_errors.bpf = EPERM;
  EXPECT_EQ(only(facts, DriverKind::packet, "rights").severity, Severity::fine);
  EXPECT_EQ(only(facts, DriverKind::xdp, "rights").mend,
            "setcap cap_net_raw,cap_net_admin,cap_bpf+ep /usr/bin/lockstep, or run as root");
  facts.in_user_namespace = true;
  EXPECT_EQ(only(facts, DriverKind::xdp, "rights").mend,
            "run as root outside of this user namespace");
  facts = good();
  facts.socket_errors.packet_socket = EPERM;
  EXPECT_EQ(only(facts, DriverKind::xdp, "rights").severity, Severity::fine);
  EXPECT_EQ(only(facts, DriverKind::packet, "rights").mend,
            "setcap cap_net_raw+ep /usr/bin/lockstep, or run as root");
  facts = good();
  facts.socket_errors.xdp_socket = EAFNOSUPPORT;
  EXPECT_EQ(only(facts, DriverKind::xdp, "kernel").found, "no AF_XDP");
  EXPECT_EQ(only(facts, DriverKind::packet, "kernel").severity, Severity::fine);
}

TEST(Doctor, XdpSupportOfTheDriver) {
  DoctorFacts facts = good();
  EXPECT_EQ(only(facts, DriverKind::xdp, "XDP in the driver").found, "native, zero-copy");
  facts.xdp.features = 1 | 2;
  EXPECT_EQ(only(facts, DriverKind::xdp, "XDP in the driver").found, "native, with copies");
  facts.xdp.features = std::nullopt;
  EXPECT_EQ(only(facts, DriverKind::xdp, "XDP in the driver").severity, Severity::note);
  facts.xdp.features = 0;
  EXPECT_EQ(only(facts, DriverKind::xdp_native, "XDP in the driver").mend,
            "--driver xdp-generic, or --driver packet");
  facts = good();
  facts.xdp.features = 3;
  EXPECT_EQ(only(facts, DriverKind::xdp_zero_copy, "XDP in the driver").mend,
            "--driver xdp, which copies");
  facts.xdp.program = 7;
  EXPECT_EQ(only(facts, DriverKind::packet, "XDP program").severity, Severity::note);
  facts = good();
  facts.xdp.program = 7;
  EXPECT_EQ(only(facts, DriverKind::xdp, "XDP program").mend,
            "stop its owner, or: ip link set dev eth1 xdp off");
  facts.xdp.generic = true;
  EXPECT_EQ(only(facts, DriverKind::xdp, "XDP program").mend,
            "stop its owner, or: ip link set dev eth1 xdpgeneric off");
}

TEST(Doctor, QueuesThatNoShardReads) {
  DoctorFacts facts = good();
  facts.channels = hw::ChannelCounts{0, 8};
  EXPECT_EQ(only(facts, DriverKind::packet, "queues and RSS").severity, Severity::fine);
  EXPECT_EQ(only(facts, DriverKind::xdp, "queues and RSS").mend, "ethtool -L eth1 combined 1");
  facts.channels = hw::ChannelCounts{2, 0, 2};
  EXPECT_EQ(only(facts, DriverKind::xdp, "queues and RSS").mend, "ethtool -L eth1 rx 1");
  DoctorQuestion const two{DriverKind::xdp, 0, 2};
  EXPECT_EQ(only(facts, two, "queues and RSS").severity, Severity::fine);
  facts.channels = hw::ChannelCounts{2, 0, 1};
  EXPECT_EQ(only(facts, two, "queues and RSS").severity, Severity::breaks);
  EXPECT_EQ(only(facts, two, "queues and RSS").mend, "ethtool -L eth1 rx 2 tx 2");
  EXPECT_NE(only(facts, two, "queues and RSS").found.find("of which 1 can send"),
            std::string::npos);
  facts.channels = hw::ChannelCounts{1, 1};
  EXPECT_EQ(only(facts, two, "queues and RSS").mend, "ethtool -L eth1 combined 2 rx 0");
  facts.channels = hw::ChannelCounts{0, 1};
  EXPECT_EQ(only(facts, two, "queues and RSS").mend, "ethtool -L eth1 combined 2");
  facts.channels = std::nullopt;
  EXPECT_EQ(only(facts, DriverKind::xdp, "queues and RSS").severity, Severity::fine);
  EXPECT_EQ(only(facts, two, "queues and RSS").mend, "--shards 1");
}

TEST(Doctor, FramesOfManySegments) {
  DoctorFacts facts = good();
  EXPECT_EQ(only(facts, DriverKind::xdp, "long frames").severity, Severity::fine);
  EXPECT_EQ(only(facts, DriverKind::xdp_generic, "long frames").mend,
            "ethtool -K eth1 gro off && ethtool -K eth2 tso off gso off");
  facts.offloads.gro = false;
  facts.peer = {true, {}, {}};
  EXPECT_EQ(only(facts, DriverKind::xdp_generic, "long frames").severity, Severity::note);
  facts.offloads.lro = true;
  EXPECT_EQ(only(facts, DriverKind::xdp_native, "long frames").mend, "ethtool -K eth1 lro off");
  EXPECT_EQ(only(facts, DriverKind::packet, "long frames").severity, Severity::fine);
  // A driver without native XDP, so the program would run in generic mode.
  facts = good();
  facts.xdp.features = 0;
  EXPECT_EQ(only(facts, DriverKind::xdp, "long frames").severity, Severity::breaks);
}

TEST(Doctor, MtuAndMemory) {
  DoctorFacts facts = good();
  facts.interface.mtu = Bytes{9000};
  EXPECT_EQ(only(facts, DriverKind::packet, "MTU").severity, Severity::fine);
  EXPECT_EQ(only(facts, DriverKind::xdp, "MTU").mend, "ip link set dev eth1 mtu 1500");
  EXPECT_EQ(breaks_in(judge(facts, {DriverKind::xdp, 1500})), 0u);
  auto const asked = judge(facts, {DriverKind::packet, 9001});
  EXPECT_EQ(breaks_in(asked), 1u);
  // The MTU that the mend proposes passes the check.
  for (std::uint32_t const own : {1500u, 3000u, 9000u}) {
    facts.interface.mtu = Bytes{own};
    EXPECT_EQ(only(facts, {DriverKind::xdp, 9000}, "MTU").mend,
              "--mtu " + std::to_string(std::min(own, 3822u)));
    EXPECT_EQ(breaks_in(judge(facts, {DriverKind::xdp, std::min(own, 3822u)})), 0u);
  }
  facts = good();
  EXPECT_EQ(only(facts, {DriverKind::xdp, 3000}, "MTU").mend, "ip link set dev eth1 mtu 3000");
  facts.memory.locked_bytes_max = (8 << 20) - 1;
  EXPECT_EQ(only(facts, DriverKind::xdp, "locked memory").mend, "ulimit -l unlimited");
  EXPECT_EQ(only(facts, DriverKind::packet, "locked memory").severity, Severity::fine);
  facts.memory.locked_bytes_max = 8 << 20;
  EXPECT_EQ(only(facts, DriverKind::xdp, "locked memory").severity, Severity::fine);
}

TEST(Doctor, OurAddressIsInUse) {
  DoctorFacts facts = good();
  // The mend uses the kernel's prefix length, which can differ from ours.
  facts.clash = hw::KernelOwner{"lo", IpAddress::v4(10, 9, 0, 2), 32, false};
  EXPECT_EQ(only(facts, DriverKind::xdp, "address").mend, "ip address del 10.9.0.2/32 dev lo");
  facts.clash = hw::KernelOwner{"lo", IpAddress::v4(10, 9, 0, 0), 24, true};
  EXPECT_EQ(only(facts, DriverKind::xdp, "address").mend, "ip route del local 10.9.0.0/24 dev lo");
  facts = good();
  facts.clash.reset();
  facts.wire_owner = Mac{{2, 0, 0, 0, 0, 9}};
  EXPECT_EQ(only(facts, DriverKind::xdp, "address").found,
            "the host 02:00:00:00:00:09 on this wire has 10.9.0.2");
  facts.wire_owner.reset();
  facts.owners = {{"eth2", facts.interface.mac}};
  EXPECT_EQ(only(facts, DriverKind::xdp, "neighbours").severity, Severity::fine);
  facts.owners[0].mac.octets[5] = 9;
  EXPECT_EQ(only(facts, DriverKind::xdp, "neighbours").mend,
            "ip neighbour del 10.9.0.2 dev eth2, if that entry is stale");
  facts = good();
  facts.forwards = true;
  EXPECT_EQ(only(facts, DriverKind::xdp, "forwarding").severity, Severity::fine);
  EXPECT_EQ(only(facts, DriverKind::packet, "forwarding").mend,
            "sysctl -w net.ipv4.conf.eth1.forwarding=0");
}

TEST(Doctor, TextAndJsonSayTheSame) {
  DoctorFacts facts = good();
  facts.clash = hw::KernelOwner{"lo", IpAddress::v4(10, 9, 0, 2), 24, false};
  auto const checks = judge(facts, {DriverKind::xdp, 0});
  std::string const text = doctor_text(checks, 0);
  EXPECT_NE(text.find("1 check failed\n"), std::string::npos) << text;
  auto const json = parse_json(doctor_json(facts, "xdp", checks));
  EXPECT_EQ(json["breaks"], 1);
  EXPECT_EQ(json["checks"].size(), checks.size());
  EXPECT_EQ(json["checks"][12]["mend"], "ip address del 10.9.0.2/24 dev lo");
}

}  // namespace
}  // namespace lockstep::tools
