// Reassembly: any order, bounds, and overlapping fragments.
#include "core/internet/fragments.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/internet/ipv6_input.hpp"

namespace lockstep::internet {
namespace {

constexpr IpAddress here4 = IpAddress::v4(10, 0, 0, 1);
constexpr IpAddress here6{0x2001'0db8'0000'0000, 1};

IpAddress sender4(std::uint8_t host) { return IpAddress::v4(10, 0, 0, host); }

// Sends a datagram with payload `text` in pieces.
struct Sender {
  bool six = false;
  std::uint8_t host = 2;
  std::uint32_t identification = 7;
  std::uint8_t traffic_class = 0;
  std::string text = std::string(40, 'a') + std::string(40, 'b') + "end";

  std::vector<std::byte> piece(std::uint32_t begin, std::uint32_t length, bool more) const {
    std::vector<std::byte> out(six ? 48 : 20);
    if (six) {
      wire::Ipv6Header header;
      header.source = {here6.high, host};
      header.destination = here6;
      header.next_header = 44;
      header.traffic_class = traffic_class;
      wire::write(header, Bytes{8 + length}, out);
      out[40] = std::byte{6};
      std::uint32_t const word = begin | (more ? 1u : 0u);
      out[42] = static_cast<std::byte>(word >> 8);
      out[43] = static_cast<std::byte>(word & 0xff);
      out[47] = static_cast<std::byte>(identification);
    } else {
      wire::Ipv4Header header;
      header.source = sender4(host);
      header.destination = here4;
      header.protocol = wire::IpProtocol::tcp;
      header.time_to_live = 64;
      header.traffic_class = traffic_class;
      header.identification = static_cast<std::uint16_t>(identification);
      header.fragment_offset = static_cast<std::uint16_t>(begin / 8);
      header.more_fragments = more;
      wire::write(header, Bytes{length}, out);
    }
    for (std::uint32_t i = 0; i < length; ++i) {
      out.push_back(static_cast<std::byte>(text[begin + i]));
    }
    return out;
  }
};

class World {
 public:
  explicit World(const FragmentConfig& config) {
    memory::Layout measure;
    lay_out(measure, config);
    memory_.resize(measure.bytes() / 64 + 1);
    memory::Layout layout(
        {reinterpret_cast<std::byte*>(memory_.data()), memory_.size() * sizeof(Line)});
    lay_out(layout, config);
    wheel.start();
    fragments.start();
  }

  Drop take(const std::vector<std::byte>& bytes) {
    if ((bytes[0] >> 4) == std::byte{4}) {
      wire::Ipv4Packet packet;
      EXPECT_EQ(wire::parse(bytes, packet), Drop::none);
      return fragments.take(fragment_of(packet), now, whole);
    }
    wire::Ipv6Packet packet;
    EXPECT_EQ(wire::parse(bytes, packet), Drop::none);
    static_cast<void>(wire::walk(packet));
    return fragments.take(fragment_of(packet), now, whole);
  }
  void advance(Duration by) {
    now = now + by;
    for (Index timer = wheel.pop_due(now); timer != nil; timer = wheel.pop_due(now)) {
      fragments.expire(timer - 3);
    }
  }
  // The payload of the reassembled datagram.
  std::string text() const {
    wire::IpPacket packet;
    EXPECT_EQ(read_packet(whole, packet), Drop::none);
    EXPECT_FALSE(packet.header.is_fragment());
    EXPECT_EQ(packet.header.protocol, wire::IpProtocol::tcp);
    return {reinterpret_cast<const char*>(packet.payload.data()), packet.payload.size()};
  }

  memory::TimerWheel wheel;
  Fragments fragments;
  Instant now{5'000'000'000};
  std::span<const std::byte> whole;

 private:
  struct alignas(64) Line {
    std::array<std::byte, 64> octets;
  };
  void lay_out(memory::Layout& layout, const FragmentConfig& config) {
    wheel = memory::TimerWheel::lay_out(layout, Count{Fragments::timers_max(config).value + 3});
    fragments = Fragments::lay_out(layout, config, wheel, {3});
  }
  std::vector<Line> memory_;
};

FragmentConfig few() {
  FragmentConfig config;
  config.datagrams_max = {3};
  config.per_source = {2};
  return config;
}

//= rfc791#3.2
//= type=test
//# 791:IP4-6, 791:IP4-13 any order; the last fragment gives the length, the first one the header
//= rfc8200#4.5
//= type=test
//# 8200:V6-11 the same for IPv6
TEST(Fragments, ADatagramIsReassembledInAnyOrder) {
  for (bool const six : {false, true}) {
    World world(few());
    Sender sender;
    sender.six = six;
    EXPECT_EQ(world.take(sender.piece(40, 40, true)), Drop::none);
    EXPECT_EQ(world.take(sender.piece(80, 3, false)), Drop::none);
    EXPECT_TRUE(world.whole.empty());
    EXPECT_EQ(world.take(sender.piece(0, 40, true)), Drop::none);
    EXPECT_EQ(world.text(), sender.text);
    EXPECT_EQ(world.fragments.used(), 1u);
    world.fragments.settle();
    EXPECT_EQ(world.fragments.used(), 0u);
  }
}

TEST(Fragments, DatagramsAreDistinguished) {
  World world(few());
  Sender first;
  Sender second;
  second.identification = 8;
  Sender third;
  third.six = true;
  EXPECT_EQ(world.take(first.piece(0, 40, true)), Drop::none);
  EXPECT_EQ(world.take(second.piece(40, 40, false)), Drop::none);
  EXPECT_EQ(world.take(third.piece(40, 40, false)), Drop::none);
  EXPECT_TRUE(world.whole.empty());
  EXPECT_EQ(world.fragments.used(), 3u);
}

//= rfc5722#4
//= type=test
//# 5722:OVL-2, 5722:OVL-3 the datagram is discarded, and so are its later fragments
//= rfc8200#4.5
//= type=test
//# 8200:V6-17 an exact duplicate is no overlap
//= rfc791#3.2
//= type=test
//# 791:IP4-10 for IPv4, too, a later copy is not used
TEST(Fragments, AnOverlapDiscardsTheDatagram) {
  for (bool const six : {false, true}) {
    World world(few());
    Sender sender;
    sender.six = six;
    EXPECT_EQ(world.take(sender.piece(0, 40, true)), Drop::none);
    EXPECT_EQ(world.take(sender.piece(0, 40, true)), Drop::ip_fragment_again);
    EXPECT_EQ(world.take(sender.piece(32, 48, true)), Drop::ip_fragment_overlap);
    EXPECT_EQ(world.take(sender.piece(40, 40, true)), Drop::ip_fragment_overlap);
    EXPECT_EQ(world.take(sender.piece(80, 3, false)), Drop::ip_fragment_overlap);
    EXPECT_TRUE(world.whole.empty());
    Sender other = sender;
    other.identification = 9;
    EXPECT_EQ(world.take(other.piece(0, 40, true)), Drop::none);
    other.text[3] = 'z';
    EXPECT_EQ(world.take(other.piece(0, 40, true)), Drop::ip_fragment_overlap);
  }
}

TEST(Fragments, ADatagramHasOneEnd) {
  Sender sender;
  World two(few());
  EXPECT_EQ(two.take(sender.piece(40, 40, false)), Drop::none);
  EXPECT_EQ(two.take(sender.piece(80, 3, false)), Drop::ip_fragment_overlap);
  World behind(few());
  EXPECT_EQ(behind.take(sender.piece(40, 40, true)), Drop::none);
  EXPECT_EQ(behind.take(sender.piece(0, 8, false)), Drop::ip_fragment_overlap);
}

//= rfc8200#4.5
//= type=test
//# 8200:V6-14, 8200:V6-15 neither odd lengths nor ends beyond 65,535
//= rfc791#3.2
//= type=test
//# 791:IP4-9 all but the last are multiples of eight octets
TEST(Fragments, InvalidFragmentsAreRefused) {
  for (bool const six : {false, true}) {
    World world(few());
    Sender sender;
    sender.six = six;
    EXPECT_EQ(world.take(sender.piece(0, 39, true)), Drop::ip_fragment_malformed);
    EXPECT_EQ(world.take(sender.piece(0, 0, true)), Drop::ip_fragment_malformed);
    sender.text = std::string(70'000, 'x');
    EXPECT_EQ(world.take(sender.piece(65'528, 8, false)), Drop::ip_fragment_malformed);
    EXPECT_EQ(world.fragments.used(), 0u);
  }
}

//= rfc8200#4.5
//= type=test
//# 8200:V6-12 sixty seconds from the fragment that arrived first
//= rfc791#3.2
//= type=test
//# 791:IP4-12 then nothing is stored any more
TEST(Fragments, IncompleteDatagramsExpire) {
  World world(few());
  Sender const sender;
  EXPECT_EQ(world.take(sender.piece(40, 40, true)), Drop::none);
  world.advance(Duration::seconds(59));
  EXPECT_EQ(world.take(sender.piece(0, 40, true)), Drop::none);
  world.advance(Duration::seconds(1) - Duration{1});
  EXPECT_EQ(world.fragments.used(), 1u);
  world.advance(Duration{1});
  EXPECT_EQ(world.fragments.used(), 0u);
  EXPECT_EQ(world.take(sender.piece(80, 3, false)), Drop::none);
  EXPECT_TRUE(world.whole.empty());
}

TEST(Fragments, ASourceHasAShareAndItsOldestIsEvicted) {
  World world(few());
  Sender sender;
  for (std::uint32_t i = 0; i < 2; ++i) {
    sender.identification = i;
    EXPECT_EQ(world.take(sender.piece(0, 40, true)), Drop::none);
    world.advance(Duration{1});
  }
  // Above its share the source evicts its own oldest: so forged sources have no lasting effect.
  sender.identification = 2;
  EXPECT_EQ(world.take(sender.piece(0, 40, true)), Drop::none);
  EXPECT_EQ(world.fragments.used(), 2u);
  world.advance(Duration{1});
  for (std::uint8_t host = 3; host < 5; ++host) {
    sender.host = host;
    EXPECT_EQ(world.take(sender.piece(0, 40, true)), Drop::none);
    world.advance(Duration{1});
  }
  EXPECT_EQ(world.fragments.used(), 3u);
  sender.host = 2;
  sender.identification = 2;
  EXPECT_EQ(world.take(sender.piece(40, 43, false)), Drop::none);
  EXPECT_FALSE(world.whole.empty());
  sender.identification = 1;
  EXPECT_EQ(world.take(sender.piece(40, 43, false)), Drop::none);
  EXPECT_TRUE(world.whole.empty());  // its beginning was evicted
}

TEST(Fragments, ADatagramIsBounded) {
  World world(few());
  Sender sender;
  sender.text = std::string(4'000, 'x');
  EXPECT_EQ(world.take(sender.piece(2'048, 8, true)), Drop::ip_fragment_full);
  sender.identification = 8;
  for (std::uint32_t i = 0; i < Fragments::pieces_max; ++i) {
    EXPECT_EQ(world.take(sender.piece(8 * i, 8, true)), Drop::none);
  }
  EXPECT_EQ(world.take(sender.piece(8 * Fragments::pieces_max, 8, true)), Drop::ip_fragment_full);
}

//= rfc3168#5.3
//= type=test
//# 3168:ECN-15 CE on one fragment is CE on the datagram, unless another one is Not-ECT
//# 3168:ECN-31 a common codepoint is kept
TEST(Fragments, CongestionIsNotLost) {
  for (bool const six : {false, true}) {
    for (auto const& [first, second, expected] :
         {std::tuple{2, 2, 2}, {1, 1, 1}, {0, 0, 0}, {2, 3, 3}, {3, 2, 3}, {3, 3, 3}}) {
      World world(few());
      Sender sender{.six = six, .traffic_class = static_cast<std::uint8_t>(first)};
      EXPECT_EQ(world.take(sender.piece(0, 40, true)), Drop::none);
      sender.traffic_class = static_cast<std::uint8_t>(second);
      EXPECT_EQ(world.take(sender.piece(40, 43, false)), Drop::none);
      wire::IpPacket packet;
      ASSERT_EQ(read_packet(world.whole, packet), Drop::none);
      EXPECT_EQ(packet.header.traffic_class & 3, expected);
    }
    for (auto const& [first, second] : {std::pair{0, 3}, {3, 0}}) {
      World world(few());
      Sender sender{.six = six, .traffic_class = static_cast<std::uint8_t>(first)};
      EXPECT_EQ(world.take(sender.piece(0, 40, true)), Drop::none);
      sender.traffic_class = static_cast<std::uint8_t>(second);
      EXPECT_EQ(world.take(sender.piece(40, 43, false)), Drop::ip_fragment_overlap);
      EXPECT_TRUE(world.whole.empty());
    }
  }
}

}  // namespace
}  // namespace lockstep::internet
