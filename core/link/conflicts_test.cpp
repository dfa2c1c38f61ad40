// Detection of IPv4 address conflicts (RFC 5227): probes, announcements, and the defence.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "core/link/neighbours.hpp"
#include "core/wire/ethernet.hpp"

namespace lockstep::link {
namespace {

constexpr Mac our_mac{{2, 0, 0, 0, 0, 1}};
constexpr Mac other_mac{{2, 0, 0, 0, 0, 9}};
constexpr Ipv4 ours{0x0a00'0001};
constexpr Ipv4 second{0x0a00'0002};
constexpr Ipv4 neighbour{0x0a00'0009};

NeighbourConfig testing() {
  NeighbourConfig config;
  config.entries_max = Count{4};
  config.announcements = Count{2};
  config.probes = Count{3};
  config.defends = true;
  config.seed = 1;
  return config;
}

// Two addresses in a cache with a wheel of its own.
class Host {
 public:
  explicit Host(const NeighbourConfig& config = testing()) {
    memory::Layout measure;
    lay_out(measure, config);
    memory_.resize(measure.bytes() / 64 + 1);
    memory::Layout layout(
        {reinterpret_cast<std::byte*>(memory_.data()), memory_.size() * sizeof(Line)});
    lay_out(layout, config);
    wheel.start();
    cache.start();
    cache.identify({our_mac, addresses});
    cache.begin(now);
  }

  // What is sent until `end`: "p" for a probe, "a" for an announcement, "r" for a reply, each with
  // the last octet of the address.
  std::string until(Instant end) {
    std::string out = written();
    while (now < end) {
      now = std::min(std::max(wheel.deadline(), now + Duration{1}), end);
      for (Index timer = wheel.pop_due(now); timer != nil; timer = wheel.pop_due(now)) {
        cache.expire(timer, now);
      }
      out += written();
    }
    return out;
  }
  std::string after(Duration by) { return until(now + by); }

  Drop hear(wire::ArpOperation operation, Ipv4 sender, Ipv4 target, Mac mac = other_mac) {
    return cache.receive({operation, mac, sender, Mac{}, target}, now);
  }

  std::array<IpAddress, 2> addresses{IpAddress::from(ours), IpAddress::from(second)};
  memory::TimerWheel wheel;
  Neighbours cache;
  Instant now{5'000'000'000};
  std::vector<Instant> probes;  // of the first address

 private:
  struct alignas(64) Line {
    std::array<std::byte, 64> octets;
  };

  void lay_out(memory::Layout& layout, const NeighbourConfig& config) {
    wheel = memory::TimerWheel::lay_out(layout, Neighbours::timers_max(config));
    cache = Neighbours::lay_out(layout, config, wheel, memory::TimerOwner{0});
  }

  std::string written() {
    std::string out;
    while (cache.wants_transmit()) {
      std::array<std::byte, 60> octets{};
      EXPECT_EQ(cache.write_next(now, octets).count, 42u);
      wire::EthernetFrame frame;
      EXPECT_EQ(wire::parse(octets, frame), Drop::none);
      wire::ArpPacket packet;
      EXPECT_EQ(wire::parse(frame.payload, packet), Drop::none);
      EXPECT_EQ(packet.sender_mac, our_mac);
      bool const reply = packet.operation == wire::ArpOperation::reply;
      EXPECT_EQ(frame.header.destination == Mac::broadcast(), !reply);
      bool const probe = packet.sender.is_unspecified();
      EXPECT_TRUE(reply || probe || packet.sender == packet.target);
      Ipv4 const about = reply ? packet.sender : packet.target;
      out += (reply ? "r" : probe ? "p" : "a") + std::to_string(about.value & 0xff) + " ";
      if (probe && about == ours) {
        probes.push_back(now);
      }
    }
    return out;
  }

  std::vector<Line> memory_;
};

//= rfc5227#2.1
//= type=test
//# 5227:ACD-1 each address
//= rfc5227#2.1.1
//= type=test
//# 5227:ACD-2 from 0.0.0.0
//# 5227:ACD-3 three times, at random intervals, and two seconds of silence
//# 5227:ACD-6 then it is used
//= rfc5227#2.3
//= type=test
//# 5227:ACD-7 and announced twice, two seconds apart
TEST(Conflicts, AnAddressIsTestedAndThenAnnounced) {
  Host host;
  Instant const begin = host.now;
  EXPECT_EQ(host.cache.tentative(), 3u);
  EXPECT_EQ(host.until(begin + Duration::milliseconds(4000)), "p1 p2 p1 p2 p1 p2 ");
  ASSERT_EQ(host.probes.size(), 3u);
  EXPECT_LE(host.probes[0].since(begin), Duration::seconds(1));
  for (std::size_t i = 1; i != 3; ++i) {
    EXPECT_GE(host.probes[i].since(host.probes[i - 1]), Duration::seconds(1));
    EXPECT_LE(host.probes[i].since(host.probes[i - 1]), Duration::seconds(2));
  }
  host.until(host.probes[2] + Duration::milliseconds(1999));
  EXPECT_EQ(host.cache.tentative(), 3u);
  EXPECT_EQ(host.until(host.probes[2] + Duration::seconds(2)), "a1 a2 ");
  EXPECT_EQ(host.cache.tentative(), 0u);
  EXPECT_EQ(host.cache.duplicates(), 0u);
  EXPECT_EQ(host.after(Duration::seconds(60)), "a1 a2 ");
}

TEST(Conflicts, HostsThatStartTogetherProbeAtDifferentTimes) {
  NeighbourConfig other = testing();
  other.seed = 2;
  Host a;
  Host b(other);
  a.after(Duration::seconds(8));
  b.after(Duration::seconds(8));
  EXPECT_NE(a.probes, b.probes);
}

// While it is tested an address answers nothing; the other one is not affected.
//= rfc5227#2.1.1
//= type=test
//# 5227:ACD-4 a request or a reply of its owner
//# 5227:ACD-5 or a probe of another host
TEST(Conflicts, AnotherHostHasTheAddress) {
  using wire::ArpOperation;
  struct Row {
    ArpOperation operation;
    Ipv4 sender;
    Ipv4 target;
  };
  for (Row const& row :
       {Row{ArpOperation::reply, ours, Ipv4{0}}, Row{ArpOperation::request, ours, neighbour},
        Row{ArpOperation::request, Ipv4{0}, ours}}) {
    Host host;
    host.after(Duration::seconds(2));
    EXPECT_EQ(host.hear(ArpOperation::request, neighbour, ours), Drop::ip_tentative);
    EXPECT_EQ(host.hear(row.operation, row.sender, row.target), Drop::arp_conflict);
    EXPECT_EQ(host.cache.tentative(), 2u);
    EXPECT_EQ(host.cache.duplicates(), 1u);
    EXPECT_EQ(host.cache.last_conflict().address, IpAddress::from(ours));
    EXPECT_EQ(host.cache.last_conflict().other, other_mac);
    std::string const rest = host.after(Duration::seconds(20));
    EXPECT_EQ(rest.find('1'), std::string::npos) << rest;
    EXPECT_EQ(rest.substr(rest.size() - 6), "a2 a2 ");
    EXPECT_EQ(host.hear(ArpOperation::request, neighbour, ours), Drop::ip_tentative);
    EXPECT_EQ(host.hear(ArpOperation::request, Ipv4{0}, ours), Drop::arp_not_for_us);
    EXPECT_EQ(host.after(Duration::seconds(1)), "");
  }
}

// Hubs and access points send our own packets back.
TEST(Conflicts, AnEchoOfOurProbeIsNoConflict) {
  Host host;
  host.after(Duration::seconds(2));
  EXPECT_EQ(host.hear(wire::ArpOperation::request, Ipv4{0}, ours, our_mac), Drop::arp_bad_sender);
  EXPECT_EQ(host.hear(wire::ArpOperation::request, ours, ours, our_mac), Drop::arp_bad_sender);
  EXPECT_EQ(host.cache.tentative(), 3u);
  EXPECT_EQ(host.cache.last_conflict().count, 0u);
}

//= rfc5227#2.4
//= type=test
//# 5227:ACD-8 by one announcement of that address
//# 5227:ACD-9 and not again within ten seconds
TEST(Conflicts, AnAddressInUseIsDefended) {
  Host host;
  host.after(Duration::seconds(20));
  EXPECT_EQ(host.hear(wire::ArpOperation::request, second, neighbour), Drop::arp_conflict);
  EXPECT_EQ(host.after(Duration::seconds(1)), "a2 ");
  for (int i = 0; i != 8; ++i) {
    EXPECT_EQ(host.hear(wire::ArpOperation::reply, second, ours), Drop::arp_conflict);
    EXPECT_EQ(host.after(Duration::seconds(1)), "");
  }
  host.after(Duration::seconds(1));
  EXPECT_EQ(host.hear(wire::ArpOperation::request, second, second), Drop::arp_conflict);
  EXPECT_EQ(host.after(Duration::seconds(1)), "a2 ");
  EXPECT_EQ(host.cache.last_conflict().count, 10u);
  EXPECT_EQ(host.cache.duplicates(), 0u);
}

TEST(Conflicts, WithoutProbesItIsAnnouncedAtOnce) {
  NeighbourConfig config = testing();
  config.probes = Count{0};
  config.defends = false;
  Host host(config);
  EXPECT_EQ(host.cache.tentative(), 0u);
  EXPECT_EQ(host.after(Duration::seconds(1)), "a1 a2 ");
  EXPECT_EQ(host.hear(wire::ArpOperation::reply, ours, second), Drop::arp_conflict);
  EXPECT_EQ(host.after(Duration::milliseconds(500)), "");
}

// A host that begins to use several addresses probes them in one burst.
//= rfc5227#2.1.1
//= type=test
//# 5227:ACD-4 each probe is answered
TEST(Conflicts, ProbesOfSeveralAddressesInOneBurst) {
  Host host;
  host.after(Duration::seconds(20));
  EXPECT_EQ(host.hear(wire::ArpOperation::request, Ipv4{0}, ours), Drop::none);
  EXPECT_EQ(host.hear(wire::ArpOperation::request, Ipv4{0}, second), Drop::none);
  EXPECT_EQ(host.after(Duration::seconds(1)), "r1 r2 ");
  for (int i = 0; i != 40; ++i) {
    EXPECT_EQ(host.hear(wire::ArpOperation::request, Ipv4{0}, i < 38 ? ours : second), Drop::none);
  }
  std::string const answers = host.after(Duration::seconds(1));
  EXPECT_EQ(answers.size(), 16 * 3u) << "the oldest give way";
  EXPECT_EQ(answers.substr(answers.size() - 9), "r1 r2 r2 ");
}

//= rfc5227#2.4
//= type=test
//# 5227:ACD-8 the conflict is about one address, so each is defended
TEST(Conflicts, TwoAddressesAreDefendedAtOnce) {
  Host host;
  host.after(Duration::seconds(20));
  EXPECT_EQ(host.hear(wire::ArpOperation::request, ours, ours), Drop::arp_conflict);
  EXPECT_EQ(host.hear(wire::ArpOperation::request, second, second), Drop::arp_conflict);
  EXPECT_EQ(host.after(Duration::seconds(1)), "a1 a2 ");
}

}  // namespace
}  // namespace lockstep::link
