// IPv6 on a link: tests of addresses, neighbour discovery, routers, and address selection.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/stack/testing/six_packet_kit.hpp"

namespace lockstep::testing {
namespace {

using wire::Icmp6Type;

Config on_ethernet() { return six_config(LinkType::ethernet); }

//= rfc4862#5.4
//= type=test
//# 4862:DAD-1, 4862:DAD-11 a connection's SYN waits for the test of its address
//# 4862:DAD-3 meanwhile only neighbour discovery is accepted
//= rfc4861#7.2.2
//= type=test
//# 4861:ND-10 and then for its next hop
TEST(Ipv6, AConnectionWaitsForItsAddressAndItsNeighbour) {
  Six six(on_ethernet());
  six.connect();
  six.turn();
  EXPECT_TRUE(six.out.empty());
  EXPECT_EQ(six.drop_of(syn()), Drop::ip_tentative);
  EXPECT_EQ(six.drop_of(icmp({Icmp6Type::echo_request, 0, 0, {}})), Drop::ip_tentative);
  EXPECT_EQ(six.drop_of(carrying(Octets(20), 17)), Drop::ip_protocol_unknown);
  six.advance(Duration::milliseconds(2500));
  ASSERT_GE(six.out.size(), 3u);  // two addresses are tested, then the neighbour is solicited
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(six.next_icmp().type, Icmp6Type::neighbour_solicitation);
    EXPECT_EQ(six.from, IpAddress{});
  }
  EXPECT_EQ(six.next_icmp().type, Icmp6Type::neighbour_solicitation);
  EXPECT_EQ(six.from, six_device);
  EXPECT_EQ(six.to, group_mac(six_peer.solicited_node()));
  six.out.clear();
  six.deliver(neighbour_answers());
  EXPECT_TRUE(six.next_segment().flags == flag::syn);
  EXPECT_EQ(six.to, six_peer_mac);
}

// An option that draws an error although the packet is for a group.
SixPacket with_unknown_option(IpAddress destination) {
  SixPacket packet = carrying(Octets(8), 60);
  packet.payload[0] = std::byte{6};
  packet.payload[2] = std::byte{0x9e};
  packet.payload[3] = std::byte{4};
  packet.destination = destination;
  return packet;
}

//= rfc4862#5.4
//= type=test
//# 4862:DAD-1 nothing is sent from an address that is not tested, also not about a group's packet
TEST(Ipv6, ATentativeAddressAnswersNoGroup) {
  Six six(on_ethernet());
  EXPECT_EQ(six.drop_of(with_unknown_option(all_nodes)), Drop::ip_option_unknown);
  six.deliver(icmp({Icmp6Type::echo_request, 0, 0, {}}, all_nodes));
  EXPECT_TRUE(six.out.empty());
  six.advance(Duration::milliseconds(2500));
  six.out.clear();
  EXPECT_EQ(six.drop_of(with_unknown_option(all_nodes)), Drop::ip_option_unknown);
  EXPECT_EQ(six.out.size(), 1u);
}

TEST(Ipv6, ADuplicateAddressIsNeverUsed) {
  Six six(on_ethernet());
  six.connect();
  wire::NdMessage theirs;
  theirs.type = Icmp6Type::neighbour_advertisement;
  theirs.target = six_device;
  six.deliver(discovery(theirs, all_nodes));
  six.advance(Duration::seconds(10));
  for (Octets const& frame : six.out) {
    wire::EthernetFrame ethernet;
    wire::Ipv6Packet packet;
    ASSERT_EQ(wire::parse(frame, ethernet), Drop::none);
    ASSERT_EQ(wire::parse(ethernet.payload, packet), Drop::none);
    EXPECT_NE(packet.header.source, six_device);
  }
  EXPECT_EQ(six.drop_of(syn()), Drop::ip_tentative);
  Open open;
  open.local.address = six_device;
  open.remote = {six_peer, Port{80}};
  ConnectionId id;
  EXPECT_EQ(six.stack.connect(open, id), Refusal::no_route);
}

// Ethernet, with tested addresses and a resolved neighbour.
void settle_down(Six& six) {
  six.advance(Duration::milliseconds(2500));
  six.out.clear();
}

//= rfc4861#7.3.1
//= type=test
//# 4861:ND-26 an ACK of new data confirms the neighbour
//= rfc4861#7.3.3
//= type=test
//# 4861:ND-33 a frame without new information does not
TEST(Ipv6, ProgressSparesTheProbe) {
  for (bool const progress : {false, true}) {
    Six six(on_ethernet());
    settle_down(six);
    six.listen();
    six.deliver(syn());
    ASSERT_EQ(six.next_icmp().type, Icmp6Type::neighbour_solicitation);
    six.deliver(neighbour_answers());
    wire::Segment const answer = six.next_segment();
    wire::Segment ack;
    ack.flags = flag::ack;
    ack.sequence = {1};
    ack.acknowledgment = answer.sequence.next();
    ack.window = {65535};
    six.deliver(carrying(segment_octets(ack)));
    six.advance(Duration::seconds(50));  // REACHABLE has expired
    ASSERT_TRUE(six.out.empty());
    ASSERT_EQ(six.stack.write(six.id, Kit::bytes_of("x")).bytes, Bytes{1});
    six.turn();
    EXPECT_EQ(six.next_segment().payload.size(), 1u);
    ack.acknowledgment = ack.acknowledgment + Bytes{progress ? 1u : 0u};
    six.deliver(carrying(segment_octets(ack)));
    six.advance(Duration::milliseconds(5100));
    bool probed = false;
    for (Octets const& frame : six.out) {
      probed = probed || frame[14 + 6] == std::byte{58};
    }
    EXPECT_EQ(probed, !progress);
  }
}

//= rfc9293#3.8.3
//= type=test
//# 9293:MUST-20 the neighbour of a silent peer is probed, however soon after its last ACK R1 is
TEST(Ipv6, TheNeighbourOfASilentPeerIsProbed) {
  Config config = on_ethernet();
  config.tcp.rto_min = Duration::milliseconds(200);
  Six six(config);
  settle_down(six);
  six.listen();
  six.deliver(syn());
  six.deliver(neighbour_answers());
  six.next_icmp();
  wire::Segment ack;
  ack.flags = flag::ack;
  ack.sequence = {1};
  ack.acknowledgment = six.next_segment().sequence.next();
  ack.window = {65535};
  six.deliver(carrying(segment_octets(ack)));
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(six.stack.write(six.id, Kit::bytes_of("x")).bytes, Bytes{1});
    six.turn();
    ack.acknowledgment = ack.acknowledgment.next();
    six.deliver(carrying(segment_octets(ack)));
  }
  ASSERT_EQ(six.stack.write(six.id, Kit::bytes_of("x")).bytes, Bytes{1});
  six.turn();
  six.out.clear();
  six.advance(Duration::seconds(10));
  bool const probed = std::any_of(six.out.begin(), six.out.end(), [](const Octets& frame) {
    return frame[14 + 6] == std::byte{58};
  });
  EXPECT_TRUE(probed);
}

// Anyone can send a SYN or a reset with the address of a neighbour that is gone.
//= rfc4861#7.3.1
//= type=test
//# 4861:ND-26 a SYN does not prove the path from us, the ACK of our SYN-ACK does
TEST(Ipv6, ASynIsNoProgress) {
  enum class Case { syn, data, reset, handshake };
  for (Case const what : {Case::syn, Case::data, Case::reset, Case::handshake}) {
    Six six(on_ethernet());
    settle_down(six);
    six.listen();
    six.deliver(syn());
    ASSERT_EQ(six.next_icmp().type, Icmp6Type::neighbour_solicitation);
    six.deliver(neighbour_answers());
    wire::Segment next;
    next.flags = flag::ack;
    next.sequence = {1};
    next.acknowledgment = six.next_segment().sequence.next();
    next.window = {65535};
    six.deliver(carrying(segment_octets(next)));
    six.advance(Duration::seconds(50));  // REACHABLE has expired
    ASSERT_TRUE(six.out.empty());
    if (what == Case::reset) {
      next.flags = flag::rst;
      six.deliver(carrying(segment_octets(next)));
    }
    next.source = {Kit::peer_port + 1};
    next.destination = {Kit::device_port};
    next.flags = flag::syn;
    next.sequence = {500};
    six.deliver(carrying(segment_octets(next, what == Case::data ? "data" : "")));
    wire::Segment const answer = six.next_segment();
    if (what == Case::handshake) {
      next.flags = flag::ack;
      next.sequence = {501};
      next.acknowledgment = answer.sequence.next();
      six.deliver(carrying(segment_octets(next)));
    }
    six.advance(Duration::milliseconds(5100));
    bool probed = false;
    for (Octets const& frame : six.out) {
      probed = probed || frame[14 + 6] == std::byte{58};
    }
    EXPECT_EQ(probed, what != Case::handshake) << static_cast<int>(what);
  }
}

// A router's advertisement with hop limit 17 and an MTU.
SixPacket router_advertisement(std::uint16_t mtu) {
  IpAddress const router = link_local_of(six_peer_mac);
  Octets body(8 + 8 + 8);
  body[8] = std::byte{5};
  body[9] = std::byte{1};
  body[14] = static_cast<std::byte>(mtu >> 8);
  body[15] = static_cast<std::byte>(mtu & 0xff);
  body[16] = std::byte{1};
  body[17] = std::byte{1};
  std::memcpy(body.data() + 18, six_peer_mac.octets.data(), 6);
  SixPacket advertisement;
  advertisement.source = router;
  advertisement.destination = all_nodes;
  advertisement.next = 58;
  advertisement.hop_limit = 255;
  advertisement.payload = icmp_octets({Icmp6Type::router_advertisement, 0, 17u << 24 | 1800, body},
                                      {router, all_nodes});
  return advertisement;
}

//= rfc4861#6.3.4
//= type=test
//# 4861:ND-39 hop limit and MTU of new connections
//= rfc4861#5.2
//= type=test
//# 4861:ND-35 off-link destinations go to the router
TEST(Ipv6, OffLinkTrafficGoesToARouter) {
  Config config = on_ethernet();
  config.follow_routers = true;
  config.tcp.path_mtu_discovery = true;
  Six six(config);
  settle_down(six);
  IpAddress const elsewhere{0x2001'0db8'00ff'0000, 9};
  Open open;
  open.remote = {elsewhere, {80}};
  ConnectionId made;
  EXPECT_EQ(six.stack.connect(open, made), Refusal::no_route);
  EXPECT_EQ(six.drop_of(router_advertisement(1400)), Drop::none);
  EXPECT_EQ(six.stack.connect(open, made), Refusal::none);
  six.turn();
  wire::Ipv6Packet const packet = six.next();
  EXPECT_EQ(packet.header.source, six_device);
  EXPECT_EQ(packet.header.destination, elsewhere);
  EXPECT_EQ(packet.header.hop_limit, 17);
  EXPECT_EQ(six.to, six_peer_mac);
  wire::Segment answer;
  answer.source = {80};
  answer.destination = six.stack.inspect(made).tuple.local.port;
  answer.flags = flag::syn | flag::ack;
  answer.acknowledgment = six.stack.inspect(made).send.nxt;
  answer.window = {65535};
  answer.options.has_mss = true;
  answer.options.mss = 9000;
  SixPacket back = carrying(segment_octets(answer, {}, elsewhere));
  back.source = elsewhere;
  six.deliver(back);
  EXPECT_EQ(six.stack.inspect(made).send.mss, Bytes{1340});
}

//= rfc4861#6.3.4
//= type=test
//# 4861:ND-39 no packet exceeds the MTU of the link, and no echo reply either
TEST(Ipv6, ASmallerMtuOfTheLinkCutsEchoReplies) {
  Config config = on_ethernet();
  config.follow_routers = true;
  config.static_neighbours[0] = {six_peer, six_peer_mac};
  config.static_neighbour_count = Count{1};
  Six six(config);
  settle_down(six);
  EXPECT_EQ(six.drop_of(router_advertisement(1280)), Drop::none);
  for (std::size_t const octets : {1200u, 1232u, 1400u, 1452u}) {
    Octets const body(octets, std::byte{7});
    six.out.clear();
    EXPECT_EQ(six.drop_of(icmp({Icmp6Type::echo_request, 0, 5, body})), Drop::none);
    ASSERT_EQ(six.out.size(), 1u);
    EXPECT_EQ(six.out[0].size() - wire::ethernet_header_bytes,
              std::min<std::size_t>(octets, 1232) + 48);
  }
}

//= rfc4861#6.3.4
//= type=test
//# 4861:ND-39 no packet exceeds the MTU of the link, on a connection from before, too
TEST(Ipv6, ASmallerMtuOfTheLinkReachesConnectionsThatExist) {
  Config config = on_ethernet();
  config.follow_routers = true;
  config.tcp.path_mtu_discovery = true;
  config.static_neighbours[0] = {six_peer, six_peer_mac};
  config.static_neighbour_count = Count{1};
  Six six(config);
  settle_down(six);
  accept(six, 1440);
  auto const longest = [&] {
    std::size_t most = 0;
    for (Octets const& frame : six.out) {
      most = std::max(most, frame.size() - wire::ethernet_header_bytes);
    }
    six.out.clear();
    return most;
  };
  ASSERT_EQ(six.stack.write(six.id, Kit::bytes_of(std::string(3000, 'x'))).bytes.count, 3000u);
  six.turn();
  EXPECT_EQ(longest(), 1500u);
  EXPECT_EQ(six.drop_of(router_advertisement(1280)), Drop::none);
  six.advance(Duration::seconds(3));
  EXPECT_EQ(longest(), 1280u) << "a retransmission";
}

// Opens a connection from `peer`, writes on it, and reports that its path carries `mtu`.
ConnectionId open_on_narrow_path(Six& six, IpAddress peer, std::uint32_t mtu) {
  wire::Segment segment;
  segment.flags = flag::syn;
  segment.window = {65535};
  segment.options.has_mss = true;
  segment.options.mss = 1440;
  SixPacket packet = carrying(segment_octets(segment, {}, peer));
  packet.source = peer;
  six.out.clear();
  six.deliver(packet);
  segment.flags = flag::ack;
  segment.sequence = {1};
  segment.acknowledgment = six.next_segment().sequence.next();
  segment.options.has_mss = false;
  packet.payload = segment_octets(segment, {}, peer);
  six.deliver(packet);
  six.out.clear();
  EXPECT_EQ(six.stack.write(six.id, Kit::bytes_of(std::string(3000, 'x'))).bytes.count, 3000u);
  six.turn();
  auto const sent = std::find_if(six.out.begin(), six.out.end(),
                                 [](const Octets& frame) { return frame.size() > 1000; });
  Octets const quoted(sent->begin() + wire::ethernet_header_bytes, sent->begin() + 500);
  EXPECT_EQ(six.drop_of(icmp({Icmp6Type::packet_too_big, 0, mtu, quoted})), Drop::none);
  return six.id;
}

// The same, if the table of paths has no place for the path of the connection.
TEST(Ipv6, ASmallerMtuOfTheLinkReachesAConnectionWhosePathIsForgotten) {
  IpAddress const other{six_peer.high, 3};
  Config config = on_ethernet();
  config.mtu = Bytes{1500};
  config.follow_routers = true;
  config.tcp.path_mtu_discovery = true;
  config.tcp.user_timeout = Duration{};
  config.paths_max = Count{1};
  config.static_neighbours[0] = {six_peer, six_peer_mac};
  config.static_neighbours[1] = {other, six_peer_mac};
  config.static_neighbour_count = Count{2};
  Six six(config);
  settle_down(six);
  six.listen();
  ConnectionId const first = open_on_narrow_path(six, six_peer, 1400);
  open_on_narrow_path(six, other, 1350);
  EXPECT_EQ(six.stack.inspect(first).send.mss, Bytes{1340});
  EXPECT_EQ(six.drop_of(router_advertisement(1280)), Drop::none);
  six.out.clear();
  six.advance(Duration::seconds(3));
  ASSERT_FALSE(six.out.empty());
  for (Octets const& frame : six.out) {
    EXPECT_LE(frame.size(), 1280u + wire::ethernet_header_bytes);
  }
}

TEST(Ipv6, RoutesAndSourcesAreChosenByPrefix) {
  Config config = on_ethernet();
  config.addresses[1] = {IpAddress{0x2001'0db8'0001'0000, 1}, 64};
  config.addresses[2] = {IpAddress::v4(10, 0, 0, 1), 24};
  config.address_count = Count{3};
  config.routes[0] = {{}, link_local_of(six_peer_mac), 0};
  config.routes[1] = {{0x2001'0db8'00ff'0000, 0}, {0x2001'0db8'0001'0000, 9}, 48};
  config.route_count = Count{2};
  config.duplicate_tests = Count{0};
  Six six(config);
  struct Case {
    IpAddress remote;
    IpAddress hop;
    IpAddress source;
  };
  IpAddress const link_local = link_local_of(six_device_mac);
  for (Case const& each :
       {Case{six_peer, six_peer, six_device},
        Case{{0x2001'0db8'0001'0000, 5}, {0x2001'0db8'0001'0000, 5}, {0x2001'0db8'0001'0000, 1}},
        Case{{0x2001'0db8'00ff'0001, 5}, {0x2001'0db8'0001'0000, 9}, six_device},
        Case{{0x2600'0000'0000'0000, 5}, link_local_of(six_peer_mac), six_device},
        Case{{0xfe80'0000'0000'0000, 7}, {0xfe80'0000'0000'0000, 7}, link_local}}) {
    Open open;
    open.remote = {each.remote, {80}};
    ConnectionId made;
    ASSERT_EQ(six.stack.connect(open, made), Refusal::none);
    EXPECT_EQ(six.stack.inspect(made).tuple.local.address, each.source);
    six.turn();
    ASSERT_EQ(six.out.size(), 1u);
    wire::Icmp6Message const asked = six.next_icmp();
    wire::NdMessage message;
    ASSERT_EQ(wire::parse(asked, message), Drop::none);
    EXPECT_EQ(message.target, each.hop);
    EXPECT_EQ(six.from, each.source);
  }
  Open mixed;
  mixed.local = {IpAddress::v4(10, 0, 0, 1), {0}};
  mixed.remote = {six_peer, {80}};
  ConnectionId made;
  EXPECT_EQ(six.stack.connect(mixed, made), Refusal::bad_local);
}

TEST(Ipv6, FramesOfAVlanCarryItsTagAndOthersAreDropped) {
  Config config = on_ethernet();
  config.vlan = 7;
  config.duplicate_tests = Count{0};
  Six six(config);
  six.deliver(icmp({Icmp6Type::echo_request, 0, 0, Octets(4)}));
  EXPECT_EQ(six.next_icmp().type, Icmp6Type::echo_reply);  // next() checks the tag
  Octets frame(wire::ethernet_bytes(8));
  wire::write(wire::EthernetHeader{six_device_mac, six_peer_mac, wire::EtherType::ipv6, 8}, frame);
  Ingress const other{frame, Checksum::unknown, six.now};
  six.stack.receive(six.now, {&other, 1});
  six.stack.settle();
  EXPECT_EQ(six.stack.statistics().drops.of(Drop::frame_other_vlan), 1u);
}

TEST(Ipv6, BeforeItsFirstTurnAStackIsDue) {
  for (Config config : {on_ethernet(), Config{}}) {
    config.addresses[0] = {six_device, 64};
    config.address_count = Count{1};
    std::vector<std::byte> arena(Stack::arena_bytes(config) + 64);
    auto const at = reinterpret_cast<std::uintptr_t>(arena.data());
    Stack stack(test_keys(config), std::span(arena).subspan((64 - at % 64) % 64));
    EXPECT_EQ(stack.deadline(), Instant{});
    Instant const now = Instant{} + Duration::seconds(5);
    stack.expire(now);
    // From now on its clock runs: the first address test is due within a second.
    EXPECT_GT(stack.deadline(), now);
    EXPECT_LE(stack.deadline(), now + Duration::seconds(1));
  }
}

TEST(Ipv6, ASnapshotHoldsNeighboursAndRouters) {
  Config config = on_ethernet();
  Six six(config);
  settle_down(six);
  six.connect();
  six.turn();
  Octets snapshot(six.stack.snapshot_bytes());
  six.stack.snapshot(snapshot);
  std::uint64_t const before = six.stack.fingerprint();
  six.deliver(neighbour_answers());
  EXPECT_NE(six.stack.fingerprint(), before);
  ASSERT_EQ(six.stack.restore(snapshot), Refusal::none);
  EXPECT_EQ(six.stack.fingerprint(), before);
}

}  // namespace
}  // namespace lockstep::testing
