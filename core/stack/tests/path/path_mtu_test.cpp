// Path MTU discovery end to end: which messages are used, and their effect.
#include <gtest/gtest.h>

#include "core/stack/testing/six_kit.hpp"

namespace lockstep::testing {
namespace {

using wire::Icmp6Type;

Config discovering(bool on = true) {
  Config config = six_config();
  config.tcp.path_mtu_discovery = on;
  return config;
}

SixPacket carrying(const Octets& payload) {
  SixPacket packet;
  packet.payload = payload;
  return packet;
}

// An IPv6 connection whose peer accepts segments of 1440 octets; `data` octets were sent.
class Path {
 public:
  explicit Path(const Config& config = discovering())
      : six(config), stamped(config.tcp.timestamps) {
    six.listen();
    wire::Segment segment;
    stamp(segment);
    segment.flags = flag::syn;
    segment.window = {65535};
    segment.options.has_mss = true;
    segment.options.mss = 1440;
    six.deliver(carrying(segment_octets(segment)));
    base = six.next_segment().sequence.next();
    acknowledge(0);
  }
  void acknowledge(std::uint32_t octets) {
    wire::Segment ack;
    stamp(ack);
    ack.flags = flag::ack;
    ack.sequence = {1};
    ack.acknowledgment = base + Bytes{octets};
    ack.window = {65535};
    six.deliver(carrying(segment_octets(ack)));
  }
  void stamp(wire::Segment& segment) const {
    segment.options.has_timestamps = stamped;
    segment.options.timestamp_value = stamped ? 1 : 0;
  }
  void write(std::uint32_t octets) {
    six.out.clear();
    ASSERT_EQ(six.stack.write(six.id, Kit::bytes_of(std::string(octets, 'x'))).bytes,
              Bytes{octets});
    six.turn();
  }
  Drop too_big(std::uint32_t mtu, const Octets& quoted) {
    SixPacket packet;
    packet.next = 58;
    auto const quote = std::span(quoted).first(std::min<std::size_t>(60, quoted.size()));
    packet.payload =
        icmp_octets({Icmp6Type::packet_too_big, 0, mtu, quote}, {six_peer, six_device});
    return six.drop_of(packet);
  }
  std::uint32_t mss() const { return six.stack.inspect(six.id).send.mss.count; }

  Six six;
  bool stamped;
  Sequence base;
};

//= rfc8201#4
//= type=test
//# 8201:PMTU-3 smaller packets follow, with the lost data
//# 8201:PMTU-6 if the quoted packet was sent
//= rfc5927#4.1
//= type=test
//# 5927:ICMP-1 and is still in flight
//= rfc8201#5.4
//= type=test
//# 8201:PMTU-9 ssthresh stays: no congestion
//= rfc1191#6.4
//= type=test
//# 1191:PMTU-10 slow start up to the previous window
TEST(PathMtu, APacketTooBigMakesSegmentsSmaller) {
  Path path;
  path.write(3 * 1440);
  ASSERT_EQ(path.six.out.size(), 3u);
  Octets const lost = path.six.out[0];
  std::uint32_t const ssthresh = path.six.stack.inspect(path.six.id).ssthresh.count;
  std::uint32_t const cwnd = path.six.stack.inspect(path.six.id).cwnd.count;
  Octets forged = lost;
  forged[47] ^= std::byte{0x80};
  EXPECT_EQ(path.too_big(1300, forged), Drop::icmp_quote_outside);
  path.six.out.clear();
  EXPECT_EQ(path.too_big(1300, lost), Drop::none);
  EXPECT_EQ(path.mss(), 1240u);
  wire::Segment const again = path.six.next_segment();
  EXPECT_EQ(again.sequence, path.base);
  EXPECT_EQ(again.payload.size(), 1240u);
  EXPECT_TRUE(path.six.out.empty());
  EXPECT_GE(path.six.stack.inspect(path.six.id).ssthresh.count, std::max(ssthresh, cwnd));
}

//= rfc7323#5.7
//= type=test
//# 7323:TS-22 timestamps reduce the data per packet
TEST(PathMtu, GoesTogetherWithTimestamps) {
  Config config = discovering();
  config.tcp.timestamps = true;
  Path path(config);
  EXPECT_EQ(path.mss(), 1428u);
  path.write(3 * 1428);
  ASSERT_EQ(path.six.out.size(), 3u);
  Octets const lost = path.six.out[0];
  path.six.out.clear();
  EXPECT_EQ(path.too_big(1300, lost), Drop::none);
  EXPECT_EQ(path.mss(), 1228u);
  EXPECT_EQ(path.six.next_segment().payload.size(), 1228u);
}

//= rfc8201#4
//= type=test
//# 8201:PMTU-2 nothing below 1280
//# 8201:PMTU-4 and no increase
//= rfc1191#3
//= type=test
//# 1191:PMTU-2 whatever it reports
//= rfc1191#6.4
//= type=test
//# 1191:PMTU-11 the second message of a burst causes nothing
TEST(PathMtu, InvalidMessagesAreRefused) {
  Path path;
  path.write(4000);
  Octets const lost = path.six.out[0];
  Octets const second = path.six.out[1];
  EXPECT_EQ(path.too_big(1279, lost), Drop::icmp_mtu_refused);
  EXPECT_EQ(path.too_big(9000, lost), Drop::icmp_mtu_refused);
  EXPECT_EQ(path.mss(), 1440u);
  EXPECT_EQ(path.too_big(1300, lost), Drop::none);
  path.six.out.clear();
  EXPECT_EQ(path.too_big(1300, second), Drop::icmp_mtu_refused);
  EXPECT_TRUE(path.six.out.empty());
}

//= rfc5927#7.2
//= type=test
//# 5927:ICMP-5 once data was acknowledged it is used only after a timeout
//# 5927:ICMP-6 and discarded if the quoted data was acknowledged meanwhile
TEST(PathMtu, AProvenPathIsDoubtedOnlyWhenProgressStalls) {
  for (bool const stalls : {false, true}) {
    Path path;
    path.write(1440);
    path.acknowledge(1440);
    path.write(1440);
    Octets const sent = path.six.out[0];
    EXPECT_EQ(path.too_big(1300, sent), Drop::none);
    EXPECT_EQ(path.mss(), 1440u);
    if (!stalls) {
      path.acknowledge(2880);
      path.write(1440);
    }
    path.six.advance(Duration::seconds(4));
    EXPECT_EQ(path.mss(), stalls ? 1240u : 1440u);
  }
}

//= rfc1191#6.3
//= type=test
//# 1191:PMTU-12 a larger estimate retransmits nothing; larger segments from then on
//= rfc8201#5.4
//= type=test
//# 8201:PMTU-8 up to the peer's MSS
TEST(PathMtu, AfterItsAgeTheLargerSizeIsTriedAgain) {
  Path path;
  path.write(1440);
  EXPECT_EQ(path.too_big(1300, path.six.out[0]), Drop::none);
  path.acknowledge(1440);
  path.six.out.clear();
  path.six.advance(Duration::seconds(601));
  EXPECT_TRUE(path.six.out.empty());
  path.write(3000);
  EXPECT_EQ(path.six.next_segment().payload.size(), 1440u);
  EXPECT_EQ(path.mss(), 1440u);
}

// Another connection on the same path, opened later, starts with the known MTU.
//= rfc8201#5.4
//= type=test
//# 8201:PMTU-10 but sends the MSS of the link
//= rfc8201#5.2
//= type=test
//# 8201:PMTU-7 a decrease applies to all connections
TEST(PathMtu, OtherConnectionsOfThePathKnowIt) {
  Path path;
  path.write(1440);
  EXPECT_EQ(path.too_big(1300, path.six.out[0]), Drop::none);
  path.six.out.clear();
  wire::Segment segment;
  segment.source = {Port{6000}};
  segment.destination = {Port{Kit::device_port}};
  segment.flags = flag::syn;
  segment.window = {65535};
  segment.options.has_mss = true;
  segment.options.mss = 1440;
  path.six.deliver(carrying(segment_octets(segment)));
  wire::Segment answer = path.six.next_segment();
  EXPECT_EQ(answer.options.mss, 1440);
  segment.flags = flag::ack;
  segment.sequence = {1};
  segment.acknowledgment = answer.sequence.next();
  segment.options.has_mss = false;
  path.six.deliver(carrying(segment_octets(segment)));
  path.write(3000);
  EXPECT_EQ(path.six.next_segment().payload.size(), 1240u);
}

//= rfc8200#5
//= type=test
//# 8200:V6-29 packets of 1280 octets without path MTU discovery
TEST(PathMtu, WithoutDiscoveryPacketsAreSmall) {
  Path path(discovering(false));
  path.write(4000);
  EXPECT_EQ(path.six.out[0].size(), 1280u);
  EXPECT_EQ(path.too_big(1300, path.six.out[0]), Drop::none);
  EXPECT_EQ(path.mss(), 1220u);
}

// The error of a router about an IPv4 segment.
std::vector<std::byte> fragmentation_needed(const Octets& quoted, std::uint16_t mtu) {
  std::vector<std::byte> packet(20 + 8 + 28);
  wire::IcmpMessage message;
  message.type = wire::IcmpType::unreachable;
  message.code = 4;
  message.rest = mtu;
  message.body = std::span(quoted).first(28);
  Bytes const length = wire::write(message, std::span(packet).subspan(20));
  wire::Ipv4Header outer;
  outer.source = IpAddress::v4(10, 0, 0, 2);
  outer.destination = IpAddress::v4(10, 0, 0, 1);
  outer.protocol = wire::IpProtocol::icmp;
  outer.time_to_live = 64;
  static_cast<void>(wire::write(outer, length, packet));
  return packet;
}

//= rfc9293#3.7.2
//= type=test
//# 9293:P-PMTUD for IPv4
//= rfc1191#3
//= type=test
//# 1191:PMTU-1 the next-hop MTU
//# 1191:PMTU-3 never below 68
//# 1191:PMTU-6 a router that reports no MTU is handled
//# 1191:PMTU-5 so smaller packets follow
//= rfc1191#2
//= type=test
//# 1191:PMTU-8 the first packets are as large as the link MTU, with DF
//= rfc791#3.2
//= type=test
//# 791:IP4-7 we never send fragments
//= rfc1191#3.1
//= type=test
//# 1191:PMTU-13 nor packets larger than the peer's MSS plus 40 octets
TEST(PathMtu, OldAndNewRoutersOfIpv4) {
  for (std::uint16_t const mtu : {std::uint16_t{0}, std::uint16_t{1300}, std::uint16_t{20}}) {
    Config config = kit_config();
    config.tcp.path_mtu_discovery = true;
    Kit kit(config);
    kit.accept_connection();
    Octets sent(65536);
    ASSERT_EQ(kit.stack.write(kit.id, Kit::bytes_of(std::string(1460, 'x'))).bytes, Bytes{1460});
    Egress const egress = kit.stack.transmit(kit.now, sent);
    ASSERT_EQ(egress.length, 1500);
    EXPECT_EQ(sent[6] & std::byte{0x40}, std::byte{0x40});
    kit.send_packet(fragmentation_needed(sent, mtu));
    kit.turn();
    std::uint32_t const expected = mtu == 0 ? 1452u : mtu == 20 ? 28u : 1260u;
    EXPECT_EQ(kit.info().send.mss, Bytes{expected});
    EXPECT_EQ(kit.take().front().data.size(), expected);
  }
}

}  // namespace
}  // namespace lockstep::testing
