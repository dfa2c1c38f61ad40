// LISTEN: what a listener answers and accepts, and its limits.
#include <gtest/gtest.h>

#include "core/stack/testing/test_kit.hpp"

namespace lockstep::testing {
namespace {

Refusal listen(Kit& kit, const Local& local, Backlog backlog = {}) {
  ListenerId listener;
  return kit.stack.listen(local, backlog, listener);
}

wire::Segment syn_from(const Kit& kit, std::uint16_t port) {
  wire::Segment s;
  s.source = {port};
  s.destination = {Kit::device_port};
  s.sequence = kit.peer_iss;
  s.flags = flag::syn;
  s.window = {1000};
  return s;
}

//= rfc9293#3.10.1
//= type=test
//# 9293:P-OPEN-CLOSED-PASSIVE enters LISTEN and sends nothing
//= rfc9293#3.10.6
//= type=test
//# 9293:P-STATUS-STATE LISTEN while no connection has the four-tuple
TEST(Listen, SendsNothing) {
  Kit kit;
  EXPECT_EQ(kit.stack.state_of(kit.tuple()), State::closed);
  ListenerId const listener = kit.listen();
  EXPECT_FALSE(kit.stack.wants_transmit());
  EXPECT_TRUE(kit.stack.deadline().is_never());
  EXPECT_EQ(kit.stack.state_of(kit.tuple()), State::listen);
  kit.deliver({.flags = flag::syn, .mss = 1460});
  EXPECT_EQ(kit.stack.state_of(kit.tuple()), State::syn_received);
  ASSERT_EQ(kit.stack.unlisten(listener), Refusal::none);
}

//= rfc9293#3.10.7.2
//= type=test
//# 9293:P-LISTEN-RST a reset is ignored, whatever else it contains
TEST(Listen, IgnoresResets) {
  Kit kit;
  kit.listen();
  for (Flags flags : {flag::rst, flag::rst | flag::syn, flag::rst | flag::ack}) {
    EXPECT_EQ(kit.drop_of({.flags = flags}), Drop::tcp_listen_reset);
  }
  EXPECT_EQ(kit.sent(), "");
}

//= rfc9293#3.10.7.2
//= type=test
//# 9293:P-LISTEN-ACK an ACK or SYN-ACK causes <SEQ=SEG.ACK><CTL=RST>
TEST(Listen, ResetsAcks) {
  Kit kit;
  kit.listen();
  for (Flags flags : {flag::ack, flag::syn | flag::ack, flag::fin | flag::ack}) {
    EXPECT_EQ(kit.drop_of({.flags = flags, .seq = 7, .ack = 5000}), Drop::tcp_listen_ack);
    EXPECT_EQ(kit.sent(), "R 5000(0)");
  }
  EXPECT_EQ(kit.stack.state_of(kit.tuple()), State::listen);
}

//= rfc9293#3.10.7.2
//= type=test
//# 9293:P-LISTEN-OTHER a segment without RST, ACK and SYN is dropped
//= rfc9293#3.10.7.4
//= type=test
//# 9293:P-FIN-PRESYNC a FIN is not processed in LISTEN, nor in CLOSED
TEST(Listen, DropsAllElse) {
  Kit kit;
  kit.listen();
  EXPECT_EQ(kit.drop_of({.flags = flag::none}), Drop::tcp_listen_other);
  EXPECT_EQ(kit.drop_of({.flags = flag::fin, .data = "data"}), Drop::tcp_listen_other);
  EXPECT_EQ(kit.sent(), "");
  Kit closed;
  EXPECT_EQ(closed.drop_of({.flags = flag::fin}), Drop::tcp_closed);
  EXPECT_TRUE(closed.events.empty());
}

//= rfc9293#3.10.7.2
//= type=test
//# 9293:P-LISTEN-SYN, 9293:P-LISTEN-SYN-VARS, 9293:P-LISTEN-BIND the record created by a SYN
TEST(Listen, ASynMakesAConnection) {
  Kit kit;
  kit.listen();
  kit.deliver({.flags = flag::syn, .window = 4321, .mss = 700});
  auto const out = kit.take();
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(line(out[0]), "SA 0(0) ack 1");
  EXPECT_EQ(out[0].window, 65535);
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1, .window = 4000});
  ConnectionInfo const info = kit.info();
  EXPECT_TRUE(info.passive);
  EXPECT_EQ(info.tuple, kit.tuple());
  EXPECT_EQ(info.receive.irs, kit.peer_iss);
  EXPECT_EQ(info.receive.nxt, kit.peer_iss.next());
  EXPECT_EQ(info.send.iss, kit.device_iss);
  EXPECT_EQ(info.send.una, kit.device_iss.next());
  EXPECT_EQ(info.send.nxt, kit.device_iss.next());
  EXPECT_EQ(info.send.mss.count, 700u);
  //= rfc9293#3.10.7.4
  //= type=test
  //# 9293:P-SYNRCVD-EST, 9293:P-ACK-MAXWND WND, WL1 and WL2 from the ACK; the SYN's was larger
  EXPECT_EQ(info.send.wnd.count, 4000u);
  EXPECT_EQ(info.send.wnd_max.count, 4321u);
  EXPECT_EQ(info.send.wl1, kit.peer_iss.next());
  EXPECT_EQ(info.send.wl2, kit.device_iss.next());
}

//= rfc9293#3.10.7.2
//= type=test
//# 9293:P-LISTEN-SYN-QUEUE data, FIN and URG on the SYN take effect once ESTABLISHED
//= rfc9293#3.5
//= type=test
//# 9293:P-SYNDATA-HOLD the application sees nothing of them before
//= rfc9293#3.10.7.3
//= type=test
//# 9293:P-SYNSENT-SYNDATA data on a SYN is legal
//= rfc9293#3.10.7.4
//= type=test
//# 9293:P-FIN-EST FIN from SYN-RECEIVED, after its ACK, leads to CLOSE-WAIT
TEST(Listen, DataAndFinOnTheSyn) {
  Kit kit;
  kit.listen();
  kit.deliver(
      {.flags = flag::syn | flag::fin | flag::urg, .data = "early", .urgent = 4, .mss = 1460});
  EXPECT_EQ(kit.sent(), "SA 0(0) ack 1");
  EXPECT_EQ(kit.state(), State::syn_received);
  EXPECT_TRUE(kit.events.empty());
  kit.deliver({.flags = flag::ack, .seq = 7, .ack = 1});
  EXPECT_TRUE(kit.notified(EventKind::accepted));
  EXPECT_TRUE(kit.notified(EventKind::urgent));
  EXPECT_TRUE(kit.notified(EventKind::peer_finished));
  EXPECT_EQ(kit.received, "early");
  EXPECT_EQ(kit.state(), State::close_wait);
  EXPECT_EQ(kit.sent(), "A 1(0) ack 7");
}

//= rfc9293#3.10.4
//= type=test
//# 9293:P-CLOSE-LISTEN CLOSE of a listener: it ends, accepted connections continue
//= rfc9293#3.10.5
//= type=test
//# 9293:P-ABORT-LISTEN nothing is sent
TEST(Listen, Unlisten) {
  Kit kit;
  ListenerId const listener = kit.listen();
  kit.deliver({.flags = flag::syn, .mss = 1460});
  EXPECT_EQ(kit.sent(), "SA 0(0) ack 1");
  ASSERT_EQ(kit.stack.unlisten(listener), Refusal::none);
  kit.turn();
  EXPECT_EQ(kit.sent(), "");
  EXPECT_EQ(kit.stack.unlisten(listener), Refusal::stale_id);
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1});
  EXPECT_TRUE(kit.notified(EventKind::accepted));
  kit.send_segment(syn_from(kit, 5001), "");
  kit.turn();
  auto const out = kit.take();
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(letters(out[0].flags), "RA");
}

//= rfc9293#3.9.1.1
//= type=test
//# 9293:MUST-41 a second passive OPEN of one socket fails; all records stay as they were
TEST(Listen, TwiceOnOnePort) {
  Kit kit;
  kit.socket_in(State::established);
  Local local;
  local.port = {Kit::device_port};
  std::uint64_t const before = kit.stack.fingerprint();
  EXPECT_EQ(listen(kit, local), Refusal::exists);
  EXPECT_EQ(kit.stack.fingerprint(), before);
  local.address = kit.device;
  EXPECT_EQ(listen(kit, local), Refusal::none);
  EXPECT_EQ(kit.state(), State::established);
  local.port = {0};
  EXPECT_EQ(listen(kit, local), Refusal::bad_local);
}

//= rfc9293#3.9.1.1
//= type=test
//# 9293:MUST-42 LISTEN on a port with connections in SYN-SENT and SYN-RECEIVED; all continue
TEST(Listen, BesideAnOpenInProgress) {
  for (State state : {State::syn_sent, State::syn_received}) {
    Kit kit;
    kit.socket_in(State::syn_sent);
    if (state == State::syn_received) {
      kit.deliver({.flags = flag::syn, .mss = 1460});
    }
    ASSERT_EQ(kit.state(), state);
    Local local;
    local.port = {Kit::device_port};
    EXPECT_EQ(listen(kit, local), Refusal::none);
    kit.deliver({.flags = flag::syn | flag::ack, .ack = 1, .mss = 1460});
    EXPECT_EQ(kit.state(), State::established);
    EXPECT_TRUE(kit.notified(EventKind::connected));
    kit.send_segment(syn_from(kit, 5001), "");
    kit.turn();
    EXPECT_EQ(letters(kit.take().back().flags), "SA");
  }
}

// Sends a SYN from the kit's peer; returns whether it was accepted.
bool takes(Kit& kit, std::uint16_t port) {
  static_cast<void>(kit.take());
  kit.send_segment(syn_from(kit, port), "");
  kit.turn();
  auto const out = kit.take();
  return out.size() == 1 && letters(out[0].flags) == "SA";
}

//= rfc9293#3.9.1.1
//= type=test
//# 9293:P-OPEN-PASSIVE-MATCH a listener with a remote socket accepts only that one
TEST(Listen, ForOneRemoteSocket) {
  Kit kit;
  Local local;
  local.port = {Kit::device_port};
  local.remote = {kit.peer, {7000}};
  ASSERT_EQ(listen(kit, local), Refusal::none);
  EXPECT_FALSE(takes(kit, 7001));
  EXPECT_TRUE(takes(kit, 7000));
  kit.peer = IpAddress::v4(10, 0, 0, 3);
  EXPECT_FALSE(takes(kit, 7000));
}

//= rfc9293#3.9.1.1
//= type=test
//# 9293:P-OPEN-LOCALADDR with a local address only SYNs to it are accepted; without, to any
//# 9293:MUST-45 and the connection keeps the destination address of the SYN
TEST(Listen, ForOneLocalAddress) {
  Config config = kit_config();
  config.addresses[1] = {IpAddress::v4(10, 0, 1, 1), 24};
  config.address_count = Count{2};
  Kit kit(config);
  Local local;
  local.port = {Kit::device_port};
  local.address = kit.device;
  ASSERT_EQ(listen(kit, local), Refusal::none);
  EXPECT_TRUE(takes(kit, 7000));
  kit.device = IpAddress::v4(10, 0, 1, 1);
  EXPECT_FALSE(takes(kit, 7000));
  local.address = IpAddress{};
  ASSERT_EQ(listen(kit, local), Refusal::none);
  kit.send_segment(syn_from(kit, 7001), "");
  kit.turn();
  auto const out = kit.take();
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].tuple.local.address, kit.device);
}

//= rfc9293#3.9.1.2
//= type=test
//# 9293:P-SEND-IMPLIED data of an accepted connection goes to the remote socket of its SYN
TEST(Listen, WritesGoToTheClient) {
  Kit kit;
  kit.socket_in(State::established);
  kit.write("hello");
  auto const out = kit.take();
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].tuple, kit.tuple());
}

TEST(Listen, BacklogBoundsAttempts) {
  Kit kit;
  Local local;
  local.port = {Kit::device_port};
  ASSERT_EQ(listen(kit, local, {Count{2}, Count::unlimited()}), Refusal::none);
  EXPECT_TRUE(takes(kit, 7000));
  EXPECT_TRUE(takes(kit, 7001));
  EXPECT_FALSE(takes(kit, 7002));
  EXPECT_EQ(kit.drops(Drop::tcp_listen_full), 1u);
  // One is reset by its peer: there is space again.
  wire::Segment reset = syn_from(kit, 7000);
  reset.flags = flag::rst;
  reset.sequence = kit.peer_iss.next();
  kit.send_segment(reset, "");
  kit.turn();
  EXPECT_TRUE(takes(kit, 7002));
}

TEST(Listen, AdmitsAsManyAsTheApplicationAskedFor) {
  Kit kit;
  Local local;
  local.port = {Kit::device_port};
  ListenerId listener;
  ASSERT_EQ(kit.stack.listen(local, {Count{8}, Count{0}}, listener), Refusal::none);
  kit.deliver({.flags = flag::syn, .mss = 1460});
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1});
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1, .data = "waits"});
  EXPECT_EQ(kit.state(), State::established);
  EXPECT_TRUE(kit.events.empty());
  kit.stack.admit(listener, Count{1});
  kit.turn();
  ASSERT_EQ(kit.events.size(), 2u);
  EXPECT_EQ(kit.events[0].kind, EventKind::accepted);
  EXPECT_EQ(kit.events[0].listener, listener);
  EXPECT_EQ(kit.events[1].kind, EventKind::received);
  EXPECT_EQ(kit.received, "waits");
}

// One that was reset before it was reported is reported as accepted and closed, in order.
TEST(Listen, ResetWhileHeld) {
  Kit kit;
  Local local;
  local.port = {Kit::device_port};
  ListenerId listener;
  ASSERT_EQ(kit.stack.listen(local, {Count{8}, Count{0}}, listener), Refusal::none);
  kit.deliver({.flags = flag::syn, .mss = 1460});
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1});
  kit.deliver({.flags = flag::rst, .seq = 1});
  EXPECT_TRUE(kit.events.empty());
  ASSERT_EQ(kit.stack.unlisten(listener), Refusal::none);
  kit.turn();
  ASSERT_EQ(kit.events.size(), 2u);
  EXPECT_EQ(kit.events[0].kind, EventKind::accepted);
  EXPECT_EQ(kit.events[1].kind, EventKind::closed);
  EXPECT_EQ(kit.events[1].cause, Cause::reset);
}

// A burst with the SYN and a segment that must be refused: our SYN is sent first, because an ACK
// before it would have a number that was never sent.
//= rfc9293#3.10.7.2
//= type=test
//# 9293:P-LISTEN-SYN <SEQ=ISS><ACK=IRS+1><CTL=SYN,ACK>
TEST(Listen, NothingIsAnsweredAheadOfOurSyn) {
  Kit kit;
  kit.listen();
  kit.send({.flags = flag::syn, .mss = 1460});
  kit.send({.flags = flag::ack, .seq = 0x8000'0000u, .ack = 77});
  kit.turn();
  EXPECT_EQ(kit.sent(), "SA 0(0) ack 1; A 1(0) ack 1");
}

// The SYN-ACK does not acknowledge data on the SYN, so the peer continues after the SYN: by a reset
// that ends the attempt (figure 8), by the bare ACK, or by the data again.
//= rfc9293#3.10.7.2
//= type=test
//# 9293:P-LISTEN-SYN-VARS RCV.NXT is IRS + 1, with or without data on the SYN
//= rfc9293#3.5
//= type=test
//# 9293:P-OLDDUP-SYN an old SYN with data also ends the listener's attempt
TEST(Listen, PeerContinuesAfterItsSyn) {
  for (std::uint32_t seq : {1u, 6u}) {
    Kit kit;
    kit.listen();
    kit.deliver({.flags = flag::syn, .data = "hello", .mss = 1460});
    EXPECT_EQ(kit.sent(), "SA 0(0) ack 1");
    kit.deliver({.flags = flag::rst, .seq = seq});
    EXPECT_EQ(kit.state(), State::closed);
    EXPECT_EQ(kit.sent(), "");
  }
  for (std::string const data : {"", "hello", "hello you"}) {
    Kit kit;
    kit.listen();
    kit.deliver({.flags = flag::syn, .data = "hello", .mss = 1460});
    kit.sent();
    kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1, .data = data});
    EXPECT_EQ(kit.state(), State::established);
    EXPECT_EQ(kit.received, data.size() > 5 ? data : "hello");
  }
}

// The data of the SYN fills the whole window: the ACK of our SYN is after it.
//= rfc9293#3.10.7.4
//= type=test
//# 9293:P-SYNRCVD-EST an ACK of our SYN establishes
//# 9293:P-ZEROWND-ACCEPT whatever the window
TEST(Listen, DataOfTheSynFillsTheWindow) {
  Config config = kit_config();
  config.tcp.receive_buffer = Bytes{5};
  Kit kit(config);
  kit.listen();
  kit.deliver({.flags = flag::syn, .data = "hello", .mss = 1460});
  EXPECT_EQ(kit.sent(), "SA 0(0) ack 1");
  kit.deliver({.flags = flag::ack, .seq = 6, .ack = 1});
  EXPECT_EQ(kit.state(), State::established);
  EXPECT_EQ(kit.received, "hello");
}

}  // namespace
}  // namespace lockstep::testing
