// The ARP cache: requests, replies, expiry, and what it refuses.
#include "core/link/neighbours.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "core/units/random.hpp"
#include "core/wire/ethernet.hpp"

namespace lockstep::link {
namespace {

constexpr Mac our_mac{{2, 0, 0, 0, 0, 1}};
constexpr Ipv4 our_address{0x0a00'0001};
constexpr Ipv4 second_address{0x0a00'0101};

constexpr Mac mac_of(std::uint8_t host) { return {{2, 0, 0, 0, 1, host}}; }
constexpr Ipv4 address_of(std::uint32_t host) { return {0x0a00'0000 + host}; }

// A cache with a wheel, in a separate arena.
class World {
 public:
  explicit World(const NeighbourConfig& config) {
    memory::Layout measure;
    lay_out(measure, config);
    memory_.resize(measure.bytes() / 64 + 1);
    memory::Layout layout(
        {reinterpret_cast<std::byte*>(memory_.data()), memory_.size() * sizeof(Line)});
    lay_out(layout, config);
    wheel.start();
    cache.start();
    cache.identify({our_mac, addresses});
  }

  void advance(Duration by) {
    now = now + by;
    for (Index timer = wheel.pop_due(now); timer != nil; timer = wheel.pop_due(now)) {
      cache.expire(timer - 3, now);
    }
  }

  Lookup resolve(std::uint32_t host) {
    return cache.resolve({IpAddress::from(address_of(host)), IpAddress::from(our_address)});
  }

  Drop hear(wire::ArpOperation operation, std::uint8_t host, Ipv4 target = our_address) {
    return cache.receive({operation, mac_of(host), address_of(host), our_mac, target}, now);
  }
  Drop reply(std::uint8_t host) { return hear(wire::ArpOperation::reply, host); }
  Drop request(std::uint8_t host) { return hear(wire::ArpOperation::request, host); }

  // The next ARP packet that the cache writes; CHECKs its frame.
  wire::ArpPacket sent() {
    std::array<std::byte, 60> octets{};
    EXPECT_EQ(cache.write_next(now, octets).count, 42u);
    wire::EthernetFrame frame;
    EXPECT_EQ(wire::parse(octets, frame), Drop::none);
    EXPECT_EQ(frame.header.type, wire::EtherType::arp);
    EXPECT_EQ(frame.header.source, our_mac);
    destination = frame.header.destination;
    wire::ArpPacket packet;
    EXPECT_EQ(wire::parse(frame.payload, packet), Drop::none);
    return packet;
  }

  NeighbourState state_of(std::uint32_t host) const {
    Index const index = cache.find(IpAddress::from(address_of(host)));
    return index == nil ? NeighbourState::vacant : cache.entry(index).state;
  }

  std::array<IpAddress, 2> addresses{IpAddress::from(our_address), IpAddress::from(second_address)};
  memory::TimerWheel wheel;
  Neighbours cache;
  Instant now{5'000'000'000};
  Mac destination;

 private:
  struct alignas(64) Line {
    std::array<std::byte, 64> octets;
  };

  void lay_out(memory::Layout& layout, const NeighbourConfig& config) {
    wheel = memory::TimerWheel::lay_out(layout, Count{Neighbours::timers_max(config).value + 3});
    cache = Neighbours::lay_out(layout, config, wheel, {3});
  }

  std::vector<Line> memory_;
};

NeighbourConfig small() {
  NeighbourConfig config;
  config.entries_max = {4};
  return config;
}

//= rfc826#Packet-Generation
//= type=test
//# 826:ARP-1 a broadcast request with our addresses for the requested one
TEST(Neighbours, AnUnknownNextHopIsRequested) {
  World world(small());
  Lookup const lookup = world.resolve(7);
  EXPECT_EQ(lookup.kind, LookupKind::waiting);
  ASSERT_TRUE(world.cache.wants_transmit());
  wire::ArpPacket const request = world.sent();
  EXPECT_EQ(world.destination, Mac::broadcast());
  EXPECT_EQ(request, (wire::ArpPacket{wire::ArpOperation::request, our_mac, our_address, Mac{},
                                      address_of(7)}));
  EXPECT_FALSE(world.cache.wants_transmit());
  EXPECT_EQ(world.resolve(7).kind, LookupKind::waiting);
  EXPECT_FALSE(world.cache.wants_transmit()) << "asking again is the timer's business";

  EXPECT_EQ(world.reply(7), Drop::none);
  NeighbourChange change;
  ASSERT_TRUE(world.cache.next_change(change));
  EXPECT_EQ(change.neighbour, lookup.neighbour);
  EXPECT_TRUE(change.resolved);
  EXPECT_FALSE(world.cache.next_change(change));
  EXPECT_EQ(world.resolve(7).kind, LookupKind::resolved);
  EXPECT_EQ(world.resolve(7).mac, mac_of(7));
  EXPECT_TRUE(world.cache.sound());
}

//= rfc1122#2.3.2.1
//= type=test
//# 1122:H-L2 requests for one address keep their distance
TEST(Neighbours, RequestsAreRepeatedAtTheirIntervalThenFail) {
  World world(small());
  Lookup const lookup = world.resolve(7);
  for (int tries = 0; tries < 3; ++tries) {
    ASSERT_TRUE(world.cache.wants_transmit()) << tries;
    world.sent();
    world.advance(Duration::seconds(1) - Duration{1});
    ASSERT_FALSE(world.cache.wants_transmit());
    world.advance(Duration{1});
  }
  EXPECT_FALSE(world.cache.wants_transmit());
  NeighbourChange change;
  ASSERT_TRUE(world.cache.next_change(change));
  EXPECT_EQ(change.neighbour, lookup.neighbour);
  EXPECT_FALSE(change.resolved);
  EXPECT_EQ(world.resolve(7).kind, LookupKind::unreachable);
  EXPECT_FALSE(world.cache.wants_transmit()) << "not asked for again at once";
  world.advance(Duration::seconds(1));
  EXPECT_EQ(world.resolve(7).kind, LookupKind::waiting);
  EXPECT_TRUE(world.cache.wants_transmit());
  EXPECT_TRUE(world.cache.sound());
}

// The round trip takes longer than all tries: the answer is still accepted, whether or not the
// failure was reported by then, but not indefinitely.
TEST(Neighbours, AnAnswerAfterTheLastTry) {
  for (bool const reported : {true, false}) {
    World world(small());
    Index const index = world.resolve(7).neighbour;
    for (int tries = 0; tries < 3; ++tries) {
      world.sent();
      world.advance(Duration::seconds(1));
    }
    NeighbourChange change;
    if (reported) {
      ASSERT_TRUE(world.cache.next_change(change));
      EXPECT_FALSE(change.resolved);
    }
    EXPECT_EQ(world.reply(7), Drop::none);
    EXPECT_EQ(world.cache.next_change(change), !reported);
    EXPECT_EQ(change.resolved, !reported);
    EXPECT_EQ(world.resolve(7).kind, LookupKind::resolved);
    EXPECT_EQ(world.resolve(7).neighbour, index);
    EXPECT_TRUE(world.cache.sound());
  }
  World world(small());
  world.resolve(7);
  for (int tries = 0; tries < 4; ++tries) {
    static_cast<void>(world.cache.wants_transmit() ? world.sent() : wire::ArpPacket{});
    NeighbourChange change;
    static_cast<void>(world.cache.next_change(change));
    world.advance(Duration::seconds(1));
  }
  EXPECT_EQ(world.reply(7), Drop::arp_unsolicited);
}

TEST(Neighbours, AnUnreportedFailureKeepsItsEntry) {
  World world(small());
  Index const index = world.resolve(7).neighbour;
  for (int tries = 0; tries < 3; ++tries) {
    world.sent();
    world.advance(Duration::seconds(1));
  }
  world.advance(Duration::seconds(10));
  EXPECT_EQ(world.state_of(7), NeighbourState::failed);
  NeighbourChange change;
  ASSERT_TRUE(world.cache.next_change(change));
  EXPECT_EQ(change.neighbour, index);
  world.advance(Duration::seconds(1));
  EXPECT_EQ(world.state_of(7), NeighbourState::vacant);
}

//= rfc1122#2.3.2.1
//= type=test
//# 1122:H-L1 outdated entries are removed
TEST(Neighbours, AnUnusedEntryExpires) {
  World world(small());
  ASSERT_EQ(world.request(9), Drop::none);
  world.sent();
  EXPECT_EQ(world.state_of(9), NeighbourState::reachable);
  world.advance(Duration::seconds(60) - Duration{1});
  EXPECT_EQ(world.state_of(9), NeighbourState::reachable);
  world.advance(Duration{1});
  EXPECT_EQ(world.state_of(9), NeighbourState::vacant);
  EXPECT_FALSE(world.cache.wants_transmit());
  EXPECT_TRUE(world.cache.sound());
}

//= rfc1122#2.3.2.1
//= type=test
//# 1122:H-L1 an entry in use is requested again, and removed if there is no answer
TEST(Neighbours, AnEntryInUseIsProbedAndUsedMeanwhile) {
  World world(small());
  world.resolve(7);
  world.sent();
  world.reply(7);
  NeighbourChange change;
  ASSERT_TRUE(world.cache.next_change(change));
  world.advance(Duration::seconds(60));
  EXPECT_EQ(world.state_of(7), NeighbourState::probing);
  EXPECT_EQ(world.resolve(7).kind, LookupKind::resolved);
  world.sent();
  EXPECT_EQ(world.reply(7), Drop::none);
  EXPECT_EQ(world.state_of(7), NeighbourState::reachable);
  EXPECT_FALSE(world.cache.next_change(change)) << "nobody had to wait";
  // Not used since the answer: removed without a request next time.
  world.advance(Duration::seconds(60));
  EXPECT_EQ(world.state_of(7), NeighbourState::vacant);
}

TEST(Neighbours, AProbeWithoutAnAnswerFails) {
  World world(small());
  world.resolve(7);
  world.sent();
  world.reply(7);
  NeighbourChange change;
  ASSERT_TRUE(world.cache.next_change(change));
  world.resolve(7);
  world.advance(Duration::seconds(60));
  for (int tries = 0; tries < 3; ++tries) {
    EXPECT_EQ(world.resolve(7).kind, LookupKind::resolved);
    world.sent();
    world.advance(Duration::seconds(1));
  }
  EXPECT_EQ(world.resolve(7).kind, LookupKind::unreachable);
  ASSERT_TRUE(world.cache.next_change(change));
  EXPECT_FALSE(change.resolved);
}

//= rfc1122#3.3.1.4
//= type=test
//# 1122:H-40 negative advice of the transport verifies the entry
TEST(Neighbours, DoubtProbesAtOnce) {
  World world(small());
  world.resolve(7);
  world.sent();
  world.reply(7);
  // Not again soon, even if segments still go unanswered.
  world.advance(Duration::seconds(3) - Duration{1});
  world.cache.doubt(IpAddress::from(address_of(7)), world.now);
  world.advance(Duration{0});
  EXPECT_EQ(world.state_of(7), NeighbourState::reachable);
  world.advance(Duration{1});
  world.cache.doubt(IpAddress::from(address_of(7)), world.now);
  world.cache.doubt(IpAddress::from(address_of(8)), world.now);
  world.advance(Duration{0});
  EXPECT_EQ(world.state_of(7), NeighbourState::probing);
  EXPECT_EQ(world.sent().target, address_of(7));
}

TEST(Neighbours, Defect16_StaticEntriesNeverExpire) {
  World world(small());
  ASSERT_TRUE(world.cache.add_static(IpAddress::from(address_of(7)), mac_of(7)));
  EXPECT_EQ(world.resolve(7).kind, LookupKind::resolved);
  for (int hours = 0; hours < 50; ++hours) {
    world.advance(Duration::seconds(3600));
    ASSERT_EQ(world.resolve(7).mac, mac_of(7));
    ASSERT_FALSE(world.cache.wants_transmit());
  }
  EXPECT_EQ(world.wheel.deadline(), Instant::never());
}

TEST(Neighbours, Defect16_UnsolicitedRepliesAreRefused) {
  World world(small());
  EXPECT_EQ(world.reply(7), Drop::arp_unsolicited);
  EXPECT_EQ(world.state_of(7), NeighbourState::vacant);
  // A second reply must not replace the first.
  world.resolve(7);
  world.sent();
  EXPECT_EQ(world.reply(7), Drop::none);
  EXPECT_EQ(
      world.cache.receive(
          {wire::ArpOperation::reply, mac_of(66), address_of(7), our_mac, our_address}, world.now),
      Drop::arp_unsolicited);
  EXPECT_EQ(world.resolve(7).mac, mac_of(7));
}

TEST(Neighbours, AReplyToAnotherHostIsUnsolicited) {
  World world(small());
  world.resolve(7);
  EXPECT_EQ(world.hear(wire::ArpOperation::reply, 7, address_of(99)), Drop::arp_unsolicited);
  EXPECT_EQ(world.state_of(7), NeighbourState::incomplete);
}

//= rfc826#Packet-Reception
//= type=test
//# 826:ARP-4 the host that requests our address is added
//# 826:ARP-6 and gets a unicast reply, addresses swapped, from the address that it requested
//# 826:ARP-5 a request is answered, a reply is not
TEST(Neighbours, ARequestForUsIsAnswered) {
  World world(small());
  EXPECT_EQ(world.hear(wire::ArpOperation::request, 9, second_address), Drop::none);
  wire::ArpPacket const reply = world.sent();
  EXPECT_EQ(world.destination, mac_of(9));
  EXPECT_EQ(reply, (wire::ArpPacket{wire::ArpOperation::reply, our_mac, second_address, mac_of(9),
                                    address_of(9)}));
  EXPECT_EQ(world.resolve(9).kind, LookupKind::resolved);
  NeighbourChange change;
  EXPECT_FALSE(world.cache.next_change(change));
  world.resolve(7);
  world.sent();
  world.reply(7);
  EXPECT_FALSE(world.cache.wants_transmit());
  // A known host, with a request for another of our addresses.
  EXPECT_EQ(world.hear(wire::ArpOperation::request, 7, second_address), Drop::none);
  EXPECT_EQ(world.sent().sender, second_address);
}

//= rfc826#Packet-Reception
//= type=test
//# 826:ARP-3 a known sender is updated whatever it requests
//# 826:ARP-7 an unknown one is not added by a packet for others
TEST(Neighbours, ARequestForOthersUpdatesButNeverAdds) {
  World world(small());
  EXPECT_EQ(world.hear(wire::ArpOperation::request, 9, address_of(99)), Drop::arp_not_for_us);
  EXPECT_EQ(world.state_of(9), NeighbourState::vacant);
  world.request(9);
  world.sent();
  // Host 9 has a new NIC and announces it to all.
  EXPECT_EQ(world.cache.receive(
                {wire::ArpOperation::request, mac_of(10), address_of(9), Mac{}, address_of(9)},
                world.now),
            Drop::none);
  EXPECT_EQ(world.resolve(9).mac, mac_of(10));
  EXPECT_FALSE(world.cache.wants_transmit());
}

TEST(Neighbours, ARequestFromTheRequestedHostResolvesIt) {
  World world(small());
  world.resolve(9);
  EXPECT_EQ(world.request(9), Drop::none);
  NeighbourChange change;
  ASSERT_TRUE(world.cache.next_change(change));
  EXPECT_TRUE(change.resolved);
  EXPECT_EQ(world.sent().operation, wire::ArpOperation::reply);
  EXPECT_FALSE(world.cache.wants_transmit()) << "the request is no longer needed";
}

TEST(Neighbours, InvalidSendersAreRefused) {
  World world(small());
  auto const drop_of = [&](Mac mac, Ipv4 address) {
    return world.cache.receive({wire::ArpOperation::request, mac, address, Mac{}, our_address},
                               world.now);
  };
  EXPECT_EQ(drop_of(Mac::broadcast(), address_of(9)), Drop::arp_bad_sender);
  EXPECT_EQ(drop_of(Mac{}, address_of(9)), Drop::arp_bad_sender);
  EXPECT_EQ(drop_of(our_mac, address_of(9)), Drop::arp_bad_sender);
  EXPECT_EQ(drop_of(our_mac, our_address), Drop::arp_bad_sender);  // an echo of our own
  EXPECT_EQ(drop_of(mac_of(9), {0xffff'ffff}), Drop::arp_bad_sender);
  EXPECT_EQ(drop_of(mac_of(9), {0xe000'0001}), Drop::arp_bad_sender);
  EXPECT_EQ(drop_of(mac_of(9), {0x7f00'0001}), Drop::arp_bad_sender);
  EXPECT_EQ(world.cache.used(), 0u);
}

TEST(Neighbours, AProbeForOurAddressIsAnswered) {
  World world(small());
  auto const probe = [&](wire::ArpOperation operation, Ipv4 target) {
    return world.cache.receive({operation, mac_of(9), {0}, Mac{}, target}, world.now);
  };
  EXPECT_EQ(probe(wire::ArpOperation::reply, our_address), Drop::arp_bad_sender);
  EXPECT_EQ(probe(wire::ArpOperation::request, address_of(99)), Drop::arp_not_for_us);
  EXPECT_EQ(probe(wire::ArpOperation::request, our_address), Drop::none);
  wire::ArpPacket const reply = world.sent();
  EXPECT_EQ(world.destination, mac_of(9));
  EXPECT_EQ(reply.sender, our_address);
  EXPECT_EQ(world.cache.used(), 0u);
  EXPECT_FALSE(world.cache.wants_transmit());
}

TEST(Neighbours, AStaticEntryIsNotContradicted) {
  World world(small());
  ASSERT_TRUE(world.cache.add_static(IpAddress::from(address_of(9)), mac_of(77)));
  EXPECT_EQ(world.request(9), Drop::arp_static_conflict);
  EXPECT_EQ(world.reply(9), Drop::arp_static_conflict);
  EXPECT_EQ(world.resolve(9).mac, mac_of(77));
  EXPECT_FALSE(world.cache.wants_transmit());
  ASSERT_TRUE(world.cache.add_static(IpAddress::from(address_of(9)), mac_of(9)));
  EXPECT_EQ(world.request(9), Drop::none);
  EXPECT_EQ(world.sent().target_mac, mac_of(9));
  EXPECT_TRUE(world.cache.sound());
}

TEST(Neighbours, StaticEntriesAreHosts) {
  World world(small());
  EXPECT_FALSE(world.cache.add_static(IpAddress::from(address_of(9)), Mac::broadcast()));
  EXPECT_FALSE(world.cache.add_static(IpAddress::from(Ipv4{0xe000'0001}), mac_of(1)));
  for (std::uint8_t host = 10; host < 14; ++host) {
    EXPECT_TRUE(world.cache.add_static(IpAddress::from(address_of(host)), mac_of(host)));
  }
  EXPECT_FALSE(world.cache.add_static(IpAddress::from(address_of(14)), mac_of(14)));
}

TEST(Neighbours, AFullCacheEvictsNoEntryInUse) {
  World world(small());
  NeighbourChange change;
  // Two that we send to, one learned from its request; a quarter stays free.
  for (std::uint8_t host : {std::uint8_t{11}, std::uint8_t{12}}) {
    world.resolve(host);
    world.sent();
    world.reply(host);
    ASSERT_TRUE(world.cache.next_change(change));
  }
  world.request(21);
  // A second learned one evicts the first, never one that we send to.
  EXPECT_EQ(world.request(22), Drop::none);
  EXPECT_EQ(world.state_of(21), NeighbourState::vacant);
  EXPECT_EQ(world.state_of(22), NeighbourState::reachable);
  EXPECT_EQ(world.state_of(11), NeighbourState::reachable);
  // Entries that we request evict the others, then none is left to evict.
  EXPECT_EQ(world.resolve(13).kind, LookupKind::waiting);
  EXPECT_EQ(world.resolve(14).kind, LookupKind::waiting);
  EXPECT_EQ(world.state_of(22), NeighbourState::vacant);
  // A host without an entry is answered anyway.
  EXPECT_EQ(world.request(24), Drop::arp_cache_full);
  wire::ArpPacket const answer = world.sent();
  EXPECT_EQ(answer.operation, wire::ArpOperation::reply);
  EXPECT_EQ(answer.sender, our_address);
  EXPECT_EQ(answer.target, address_of(24));
  EXPECT_EQ(world.destination, mac_of(24));
  Lookup const lookup = world.resolve(15);
  EXPECT_EQ(lookup.kind, LookupKind::unreachable);
  EXPECT_EQ(lookup.neighbour, nil);
  EXPECT_EQ(world.state_of(11), NeighbourState::reachable);
  EXPECT_EQ(world.state_of(12), NeighbourState::reachable);
  // An answer evicts the entry confirmed longest ago.
  world.reply(13);
  EXPECT_EQ(world.state_of(13), NeighbourState::reachable);
  EXPECT_EQ(world.state_of(11), NeighbourState::reachable);
  world.reply(14);
  EXPECT_EQ(world.state_of(14), NeighbourState::reachable);
  EXPECT_EQ(world.state_of(11), NeighbourState::vacant);
  EXPECT_TRUE(world.cache.sound());
}

TEST(Neighbours, AnEntryThatIsWaitedForIsNeverEvicted) {
  World world(small());
  Index const index = world.resolve(7).neighbour;
  world.sent();
  world.reply(7);
  for (std::uint8_t host = 20; host < 30; ++host) {
    world.resolve(host);
  }
  NeighbourChange change;
  ASSERT_TRUE(world.cache.next_change(change));
  EXPECT_EQ(change.neighbour, index);
  EXPECT_EQ(world.state_of(7), NeighbourState::reachable);
}

TEST(Neighbours, RandomTrafficLeavesItSoundAndBounded) {
  Random random(1);
  NeighbourConfig config;
  config.entries_max = {8};
  World world(config);
  ASSERT_TRUE(world.cache.add_static(IpAddress::from(address_of(10)), mac_of(10)));
  std::array<std::byte, 64> octets{};
  std::vector<bool> waits(8);
  for (int step = 0; step < 60'000; ++step) {
    auto const host = static_cast<std::uint8_t>(random.within({10, 29}));
    switch (random.below(7)) {
      case 0: {
        Lookup const lookup = world.resolve(host);
        if (lookup.kind == LookupKind::waiting) {
          waits[lookup.neighbour] = true;
        }
        break;
      }
      case 1:
        (void)world.reply(host);
        break;
      case 2:
        (void)world.request(host);
        break;
      case 3:
        world.cache.write_next(world.now, octets);
        break;
      case 4:
        world.advance({random.below(2'000'000'000)});
        break;
      case 5:
        world.cache.doubt(IpAddress::from(address_of(host)), world.now);
        break;
      default: {
        NeighbourChange change;
        while (world.cache.next_change(change)) {
          waits[change.neighbour] = false;
        }
      }
    }
    ASSERT_TRUE(world.cache.sound()) << step;
    ASSERT_EQ(world.resolve(10).mac, mac_of(10));
    // Those that wait will be notified: the entry is still being resolved, or has a result to
    // report.
    for (Index i = 0; i < 8; ++i) {
      if (waits[i]) {
        ASSERT_TRUE(world.cache.entry(i).state == NeighbourState::incomplete ||
                    world.cache.has_changes())
            << step;
      }
    }
  }
  // Then silence: all learned entries expire.
  NeighbourChange change;
  for (int i = 0; i < 200; ++i) {
    while (world.cache.write_next(world.now, octets).count != 0) {
    }
    while (world.cache.next_change(change)) {
    }
    world.advance(Duration::seconds(2));
  }
  EXPECT_EQ(world.cache.used(), 1u);
}

TEST(Neighbours, VisitDistinguishesStates) {
  World world(small());
  auto const print = [&] {
    Fingerprint fingerprint;
    world.cache.visit([&](std::uint64_t value) { fingerprint.add(value); });
    return fingerprint.value();
  };
  std::uint64_t const empty = print();
  world.resolve(7);
  std::uint64_t const asked = print();
  EXPECT_NE(asked, empty);
  world.sent();
  std::uint64_t const sent = print();
  EXPECT_NE(sent, asked);
  world.reply(7);
  EXPECT_NE(print(), sent);
}

}  // namespace
}  // namespace lockstep::link
