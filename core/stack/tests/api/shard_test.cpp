// The shard of frames of every kind, and a stack that is one of several.
#include "core/stack/shard.hpp"

#include <gtest/gtest.h>

#include "core/stack/testing/six_kit.hpp"
#include "core/wire/octets.hpp"

namespace lockstep::testing {
namespace {

constexpr ShardCount several{7};

Octets behind_ethernet(std::uint16_t type, const Octets& packet, bool tagged = false) {
  Octets frame(tagged ? 18 : 14);
  if (tagged) {
    wire::store16(&frame[12], 0x8100);
    wire::store16(&frame[16], type);
  } else {
    wire::store16(&frame[12], type);
  }
  frame.insert(frame.end(), packet.begin(), packet.end());
  return frame;
}

Octets arp(std::uint16_t operation, std::uint32_t sender, std::uint32_t target) {
  Octets packet(28);
  wire::store16(&packet[6], operation);
  wire::store32(&packet[14], sender);
  wire::store32(&packet[24], target);
  return packet;
}

FourTuple kit_flow(const Kit& kit) {
  return {{kit.device, Port{Kit::device_port}}, {kit.peer, Port{Kit::peer_port}}};
}

Octets six(std::uint8_t protocol, const Octets& payload) {
  Octets packet(40);
  packet[0] = std::byte{0x60};
  wire::store16(&packet[4], static_cast<std::uint16_t>(payload.size()));
  packet[6] = static_cast<std::byte>(protocol);
  packet[23] = std::byte{1};
  packet[39] = std::byte{2};
  packet.insert(packet.end(), payload.begin(), payload.end());
  return packet;
}

Octets message(std::uint8_t type, const Octets& quoted = {}) {
  Octets out(8);
  out[0] = static_cast<std::byte>(type);
  out.insert(out.end(), quoted.begin(), quoted.end());
  return out;
}

TEST(Home, OfASegmentInEitherFraming) {
  Kit kit;
  Octets const packet = kit.frame_of({.flags = flag::syn});
  ShardId const home = shard_of(kit_flow(kit), several);
  EXPECT_NE(home, ShardId{0});  // otherwise the test proves nothing
  EXPECT_EQ(home_of(LinkType::ip, packet, several), home);
  EXPECT_EQ(home_of(LinkType::ethernet, behind_ethernet(0x0800, packet), several), home);
  EXPECT_EQ(home_of(LinkType::ethernet, behind_ethernet(0x0800, packet, true), several), home);
  EXPECT_EQ(home_of(LinkType::ip, packet, {1}), ShardId{0});
  // Nothing is read beyond the end.
  for (std::size_t length = 0; length < packet.size(); ++length) {
    static_cast<void>(home_of(LinkType::ip, std::span(packet).first(length), several));
  }
}

TEST(Home, OfAnIcmpErrorIsThatOfWhatItQuotes) {
  Kit kit;
  Octets const packet = kit.frame_of({.flags = flag::syn});
  Octets error(20);
  std::copy_n(packet.begin(), 20, error.begin());
  error[9] = std::byte{1};
  Octets const unreachable = message(3, packet);
  error.insert(error.end(), unreachable.begin(), unreachable.end());
  EXPECT_EQ(home_of(LinkType::ip, error, several), shard_of(kit_flow(kit), several));
  error[20] = std::byte{8};  // an echo request
  EXPECT_EQ(home_of(LinkType::ip, error, several), ShardId{0});
}

TEST(Home, OfFragmentsIsEveryShard) {
  Kit kit;
  Octets packet = kit.frame_of({.flags = flag::syn});
  packet[6] = std::byte{0x20};
  EXPECT_EQ(home_of(LinkType::ip, packet, several), ShardId::everyone());
}

TEST(Home, AnnouncementsGoToAllAndRequestsToShardZero) {
  auto const home = [](const Octets& packet) {
    return home_of(LinkType::ethernet, behind_ethernet(0x0806, packet), several);
  };
  EXPECT_EQ(home(arp(1, 7, 8)), ShardId{0});
  EXPECT_EQ(home(arp(1, 7, 7)), ShardId::everyone());
  EXPECT_EQ(home(arp(2, 7, 8)), ShardId::everyone());
  for (std::uint8_t const type : std::array<std::uint8_t, 3>{134, 136, 137}) {
    EXPECT_EQ(home_of(LinkType::ip, six(58, message(type)), several), ShardId::everyone());
  }
  for (std::uint8_t const type : std::array<std::uint8_t, 3>{128, 130, 135}) {
    EXPECT_EQ(home_of(LinkType::ip, six(58, message(type)), several), ShardId{0});
  }
}

TEST(Home, BehindTheExtensionHeadersOfIpv6) {
  Octets segment(20);
  wire::store16(&segment[0], 5000);
  wire::store16(&segment[2], 80);
  FourTuple const tuple{{{0, 2}, Port{80}}, {{0, 1}, Port{5000}}};
  ShardId const home = shard_of(tuple, several);
  EXPECT_NE(home, ShardId{0});
  EXPECT_EQ(home_of(LinkType::ip, six(6, segment), several), home);
  Octets options(8);
  options[0] = std::byte{6};
  options.insert(options.end(), segment.begin(), segment.end());
  EXPECT_EQ(home_of(LinkType::ip, six(60, options), several), home);
  // An atomic fragment is a whole packet; another fragment is not.
  EXPECT_EQ(home_of(LinkType::ip, six(44, options), several), home);
  options[3] = std::byte{1};
  EXPECT_EQ(home_of(LinkType::ip, six(44, options), several), ShardId::everyone());
  EXPECT_EQ(home_of(LinkType::ip, six(58, message(1, six(6, segment))), several), home);
}

Config one_of_seven(std::uint32_t shard) {
  Config config = kit_config();
  config.tcp.shards = Count{several.value};
  config.tcp.shard = Count{shard};
  return config;
}

TEST(OneOfSeveral, AForeignSegmentIsDroppedWithoutAReset) {
  Kit const plain;
  std::uint32_t const home = shard_of(kit_flow(plain), several).value;
  for (std::uint32_t shard = 0; shard < several.value; ++shard) {
    Kit kit(one_of_seven(shard));
    kit.listen();
    Drop const fate = kit.drop_of({.flags = flag::ack, .seq = 1, .ack = 1});
    EXPECT_EQ(fate, shard == home ? Drop::tcp_listen_ack : Drop::wrong_shard);
    EXPECT_EQ(kit.take().size(), shard == home ? 1u : 0u);
  }
}

TEST(OneOfSeveral, ConnectDrawsPortsOfItsOwn) {
  for (std::uint32_t shard = 0; shard < several.value; ++shard) {
    Kit kit(one_of_seven(shard));
    for (std::uint32_t i = 0; i < 20; ++i) {
      Open open;
      open.remote = {kit.peer, Port{80}};
      ConnectionId id;
      ASSERT_EQ(kit.stack.connect(open, id), Refusal::none);
      EXPECT_EQ(shard_of(kit.stack.inspect(id).tuple, several), ShardId{shard});
    }
  }
}

TEST(OneOfSeveral, APortOfAnotherShardIsRefused) {
  Kit kit(one_of_seven(0));
  Open open;
  open.remote = {kit.peer, Port{80}};
  std::uint32_t refused = 0;
  for (std::uint16_t port = 2000; port < 2070; ++port) {
    open.local.port = Port{port};
    ConnectionId id;
    bool const ours = shard_of({{kit.device, open.local.port}, open.remote}, several) == ShardId{0};
    Refusal const refusal = kit.stack.connect(open, id);
    EXPECT_EQ(refusal == Refusal::none, ours);
    refused += refusal == Refusal::bad_local ? 1 : 0;
  }
  EXPECT_GT(refused, 50u);
  EXPECT_LT(refused, 70u);
}

// A host tests whether our address is free.
SixPacket duplicate_test() {
  SixPacket packet;
  packet.source = {};
  packet.destination = six_device.solicited_node();
  packet.next = 58;
  packet.hop_limit = 255;
  wire::NdMessage message;
  message.target = six_device;
  packet.payload.resize(wire::nd_message_bytes_max);
  wire::Icmp6Path const path{packet.source, packet.destination};
  packet.payload.resize(wire::write(path, message, packet.payload).count);
  return packet;
}

Config six_of_seven(std::uint32_t shard) {
  Config config = six_config(LinkType::ethernet);
  config.tcp.shards = Count{several.value};
  config.tcp.shard = Count{shard};
  return config;
}

bool is_home(std::span<const std::byte> frame, std::uint32_t shard) {
  ShardId const home = home_of(LinkType::ethernet, frame, several);
  return home == ShardId::everyone() || home == ShardId{shard};
}

//= rfc4862#5.4.3
//= type=test
//# 4862:DAD-8 a probe by another host means a duplicate, in each stack that has the address
TEST(OneOfSeveral, NoneHasAnAddressThatAnotherHostTests) {
  Octets const frame = behind_ethernet(0x86dd, bytes_of(duplicate_test()));
  for (std::uint32_t shard = 0; shard < several.value; ++shard) {
    Six one(six_of_seven(shard));
    Open open;
    open.remote = {six_peer, Port{80}};
    ConnectionId id;
    ASSERT_EQ(one.stack.connect(open, id), Refusal::none);
    if (is_home(frame, shard)) {
      one.deliver(duplicate_test());
    }
    one.advance(Duration::seconds(10));
    while (!one.out.empty()) {
      EXPECT_NE(one.next().header.source, six_device) << "shard " << shard;
    }
  }
}

TEST(OneOfSeveral, OnlyShardZeroAnswersAProbe) {
  Octets const frame = behind_ethernet(0x86dd, bytes_of(duplicate_test()));
  std::size_t answers = 0;
  for (std::uint32_t shard = 0; shard < several.value; ++shard) {
    Six one(six_of_seven(shard));
    one.advance(Duration::seconds(10));
    one.out.clear();
    if (is_home(frame, shard)) {
      Drop const fate = one.drop_of(duplicate_test());
      EXPECT_EQ(fate, shard == 0 ? Drop::none : Drop::wrong_shard);
    }
    answers += one.out.size();
  }
  EXPECT_EQ(answers, 1u);
}

TEST(OneOfSeveral, TheConfigurationIsChecked) {
  Config config = one_of_seven(several.value);
  EXPECT_FALSE(fault_of(config).empty());
}

//= rfc4443#2.4
//= type=test
//# 4443:ICMP6-9 a packet that every shard receives draws one error
TEST(Shards, OnlyShard0ReportsAProblemOfAPacketThatAllReceive) {
  // A first fragment that ends within its TCP header.
  Octets const fragment{std::byte{6}, std::byte{}, std::byte{}, std::byte{1},
                        std::byte{},  std::byte{}, std::byte{}, std::byte{9}};
  SixPacket packet;
  packet.next = 44;
  packet.payload = fragment;
  packet.payload.resize(16);
  ASSERT_EQ(home_of(LinkType::ip, bytes_of(packet), several), ShardId::everyone());
  for (std::uint32_t shard = 0; shard < several.value; ++shard) {
    Config config = six_config();
    config.tcp.shards = Count{several.value};
    config.tcp.shard = Count{shard};
    Six six(config);
    six.deliver(packet);
    EXPECT_EQ(six.out.size(), shard == 0 ? 1u : 0u) << shard;
  }
}

}  // namespace
}  // namespace lockstep::testing
