// Opening: the figures of RFC 9293 3.5, the OPEN call, and refusals.
#include <gtest/gtest.h>

#include <set>

#include "core/stack/testing/test_kit.hpp"
#include "core/tcp/opening/isn.hpp"

namespace lockstep::testing {
namespace {

Open open_to(const Kit& kit) {
  return {{kit.device, {Kit::device_port}}, {kit.peer, {Kit::peer_port}}, 0, {}};
}

Refusal connect(Kit& kit, const Open& open) {
  ConnectionId id;
  return kit.stack.connect(open, id);
}

//= rfc9293#3.5
//= type=test
//# 9293:P-3WHS figure 6; the bare ACK uses no number, so the first data has the same
//= rfc9293#3.1
//= type=test
//# 9293:P-SYN-SEQ the first data octet of both sides has the number after the SYN
TEST(Open, Figure6FirstDataHasTheNumberOfTheBareAck) {
  Kit kit;
  kit.socket_in(State::syn_sent);
  kit.deliver({.flags = flag::syn | flag::ack, .ack = 1, .mss = 1460});
  EXPECT_EQ(kit.sent(), "A 1(0) ack 1");
  kit.write("hi");
  EXPECT_EQ(kit.sent(), "PA 1(2) ack 1");
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 3, .data = "yo"});
  EXPECT_EQ(kit.received, "yo");
}

//= rfc9293#3.10.1
//= type=test
//# 9293:P-OPEN-CLOSED-TCB, 9293:P-OPEN-CLOSED-ACTIVE the record after an active OPEN
//= rfc9293#3.8
//= type=test
//# 9293:P-VARS-ADVANCE the SYN uses one number
//= rfc9293#3.9.1.5
//= type=test
//# 9293:P-STATUS-DATA sockets, windows, state, Diffserv, timeout
TEST(Open, ActiveFillsTheRecord) {
  Kit kit;
  Open open = open_to(kit);
  open.dscp = 10;
  open.user_timeout = Duration::seconds(7);
  ASSERT_EQ(kit.stack.connect(open, kit.id), Refusal::none);
  kit.turn();
  EXPECT_EQ(kit.sent(), "S 0(0)");
  ConnectionInfo const info = kit.info();
  EXPECT_TRUE(info.exists);
  EXPECT_FALSE(info.passive);
  EXPECT_EQ(info.state, State::syn_sent);
  EXPECT_EQ(info.tuple, kit.tuple());
  EXPECT_EQ(info.dscp, 10);
  EXPECT_EQ(info.user_timeout, Duration::seconds(7));
  EXPECT_EQ(info.send.una, info.send.iss);
  EXPECT_EQ(info.send.nxt, info.send.iss.next());
}

//= rfc9293#3.9.1.1
//= type=test
//# 9293:P-OPEN-NAME the id that OPEN returns works in later calls until the connection ends
TEST(Open, TheIdIsValidUntilTheEnd) {
  Kit kit;
  kit.socket_in(State::syn_sent);
  EXPECT_TRUE(kit.stack.inspect(kit.id).exists);
  kit.stack.abort(kit.id);
  kit.turn();
  EXPECT_TRUE(kit.notified(EventKind::closed, Cause::aborted));
  EXPECT_FALSE(kit.stack.inspect(kit.id).exists);
  // The slot is used again, but the old id does not refer to it.
  ConnectionId const old = kit.id;
  kit.connect();
  EXPECT_EQ(kit.id.slot, old.slot);
  EXPECT_NE(kit.id, old);
  EXPECT_FALSE(kit.stack.inspect(old).exists);
}

//= rfc9293#3.10.1
//= type=test
//# 9293:P-OPEN-CLOSED-NOREM no remote address, no remote port
TEST(Open, WithoutARemoteSocket) {
  Kit kit;
  Open open = open_to(kit);
  open.remote.port = {0};
  EXPECT_EQ(connect(kit, open), Refusal::bad_remote);
  open = open_to(kit);
  open.remote.address = IpAddress{};
  EXPECT_EQ(connect(kit, open), Refusal::bad_remote);
  kit.turn();
  EXPECT_EQ(kit.sent(), "");
}

//= rfc9293#3.9.1.1
//= type=test
//# 9293:MUST-46 no connection to a multicast, broadcast or unspecified address
TEST(Open, ToAnInvalidAddress) {
  Kit kit;
  for (IpAddress const address :
       {IpAddress::v4(255, 255, 255, 255), IpAddress::v4(224, 0, 0, 1), IpAddress::v4(0, 0, 0, 0),
        IpAddress::v4(10, 0, 0, 255), IpAddress::v4(239, 1, 2, 3), IpAddress::v4(240, 0, 0, 1)}) {
    Open open = open_to(kit);
    open.remote.address = address;
    EXPECT_EQ(connect(kit, open), Refusal::bad_remote);
  }
  kit.turn();
  EXPECT_EQ(kit.sent(), "");
  EXPECT_EQ(kit.stack.statistics().tcp.connections_opened, 0u);
}

//= rfc9293#3.10.1
//= type=test
//# 9293:P-OPEN-CLOSED-DENY a local address that is not ours, a DSCP beyond six bits
TEST(Open, Denied) {
  Kit kit;
  Open open = open_to(kit);
  open.local.address = IpAddress::v4(10, 0, 0, 77);
  EXPECT_EQ(connect(kit, open), Refusal::bad_local);
  open = open_to(kit);
  open.dscp = 64;
  EXPECT_EQ(connect(kit, open), Refusal::bad_argument);
  ListenerId listener;
  Local local;
  local.address = IpAddress::v4(10, 0, 0, 77);
  local.port = {80};
  EXPECT_EQ(kit.stack.listen(local, Backlog{}, listener), Refusal::bad_local);
}

//= rfc9293#3.10.1
//= type=test
//# 9293:P-OPEN-NORES no space for another connection or listener
TEST(Open, WithoutRoom) {
  Config config = kit_config();
  config.tcp.connections_max = Count{2};
  config.tcp.listeners_max = Count{1};
  Kit kit(config);
  Open open = open_to(kit);
  for (std::uint16_t const port : {std::uint16_t{1000}, std::uint16_t{1001}}) {
    open.local.port = {port};
    EXPECT_EQ(connect(kit, open), Refusal::none);
  }
  open.local.port = {1002};
  EXPECT_EQ(connect(kit, open), Refusal::no_room);
  kit.listen();
  ListenerId listener;
  Local local;
  local.port = {81};
  EXPECT_EQ(kit.stack.listen(local, Backlog{}, listener), Refusal::no_room);
}

TEST(Open, WithoutActiveParts) {
  Config config = kit_config();
  config.tcp.active_max = Count{1};
  Kit kit(config);
  Open open = open_to(kit);
  EXPECT_EQ(connect(kit, open), Refusal::none);
  open.local.port = {81};
  EXPECT_EQ(connect(kit, open), Refusal::no_room);
}

//= rfc9293#3.10.1
//= type=test
//# 9293:P-OPEN-EXISTS in any state after LISTEN the four-tuple is in use
//= rfc9293#3.9.1.4
//= type=test
//# 9293:P-CLOSE-REOPEN also before the peer has answered our CLOSE
TEST(Open, TheSameFourTupleAgain) {
  for (State state :
       {State::syn_sent, State::syn_received, State::established, State::fin_wait_1,
        State::fin_wait_2, State::close_wait, State::closing, State::last_ack, State::time_wait}) {
    Kit kit;
    kit.socket_in(state);
    EXPECT_EQ(connect(kit, open_to(kit)), Refusal::exists) << name_of(state);
    kit.turn();
    EXPECT_EQ(kit.sent(), "");
    EXPECT_EQ(kit.state(), state);
  }
}

Config two_addresses() {
  Config config = kit_config();
  config.addresses[1] = {IpAddress::v4(10, 0, 1, 1), 24};
  config.address_count = Count{2};
  return config;
}

//= rfc9293#3.9.1.1
//= type=test
//# 9293:MUST-43, 9293:MUST-45 the address given to OPEN is the source of every segment
TEST(Open, FromTheGivenAddress) {
  Kit kit(two_addresses());
  kit.device = IpAddress::v4(10, 0, 1, 1);
  kit.socket_in(State::syn_sent);
  kit.deliver({.flags = flag::syn | flag::ack, .ack = 1, .mss = 1460});
  kit.write("data");
  ASSERT_EQ(kit.stack.finish(kit.id), Refusal::none);
  kit.turn();
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 6});
  auto const out = kit.take();
  ASSERT_GE(out.size(), 3u);
  for (Out const& segment : out) {
    EXPECT_EQ(segment.tuple.local.address, kit.device);
  }
}

//= rfc9293#3.9.1.1
//= type=test
//# 9293:MUST-44 without one, the route to the peer determines it before the SYN is sent
TEST(Open, FromTheAddressOfTheRoute) {
  Kit kit(two_addresses());
  Open open = open_to(kit);
  open.local.address = IpAddress{};
  open.remote.address = IpAddress::v4(10, 0, 1, 9);
  EXPECT_EQ(connect(kit, open), Refusal::none);
  kit.turn();
  auto const out = kit.take();
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].tuple.local.address, IpAddress::v4(10, 0, 1, 1));
}

//= rfc9293#3.9.1.1
//= type=test
//# 9293:MUST-44 it is of the peer's family, whatever the order of our addresses
TEST(Open, FromAnAddressOfThePeersFamily) {
  IpAddress const six{0x2001'0db8'0000'0000, 1};
  for (bool const has_gateway : {false, true}) {
    Config config = kit_config();
    config.addresses[0] = {six, 64};
    config.addresses[1] = {IpAddress::v4(10, 0, 0, 1), 32};
    config.address_count = Count{2};
    config.gateway = has_gateway ? IpAddress::v4(10, 0, 0, 254) : IpAddress{};
    Kit kit(config);
    Open open = open_to(kit);
    open.local.address = IpAddress{};
    open.remote.address = IpAddress::v4(192, 0, 2, 7);
    ASSERT_EQ(connect(kit, open), Refusal::none);
    kit.turn();
    auto const out = kit.take();
    ASSERT_EQ(out.size(), 1u);
    EXPECT_EQ(out[0].tuple.local.address, IpAddress::v4(10, 0, 0, 1));
    config.address_count = Count{1};
    Kit alone(config);
    EXPECT_EQ(connect(alone, open), Refusal::no_route);
  }
}

// A local address that the application names gives no route to where none leads.
TEST(Open, NoRouteFromANamedAddressEither) {
  Config config = kit_config();
  config.link = LinkType::ethernet;
  config.gateway = IpAddress{};
  Kit kit(config);
  Open open = open_to(kit);
  open.remote.address = IpAddress::v4(192, 0, 2, 7);
  ASSERT_FALSE(open.local.address.is_unspecified());
  EXPECT_EQ(connect(kit, open), Refusal::no_route);
  open.remote.address = IpAddress::v4(10, 0, 0, 9);
  EXPECT_EQ(connect(kit, open), Refusal::none);
}

//= rfc9293#3.4.2
//= type=test
//# 9293:P-QUIET no number is assigned in the quiet time, to our SYN or to a peer's
//= rfc9293#3.4.3
//= type=test
//# 9293:P-QUIET-SKIP the quiet time ends
//= rfc6528#3
//= type=test
//# 6528:ISN-3 a stack with a new secret can wait first
TEST(Open, QuietTime) {
  Config config = kit_config();
  config.tcp.quiet_time = Duration::seconds(2000);
  Kit kit(config);
  EXPECT_EQ(connect(kit, open_to(kit)), Refusal::quiet_time);
  kit.listen();
  EXPECT_EQ(kit.drop_of({.flags = flag::syn, .mss = 1460}), Drop::tcp_quiet_time);
  EXPECT_EQ(kit.sent(), "");
  // The kit's first instant is 1000 s after the origin: that is the time of boot.
  kit.advance(Duration::seconds(2000) - Duration::nanoseconds(1));
  EXPECT_EQ(connect(kit, open_to(kit)), Refusal::quiet_time);
  kit.advance(Duration::nanoseconds(1));
  EXPECT_EQ(connect(kit, open_to(kit)), Refusal::none);
}

//= rfc9293#3.4.3
//= type=test
//# 9293:P-QUIET-SKIP the default quiet time of zero skips it
TEST(Open, NoQuietTimeByDefault) {
  EXPECT_EQ(Config{}.tcp.quiet_time, Duration{});
  EXPECT_EQ(profile_rfc().tcp.quiet_time, Duration{});
  Config const config = kit_config();
  std::vector<std::byte> arena(Stack::arena_bytes(config) + 64);
  auto const address = reinterpret_cast<std::uintptr_t>(arena.data());
  Stack stack(config, std::span(arena).subspan((64 - address % 64) % 64));
  Open open;
  open.remote = {IpAddress::v4(10, 0, 0, 2), {80}};
  ConnectionId id;
  EXPECT_EQ(stack.connect(open, id), Refusal::none);
}

//= rfc9293#3.4.2
//= type=test
//# 9293:P-MSL two minutes in profile rfc, otherwise as configured
TEST(Open, MslOfTheProfiles) {
  EXPECT_EQ(profile_rfc().tcp.msl, Duration::seconds(120));
  EXPECT_EQ(Config{}.tcp.msl, Duration::seconds(30));
}

//= rfc6056#2.2
//= type=test
//# 6056:PORT-4 each port makes a unique four-tuple
//= rfc6056#3.3.3
//= type=test
//# 6056:PORT-5 an unsuitable port is skipped; after a full cycle there is none
TEST(Open, DrawnPortsAreDistinctUntilThereAreNone) {
  Config config = kit_config();
  config.tcp.port_first = {6000};
  config.tcp.port_last = {6007};
  config.tcp.port_tries = Count{8};
  Kit kit(config);
  Open open = open_to(kit);
  open.local.port = {6003};
  ASSERT_EQ(connect(kit, open), Refusal::none);
  std::set<std::uint16_t> ports{6003};
  open.local.port = {0};
  for (int i = 0; i < 7; ++i) {
    ConnectionId id;
    ASSERT_EQ(kit.stack.connect(open, id), Refusal::none);
    EXPECT_TRUE(ports.insert(kit.stack.inspect(id).tuple.local.port.value).second);
  }
  EXPECT_EQ(*ports.begin(), 6000);
  EXPECT_EQ(*ports.rbegin(), 6007);
  EXPECT_EQ(connect(kit, open), Refusal::ports_exhausted);
  // For another remote socket they are all free.
  open.remote.port = {7};
  EXPECT_EQ(connect(kit, open), Refusal::none);
}

// Ports in use do not hide free ones behind them: all ports are tried in turn, however many in a
// row are in use.
//= rfc6056#3.3.3
//= type=test
//# 6056:PORT-5 an unsuitable port is skipped while there is another
TEST(Open, AFreePortIsFoundBehindAnyNumberOfTakenOnes) {
  Config config = bare_config();
  config.tcp.port_first = {50'000};
  config.tcp.port_last = {50'299};
  Kit kit(config);
  Open open = open_to(kit);
  open.local.port = {0};
  ConnectionId id;
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(kit.stack.connect(open, id), Refusal::none);
  }
  for (int i = 0; i < 600; ++i) {
    ASSERT_EQ(kit.stack.connect(open, id), Refusal::none) << i;
    kit.stack.abort(id);
    kit.turn();
  }
}

// With fewer tries a refused call still advances, so that a later one finds a free port.
TEST(Open, ARefusedDrawMovesOn) {
  Config config = kit_config();
  config.tcp.port_first = {6000};
  config.tcp.port_last = {6015};
  config.tcp.port_tries = Count{4};
  Kit kit(config);
  Open open = open_to(kit);
  open.local.port = {0};
  ConnectionId id;
  for (int i = 0; i < 8; ++i) {
    ASSERT_EQ(kit.stack.connect(open, id), Refusal::none);
  }
  for (int i = 0; i < 8; ++i) {
    ASSERT_EQ(kit.stack.connect(open, id), Refusal::none);
    kit.stack.abort(id);
    kit.turn();
  }
  EXPECT_EQ(kit.stack.connect(open, id), Refusal::ports_exhausted);
  EXPECT_EQ(kit.stack.connect(open, id), Refusal::ports_exhausted);
  EXPECT_EQ(kit.stack.connect(open, id), Refusal::none);
}

// The cached offset of the last remote socket must not be used for another.
//= rfc6056#3.3.3
//= type=test
//# 6056:PORT-5 each remote socket has its own offset
TEST(Open, PortsToTwoServersInTurnHaveTwoOffsets) {
  Kit kit;
  Open open = open_to(kit);
  open.local.port = {0};
  for (std::uint32_t drawn = 0; drawn < 6; ++drawn) {
    open.remote.port = {static_cast<std::uint16_t>(drawn % 3 == 0 ? 7 : 9)};
    ConnectionId id;
    ASSERT_EQ(kit.stack.connect(open, id), Refusal::none);
    tcp::Config const& config = kit.stack.config().tcp;
    tcp::PortOffset const offset = tcp::port_offset(config, {{kit.device, {}}, open.remote});
    EXPECT_EQ(kit.stack.inspect(id).tuple.local.port,
              tcp::candidate_port(config, offset, drawn, Count{0}));
  }
}

//= rfc9293#3.4.1
//= type=test
//# 9293:MUST-8 two connections of one four-tuple, a second apart
TEST(Open, TheNextIncarnationHasALaterIsn) {
  Kit kit;
  kit.socket_in(State::syn_sent);
  Sequence const first = kit.info().send.iss;
  kit.stack.abort(kit.id);
  kit.advance(Duration::seconds(1));
  kit.connect();
  EXPECT_EQ(kit.info().send.iss, first + Bytes{250'000});
}

//= rfc9293#3.5
//= type=test
//# 9293:MUST-10 a SYN crosses ours, then a SYN-ACK with data and FIN
//= rfc9293#3.10.7.3
//= type=test
//# 9293:P-SYNSENT-SIM, 9293:P-SYNSENT-SIM-VARS SYN-RECEIVED with the window of the SYN
//= rfc9293#A.2
//= type=test
//# 9293:P-SEQVAL-A2 the SYN-ACK is before the window but its ACK counts
TEST(Open, Figure7WithDataOnTheSynAck) {
  Kit kit;
  kit.socket_in(State::syn_sent);
  kit.deliver({.flags = flag::syn, .window = 1234, .mss = 1460});
  EXPECT_EQ(kit.sent(), "SA 0(0) ack 1");
  ConnectionInfo const info = kit.info();
  EXPECT_EQ(info.state, State::syn_received);
  EXPECT_FALSE(info.passive);
  EXPECT_EQ(info.send.wnd.count, 1234u);
  EXPECT_EQ(info.send.wl1, kit.peer_iss);
  kit.deliver({.flags = flag::syn | flag::ack | flag::fin, .ack = 1, .data = "all", .mss = 1460});
  EXPECT_EQ(kit.received, "all");
  EXPECT_TRUE(kit.notified(EventKind::peer_finished));
  EXPECT_EQ(kit.state(), State::close_wait);
  EXPECT_EQ(kit.sent(), "A 1(0) ack 5");
}

// A SYN that arrived twice in one burst before the SYN-ACK was sent, and a retransmission after the
// SYN-ACK was lost.
TEST(Open, Defect05_ALostSynAckIsRetransmitted) {
  Kit kit;
  kit.listen();
  kit.send({.flags = flag::syn, .mss = 1460});
  kit.deliver({.flags = flag::syn, .mss = 1460});
  EXPECT_EQ(kit.sent(), "SA 0(0) ack 1");
  // The peer's SYN is retransmitted: it has not received the SYN-ACK. A bare ACK would not help.
  kit.deliver({.flags = flag::syn, .mss = 1460});
  auto out = kit.take();
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(line(out[0]), "SA 0(0) ack 1");
  EXPECT_EQ(out[0].mss, 1460);
  // If nothing arrives the timer retransmits.
  kit.advance(Duration::seconds(1));
  EXPECT_EQ(kit.sent(), "SA 0(0) ack 1");
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1});
  EXPECT_EQ(kit.state(), State::established);
}

//= rfc9293#3.4
//= type=test
//# 9293:P-CTL-ONCE a lost SYN is retransmitted with the same number
TEST(Open, ALostSynIsRetransmitted) {
  Kit kit;
  kit.socket_in(State::syn_sent);
  kit.advance(Duration::seconds(1));
  EXPECT_EQ(kit.sent(), "S 0(0)");
  kit.advance(Duration::seconds(2));
  EXPECT_EQ(kit.sent(), "S 0(0)");
  kit.deliver({.flags = flag::syn | flag::ack, .ack = 1, .mss = 1460});
  EXPECT_EQ(kit.state(), State::established);
}

//= rfc9293#3.9.1.1
//= type=test
//# 9293:P-OPEN-TIMEOUT five minutes by default, or as given to OPEN
//= rfc9293#3.10.8
//= type=test
//# 9293:P-USER-TIMEOUT data unacknowledged for that long ends the connection
TEST(Open, UserTimeout) {
  EXPECT_EQ(profile_rfc().tcp.user_timeout, Duration::seconds(300));
  Kit kit;
  kit.socket_in(State::established);
  kit.write("lost");
  kit.advance(Duration::seconds(300) - Duration::nanoseconds(1));
  EXPECT_EQ(kit.state(), State::established);
  EXPECT_EQ(kit.info().send.queued.count, 4u);
  kit.advance(Duration::nanoseconds(1));
  EXPECT_EQ(kit.state(), State::closed);
  EXPECT_TRUE(kit.notified(EventKind::closed, Cause::timed_out));

  Kit shorter;
  Open open = open_to(shorter);
  open.user_timeout = Duration::seconds(5);
  ASSERT_EQ(shorter.stack.connect(open, shorter.id), Refusal::none);
  shorter.turn();
  shorter.deliver({.flags = flag::syn | flag::ack, .ack = 1, .mss = 1460});
  shorter.write("lost");
  shorter.advance(Duration::seconds(5) - Duration::nanoseconds(1));
  EXPECT_EQ(shorter.state(), State::established);
  shorter.advance(Duration::nanoseconds(1));
  EXPECT_TRUE(shorter.notified(EventKind::closed, Cause::timed_out));
}

//= rfc9293#3.9.1.9
//= type=test
//# 9293:MUST-48, 9293:SHLD-21, 9293:SHLD-22 the DSCP can be set and changed, and is kept
//= rfc9293#3.9.1.1
//= type=test
//# 9293:P-OPEN-DSDEFAULT zero by default; the peer's value has no effect
TEST(Open, Diffserv) {
  Kit kit;
  kit.socket_in(State::syn_sent);
  kit.advance(Duration::seconds(1));
  auto out = kit.take();
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].traffic_class, 0);
  ASSERT_EQ(kit.stack.set(kit.id, {SettingKind::dscp, 46}), Refusal::none);
  kit.deliver({.flags = flag::syn | flag::ack, .ack = 1, .mss = 1460});
  out = kit.take();
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].traffic_class, 46 << 2);
  EXPECT_EQ(kit.stack.set(kit.id, {SettingKind::dscp, 64}), Refusal::bad_argument);
}

//= rfc9293#3.9.1.9
//= type=test
//# 9293:P-DS-DIRECTION a receiver's own value is on its ACKs and resets
//= rfc9293#A.1.1
//= type=test
//# 9293:P-PRECEDENCE and the peer's value has no effect
TEST(Open, DiffservOfAReceiver) {
  Kit kit;
  kit.socket_in(State::established);
  ASSERT_EQ(kit.stack.set(kit.id, {SettingKind::dscp, 8}), Refusal::none);
  kit.traffic_class = 0xb8;
  kit.deliver({.flags = flag::ack, .seq = 2, .ack = 1, .data = "gap"});
  kit.traffic_class = 0x20;
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1, .data = "f"});
  auto out = kit.take();
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0].traffic_class, 8 << 2);
  EXPECT_EQ(out[1].traffic_class, 8 << 2);
  EXPECT_EQ(kit.state(), State::established);
  EXPECT_EQ(kit.received, "fgap");
  kit.stack.abort(kit.id);
  kit.turn();
  out = kit.take();
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].traffic_class, 8 << 2);
}

//= rfc9293#3.9.2
//= type=test
//# 9293:MUST-49 the TTL is from Config, and can be set per connection
TEST(Open, TimeToLive) {
  Config config = kit_config();
  config.tcp.ttl = 5;
  Kit kit(config);
  kit.socket_in(State::syn_sent);
  ASSERT_EQ(kit.stack.set(kit.id, {SettingKind::ttl, 255}), Refusal::none);
  kit.deliver({.flags = flag::syn | flag::ack, .ack = 1, .mss = 1460});
  auto const out = kit.take();
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].time_to_live, 255);
  EXPECT_EQ(kit.stack.set(kit.id, {SettingKind::ttl, 0}), Refusal::bad_argument);
  EXPECT_EQ(kit.stack.set(kit.id, {SettingKind::ttl, 256}), Refusal::bad_argument);
  Kit other(config);
  other.connect();
  auto const syn = other.take();
  ASSERT_EQ(syn.size(), 1u);
  EXPECT_EQ(syn[0].time_to_live, 5);
}

}  // namespace
}  // namespace lockstep::testing
