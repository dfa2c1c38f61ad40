// What only a stack on Ethernet does: wait for a neighbour, and continue.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/stack/testing/test_kit.hpp"
#include "core/wire/arp.hpp"
#include "core/wire/ethernet.hpp"
#include "core/wire/icmpv6.hpp"
#include "core/wire/ipv6.hpp"

namespace lockstep::testing {
namespace {

using Frame = std::vector<std::byte>;

constexpr IpAddress device = IpAddress::v4(10, 0, 0, 1);
constexpr IpAddress asked_for = IpAddress::v4(10, 0, 0, 2);   // by ARP
constexpr IpAddress well_known = IpAddress::v4(10, 0, 0, 3);  // by configuration
constexpr Mac device_mac{{2, 0, 0, 0, 0, 1}};
constexpr Mac peer_mac{{2, 0, 0, 0, 0, 2}};

Config ethernet_config() {
  Config config = kit_config();
  config.link = LinkType::ethernet;
  config.mac = device_mac;
  config.static_neighbours[0] = {well_known, peer_mac};
  config.static_neighbour_count = Count{1};
  return config;
}

// A stack on Ethernet with access to its raw frames.
class Station {
 public:
  explicit Station(const Config& config = ethernet_config())
      : arena_(Stack::arena_bytes(config) + 64),
        stack(test_keys(config),
              std::span(arena_).subspan(
                  (64 - reinterpret_cast<std::uintptr_t>(arena_.data()) % 64) % 64)) {}

  ConnectionId connect(IpAddress remote) {
    Open open;
    open.local = {device, {Kit::device_port}};
    open.remote = {remote, {Kit::peer_port}};
    ConnectionId id;
    EXPECT_EQ(stack.connect(open, id), Refusal::none);
    return id;
  }

  void receive(std::span<const Frame> frames) {
    std::vector<Ingress> burst;
    for (Frame const& frame : frames) {
      burst.push_back({frame, Checksum::unknown, now});
    }
    stack.receive(now, burst);
  }

  // The rest of a turn: timers, events, frames out.
  std::vector<Frame> finish() {
    stack.expire(now);
    Event event;
    while (stack.next_event(event)) {
      events.push_back(event);
    }
    stack.settle();
    std::vector<Frame> out;
    Frame room(70'000);
    while (stack.wants_transmit()) {
      Egress const egress = stack.transmit(now, room);
      if (egress.length == 0) {
        break;
      }
      out.emplace_back(room.begin(), room.begin() + egress.length);
    }
    stack.check_invariants();
    return out;
  }

  std::vector<Frame> turn(std::vector<Frame> frames = {}) {
    receive(frames);
    return finish();
  }

  Instant now{Duration::seconds(1000).ns};
  std::vector<Event> events;

 private:
  std::vector<std::byte> arena_;

 public:
  Stack stack;
};

Frame arp_from(IpAddress sender, wire::ArpOperation operation) {
  Frame frame(60);
  wire::write(wire::EthernetHeader{device_mac, peer_mac, wire::EtherType::arp}, frame);
  wire::ArpPacket packet;
  packet.operation = operation;
  packet.sender_mac = peer_mac;
  packet.sender = sender.as_v4();
  packet.target_mac = device_mac;
  packet.target = device.as_v4();
  wire::write(packet, std::span(frame).subspan(14));
  return frame;
}

Frame arp_reply() { return arp_from(asked_for, wire::ArpOperation::reply); }

// A segment without data from the peer at `remote`.
Frame segment_from(IpAddress remote, wire::Segment segment) {
  segment.source = {Kit::peer_port};
  segment.destination = {Kit::device_port};
  segment.window = {65535};
  Frame frame(94);
  wire::write(wire::EthernetHeader{device_mac, peer_mac, wire::EtherType::ipv4}, frame);
  Bytes const header = wire::write(segment, std::span(frame).subspan(34));
  frame.resize(34 + header.count);
  wire::Ipv4Header ip;
  ip.source = remote;
  ip.destination = device;
  ip.protocol = wire::IpProtocol::tcp;
  ip.time_to_live = 64;
  wire::write(ip, header, std::span(frame).subspan(14));
  wire::write_checksum(std::span(frame).subspan(34), header, {remote, device, 6, header}, {});
  return frame;
}

// The segment in one of our frames; without any flag if there is none.
wire::Segment segment_in(const Frame& frame) {
  wire::EthernetFrame ethernet;
  wire::Ipv4Packet packet;
  wire::Segment segment;
  bool const is_segment = wire::parse(frame, ethernet) == Drop::none &&
                          ethernet.header.type == wire::EtherType::ipv4 &&
                          wire::parse(ethernet.payload, packet) == Drop::none &&
                          wire::parse(packet.payload, segment) == Drop::none;
  return is_segment ? segment : wire::Segment{};
}

// Law 8: an ARP reply releases the waiting segments before those caused by the next frame, however
// the burst is split.
TEST(Ethernet, SplitsAfterAnArpReplyChangeNothing) {
  std::vector<std::vector<Frame>> sent;
  for (std::size_t cut : {0u, 1u, 2u}) {
    Station station;
    station.connect(asked_for);
    ConnectionId const other = station.connect(well_known);
    ASSERT_EQ(station.turn().size(), 2u);
    wire::Segment answer;
    answer.flags = flag::syn | flag::ack;
    answer.acknowledgment = station.stack.inspect(other).send.nxt;
    std::vector<Frame> const burst{arp_reply(), segment_from(well_known, answer)};
    station.receive(std::span(burst).first(cut));
    station.receive(std::span(burst).subspan(cut));
    sent.push_back(station.finish());
  }
  EXPECT_EQ(sent[0].size(), 2u);
  EXPECT_TRUE(segment_in(sent[0][0]).flags == flag::syn);
  EXPECT_EQ(sent[0], sent[1]);
  EXPECT_EQ(sent[0], sent[2]);
}

// Opens the station's connection to `asked_for`, which is resolved, and leaves it idle until the
// neighbour entry expires.
ConnectionId idle_connection(Station& station) {
  ConnectionId const id = station.connect(asked_for);
  EXPECT_EQ(station.turn().size(), 1u);  // the ARP request
  EXPECT_EQ(station.turn({arp_reply()}).size(), 1u);
  wire::Segment answer;
  answer.flags = flag::syn | flag::ack;
  answer.acknowledgment = station.stack.inspect(id).send.nxt;
  EXPECT_EQ(station.turn({segment_from(asked_for, answer)}).size(), 1u);
  Instant const end = station.now + Duration::seconds(300);
  while (station.stack.deadline() < end) {
    station.now = later(station.now, station.stack.deadline());
    if (std::vector<Frame> const out = station.turn(); !out.empty()) {
      station.turn({arp_reply()});
    }
  }
  station.now = end;
  return id;
}

// A reset that will not be requested again waits until the neighbour is known, and is sent once.
TEST(Ethernet, AFrameMayBeLongerThan65535Octets) {
  Config config = ethernet_config();
  config.mtu = Bytes{65535};
  config.tcp.initial_window = tcp::InitialWindow::rfc6928;
  Station station(config);
  ConnectionId const id = station.connect(well_known);
  std::vector<Frame> const asked = station.turn();
  ASSERT_EQ(asked.size(), 1u);
  wire::Segment const syn = segment_in(asked[0]);
  wire::Segment answer;
  answer.flags = flag::syn | flag::ack;
  answer.acknowledgment = syn.sequence.next();
  answer.options.has_mss = true;
  answer.options.mss = 65495;
  station.turn({segment_from(well_known, answer)});
  std::vector<std::byte> const data(65495);
  ASSERT_EQ(station.stack.write(id, data).bytes, Bytes{65495});
  std::vector<Frame> const sent = station.turn();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].size(), 14u + 65535u);
  EXPECT_EQ(segment_in(sent[0]).payload.size(), 65495u);
}

//= rfc1122#2.3.2.2
//= type=test
//# 1122:H-L3 waiting packets are sent when the address is resolved
TEST(Ethernet, AResetWaitsForTheNeighbour) {
  Station station;
  station.stack.abort(idle_connection(station));
  std::vector<Frame> asked = station.turn();
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_TRUE(segment_in(asked[0]).flags == Flags{});
  EXPECT_EQ(station.stack.wants_transmit(), false);
  std::vector<Frame> const sent = station.turn({arp_reply()});
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_TRUE(segment_in(sent[0]).flags == flag::rst);
  EXPECT_EQ(station.turn().size(), 0u);
}

// It waits no longer than the resolution.
TEST(Ethernet, AResetToAnUnknownNeighbourIsDropped) {
  Station station;
  station.stack.abort(idle_connection(station));
  Config const& config = station.stack.config();
  std::size_t questions = 0;
  for (std::uint32_t i = 0; i < 20; ++i) {
    questions += station.turn().size();
    station.now = station.now + config.neighbour_retry;
  }
  EXPECT_EQ(questions, config.neighbour_tries.value);
  EXPECT_TRUE(station.stack.deadline().is_never());
  station.turn({arp_reply()});
  EXPECT_FALSE(station.stack.wants_transmit());
}

// A flood of ARP requests takes at most every other frame from connections with data.
TEST(Ethernet, AnswersToArpDoNotStarveData) {
  Station station;
  ConnectionId const id = station.connect(well_known);
  ASSERT_EQ(station.turn().size(), 1u);
  wire::Segment answer;
  answer.flags = flag::syn | flag::ack;
  answer.acknowledgment = station.stack.inspect(id).send.nxt;
  ASSERT_EQ(station.turn({segment_from(well_known, answer)}).size(), 1u);
  std::string const data(2 * 536, 'x');
  ASSERT_EQ(station.stack.write(id, Kit::bytes_of(data)).bytes.count, data.size());
  std::vector<Frame> questions;
  for (std::uint8_t host = 10; host < 14; ++host) {
    questions.push_back(arp_from(IpAddress::v4(10, 0, 0, host), wire::ArpOperation::request));
  }
  std::string order;
  for (Frame const& frame : station.turn(questions)) {
    order += segment_in(frame).flags.ack() ? 't' : 'a';
  }
  EXPECT_EQ(order, "atataa");
}

// Nor do they delay a SYN-ACK for ever.
TEST(Ethernet, AnswersToArpAndRepliesTakeTurns) {
  Config config = ethernet_config();
  config.tcp.syn_cookies = tcp::SynCookies::always;
  Station station(config);
  Local local;
  local.port = {Kit::device_port};
  ListenerId listener;
  ASSERT_EQ(station.stack.listen(local, {}, listener), Refusal::none);
  wire::Segment syn;
  syn.flags = flag::syn;
  std::vector<Frame> frames{segment_from(asked_for, syn)};
  for (std::uint8_t host = 10; host < 14; ++host) {
    frames.push_back(arp_from(IpAddress::v4(10, 0, 0, host), wire::ArpOperation::request));
  }
  std::string order;
  for (Frame const& frame : station.turn(frames)) {
    order += segment_in(frame).flags.syn() ? 's' : 'a';
  }
  EXPECT_EQ(order, "asaaa");
}

// One call does not walk all that wait for the same neighbour: the work per frame is bounded.
TEST(Ethernet, WaitingConnectionsAreWalkedAFewAtATime) {
  Config config = ethernet_config();
  config.tcp.connections_max = Count{256};
  config.tcp.active_max = Count{256};
  Station station(config);
  station.receive({});
  for (std::uint32_t i = 0; i < 200; ++i) {
    Open open;
    open.local = {device, {static_cast<std::uint16_t>(2000 + i)}};
    open.remote = {asked_for, {Kit::peer_port}};
    ConnectionId id;
    ASSERT_EQ(station.stack.connect(open, id), Refusal::none);
  }
  Frame room(2048);
  EXPECT_NE(station.stack.transmit(station.now, room).length, 0u);  // the ARP request
  EXPECT_EQ(station.stack.transmit(station.now, room).length, 0u);
  EXPECT_TRUE(station.stack.wants_transmit());
  EXPECT_EQ(station.stack.deadline(), station.now);
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(station.turn().empty());
  }
  EXPECT_FALSE(station.stack.wants_transmit());
  EXPECT_EQ(station.turn({arp_reply()}).size(), 200u);
}

// The SYN cache answers to the link address of the SYN and resolves no addresses for a flood; a
// retransmission looks up the next hop, and verifies it at R1.
//= rfc9293#3.8.3
//= type=test
//# 9293:MUST-20 negative advice after the third retransmission
TEST(Ethernet, TheSynCacheAnswersToTheSynsLinkAddress) {
  Config config = ethernet_config();
  config.tcp.syn_cache_max = Count{4};
  config.tcp.syn_cache_after = Count{0};
  Station station(config);
  Local local;
  local.port = {Kit::device_port};
  ListenerId listener;
  ASSERT_EQ(station.stack.listen(local, {}, listener), Refusal::none);
  wire::Segment syn;
  syn.flags = flag::syn;
  std::vector<Frame> const answer = station.turn({segment_from(asked_for, syn)});
  ASSERT_EQ(answer.size(), 1u);
  EXPECT_TRUE(segment_in(answer[0]).flags == (flag::syn | flag::ack));
  std::string order;
  for (int second = 1; second < 9; ++second) {
    station.now = station.now + Duration::seconds(1);
    std::vector<Frame> frames = station.turn();
    bool const asks = !frames.empty() && segment_in(frames[0]).flags == Flags{};
    for (Frame const& frame : asks ? station.turn({arp_reply()}) : std::vector<Frame>{}) {
      frames.push_back(frame);
    }
    order += std::to_string(second) + ":";
    for (Frame const& frame : frames) {
      order += segment_in(frame).flags.syn() ? 's' : 'a';
    }
    order += ' ';
  }
  EXPECT_EQ(order, "1:as 2: 3:s 4: 5: 6: 7:s 8:a ");
}

// The frames of an idle stack in its first seconds, one word each.
std::string first_words(const Config& config) {
  Station station(config);
  std::string out;
  Instant const begin = station.now;
  while (station.now.since(begin) <= Duration::seconds(10)) {
    for (Frame const& frame : station.turn()) {
      wire::EthernetFrame ethernet;
      EXPECT_EQ(wire::parse(frame, ethernet), Drop::none);
      out += std::to_string(station.now.since(begin).ns / 1'000'000'000) + "s ";
      if (ethernet.header.type == wire::EtherType::arp) {
        wire::ArpPacket packet;
        EXPECT_EQ(wire::parse(ethernet.payload, packet), Drop::none);
        bool const ours = packet.sender == packet.target && packet.sender == device.as_v4() &&
                          packet.sender_mac == device_mac &&
                          packet.operation == wire::ArpOperation::request &&
                          ethernet.header.destination == Mac::broadcast();
        out += ours ? "announces" : "asks";
      } else {
        wire::Ipv6Packet packet;
        EXPECT_EQ(wire::parse(ethernet.payload, packet), Drop::none);
        EXPECT_EQ(wire::walk(packet), Drop::none);
        wire::Icmp6Message message;
        EXPECT_EQ(
            wire::parse({packet.header.source, packet.header.destination}, packet.payload, message),
            Drop::none);
        bool const advertises = message.type == wire::Icmp6Type::neighbour_advertisement;
        out += advertises && packet.header.destination == all_nodes ? "advertises" : "tests";
      }
      out += "; ";
    }
    station.now = std::max(station.now + Duration{1}, station.stack.deadline());
  }
  return out;
}

// Hosts with another link address for our address learn the new one.
TEST(Ethernet, OurAddressesAreAnnouncedAtTheStart) {
  Config config;
  config.link = LinkType::ethernet;
  config.mac = device_mac;
  config.addresses[0] = {device, 24};
  config.address_count = Count{1};
  EXPECT_EQ(first_words(config), "0s announces; 2s announces; ");
  config.announcements = Count{1};
  EXPECT_EQ(first_words(config), "0s announces; ");
  config.announcements = Count{0};
  EXPECT_EQ(first_words(config), "");
  config.announcements = Count{2};
  config.tcp.shards = Count{2};
  config.tcp.shard = Count{1};
  EXPECT_EQ(first_words(config), "");
}

// IPv6 addresses once they are tested: ours, and the link-local one that is added.
TEST(Ethernet, AddressesOfIpv6AreAdvertisedOnceTheyAreTested) {
  Config config;
  config.link = LinkType::ethernet;
  config.mac = device_mac;
  config.addresses[0] = {IpAddress{0x2001'0db8'0000'0000, 1}, 64};
  config.address_count = Count{1};
  EXPECT_EQ(first_words(config),
            "0s tests; 0s tests; 1s advertises; 1s advertises; 2s advertises; 2s advertises; ");
  config.duplicate_tests = Count{0};
  EXPECT_EQ(first_words(config), "0s advertises; 0s advertises; 1s advertises; 1s advertises; ");
}

// While an IPv4 address is tested, and if another host has it, nothing is received or sent for it.
//= rfc5227#2.1
//= type=test
//# 5227:ACD-1 until it is tested
//= rfc5227#2.1.1
//= type=test
//# 5227:ACD-4 and never after a conflict
TEST(Ethernet, AnAddressIsNotUsedBeforeItIsTested) {
  for (bool const conflict : {false, true}) {
    Config config = ethernet_config();
    config.address_probes = Count{1};
    config.address_probe_interval = Duration::milliseconds(200);
    Station station(config);
    station.turn();
    wire::Segment syn;
    syn.flags = wire::Flags{wire::flag::syn};
    auto const tentative = [&] { return station.stack.statistics().drops.of(Drop::ip_tentative); };
    station.turn({segment_from(well_known, syn)});
    EXPECT_EQ(tentative(), 1u);
    Open open;
    open.remote = {well_known, {Kit::peer_port}};
    ConnectionId id;
    EXPECT_EQ(station.stack.connect(open, id), Refusal::no_route);
    EXPECT_EQ(station.stack.address_state(device), AddressState::tentative);
    if (conflict) {
      station.turn({arp_from(device, wire::ArpOperation::reply)});
    }
    for (int i = 0; i != 4; ++i) {
      station.now = station.now + Duration::milliseconds(100);
      station.turn();
    }
    EXPECT_EQ(station.stack.address_state(device),
              conflict ? AddressState::duplicate : AddressState::usable);
    EXPECT_EQ(station.stack.last_conflict().other, conflict ? peer_mac : Mac{});
    EXPECT_EQ(station.stack.connect(open, id), conflict ? Refusal::no_route : Refusal::none);
    station.turn({segment_from(well_known, syn)});
    EXPECT_EQ(tentative(), conflict ? 2u : 1u);
  }
}

// One of two addresses of a network belongs to another host.
//= rfc9293#3.9.1.1
//= type=test
//# 9293:MUST-44 the connection leaves from the other one
TEST(Ethernet, AConnectionLeavesFromAnAddressThatMayBeUsed) {
  constexpr IpAddress second = IpAddress::v4(10, 0, 0, 9);
  Config config = ethernet_config();
  config.addresses[1] = {second, 24};
  config.address_count = Count{2};
  config.address_probes = Count{1};
  config.address_probe_interval = Duration::milliseconds(200);
  Station station(config);
  station.turn();
  station.turn({arp_from(device, wire::ArpOperation::reply)});
  for (int i = 0; i != 4; ++i) {
    station.now = station.now + Duration::milliseconds(100);
    station.turn();
  }
  ASSERT_EQ(station.stack.address_state(device), AddressState::duplicate);
  ASSERT_EQ(station.stack.address_state(second), AddressState::usable);
  Open open;
  open.remote = {well_known, {Kit::peer_port}};
  ConnectionId id;
  ASSERT_EQ(station.stack.connect(open, id), Refusal::none);
  EXPECT_EQ(station.stack.inspect(id).tuple.local.address, second);
}

}  // namespace
}  // namespace lockstep::testing
