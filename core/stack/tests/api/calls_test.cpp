// The user's calls: SEND, RECEIVE, ABORT and STATUS in every state (RFC 9293 3.9.1, 3.10.2 to .6).
#include <gtest/gtest.h>

#include "core/stack/testing/flow_kit.hpp"

namespace lockstep::testing {
namespace {

constexpr std::array live_states{State::syn_sent,   State::syn_received, State::established,
                                 State::fin_wait_1, State::fin_wait_2,   State::close_wait,
                                 State::closing,    State::last_ack};

// SYN-RECEIVED with an id that the application knows: a simultaneous open.
void reach(Kit& kit, State state) {
  if (state != State::syn_received) {
    kit.socket_in(state);
    return;
  }
  kit.socket_in(State::syn_sent);
  kit.deliver({.flags = flag::syn, .mss = 1460});
  ASSERT_EQ(kit.sent(), "SA 0(0) ack 1");
}

Taken send(Kit& kit, const std::string& data) {
  return kit.stack.write(kit.id, Kit::bytes_of(data));
}

//= rfc9293#3.10
//= type=test
//# 9293:P-EV-NOCONN every call with an unknown id is refused
//= rfc9293#3.10.2
//= type=test
//# 9293:P-SEND-CLOSED SEND
//= rfc9293#3.10.3
//= type=test
//# 9293:P-RECV-CLOSED RECEIVE
//= rfc9293#3.10.5
//= type=test
//# 9293:P-ABORT-CLOSED ABORT
//= rfc9293#3.10.6
//= type=test
//# 9293:P-STATUS-CLOSED STATUS
// Nor on connections that the application was not notified of, even with a guessed id.
TEST(Calls, OnConnectionsNotYetReported) {
  for (bool const complete : {false, true}) {
    Kit kit;
    Local local;
    local.port = {Kit::device_port};
    ListenerId listener;
    ASSERT_EQ(kit.stack.listen(local, {Count{8}, Count{0}}, listener), Refusal::none);
    kit.deliver({.flags = flag::syn});
    if (complete) {
      kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1, .data = "hello"});
    }
    ConnectionId const id{0, 1};
    ASSERT_TRUE(kit.stack.inspect(id).exists);
    EXPECT_EQ(kit.stack.write(id, Kit::bytes_of("x")).refusal, Refusal::stale_id);
    EXPECT_EQ(kit.stack.lend(id, {}).refusal, Refusal::stale_id);
    EXPECT_EQ(kit.stack.urgent(id), Refusal::stale_id);
    EXPECT_EQ(kit.stack.finish(id), Refusal::stale_id);
    EXPECT_EQ(kit.stack.close(id), Refusal::stale_id);
    EXPECT_EQ(kit.stack.set(id, {SettingKind::send_buffer, 77}), Refusal::stale_id);
    EXPECT_TRUE(kit.stack.readable(id).empty());
    EXPECT_TRUE(kit.stack.unread(id).empty());
    EXPECT_TRUE(kit.stack.writable(id).empty());
    kit.stack.consume(id, Bytes{1});
    kit.stack.abort(id);
    kit.stack.admit(listener, Count{1});
    kit.turn();
    if (!complete) {
      kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1, .data = "hello"});
    }
    ASSERT_TRUE(kit.notified(EventKind::accepted));
    EXPECT_EQ(kit.id, id);
    EXPECT_EQ(kit.received, "hello");
    EXPECT_EQ(kit.stack.set(id, {SettingKind::send_buffer, 77}), Refusal::none);
    EXPECT_EQ(kit.stack.writable(id), Bytes{77});
  }
}

TEST(Calls, OnUnknownIds) {
  Kit kit;
  kit.socket_in(State::established);
  kit.stack.abort(kit.id);
  kit.turn();
  ASSERT_TRUE(kit.notified(EventKind::closed, Cause::aborted));
  static_cast<void>(kit.take());
  for (ConnectionId const id : {kit.id, ConnectionId{}, ConnectionId{63, 0}}) {
    EXPECT_EQ(kit.stack.write(id, Kit::bytes_of("x")).refusal, Refusal::stale_id);
    EXPECT_EQ(kit.stack.lend(id, {}).refusal, Refusal::stale_id);
    EXPECT_EQ(kit.stack.urgent(id), Refusal::stale_id);
    EXPECT_EQ(kit.stack.set(id, {SettingKind::nagle, 0}), Refusal::stale_id);
    EXPECT_TRUE(kit.stack.readable(id).empty());
    EXPECT_TRUE(kit.stack.unread(id).empty());
    EXPECT_TRUE(kit.stack.writable(id).empty());
    kit.stack.consume(id, Bytes{1});
    kit.stack.abort(id);
    EXPECT_FALSE(kit.stack.inspect(id).exists);
  }
  kit.turn();
  EXPECT_EQ(kit.sent(), "");
}

//= rfc9293#3.10.2
//= type=test
//# 9293:P-SEND-CLOSING connection closing, in five states; nothing is sent
TEST(Calls, SendAfterClose) {
  for (State state : {State::fin_wait_1, State::fin_wait_2, State::closing, State::last_ack}) {
    Kit kit;
    reach(kit, state);
    Taken const taken = send(kit, "late");
    EXPECT_EQ(taken.refusal, Refusal::closing) << name_of(state);
    EXPECT_TRUE(taken.bytes.empty());
    EXPECT_EQ(kit.stack.urgent(kit.id), Refusal::closing);
    EXPECT_TRUE(kit.stack.writable(kit.id).empty());
    kit.turn();
    EXPECT_EQ(kit.sent(), "");
  }
  Kit kit;
  kit.auto_consume = false;
  kit.socket_in(State::fin_wait_2);
  kit.deliver({.flags = flag::fin | flag::ack, .seq = 1, .ack = 2, .data = "unread"});
  ASSERT_EQ(kit.state(), State::time_wait);
  EXPECT_EQ(send(kit, "late").refusal, Refusal::closing);
}

//= rfc9293#3.10.2
//= type=test
//# 9293:P-SEND-PRE queued in SYN-SENT and SYN-RECEIVED, sent in ESTABLISHED
//# 9293:P-SEND-EST at once in ESTABLISHED and CLOSE-WAIT, with the ACK
TEST(Calls, SendByState) {
  for (State state : {State::syn_sent, State::syn_received}) {
    Kit kit;
    reach(kit, state);
    kit.write("early");
    EXPECT_EQ(kit.sent(), "");
    kit.deliver({.flags = flag::syn | flag::ack, .ack = 1, .mss = 1460});
    EXPECT_EQ(kit.sent(), "PA 1(5) ack 1");
  }
  for (State state : {State::established, State::close_wait}) {
    Kit kit;
    reach(kit, state);
    kit.write("now");
    EXPECT_EQ(kit.sent(), state == State::established ? "PA 1(3) ack 1" : "PA 1(3) ack 2");
  }
}

//= rfc9293#3.10.2
//= type=test
//# 9293:P-SEND-NORES insufficient resources; there is space again once data is acknowledged
TEST(Calls, SendWithoutRoom) {
  Config config = kit_config();
  config.tcp.send_buffer = Bytes{10};
  Kit kit(config);
  kit.socket_in(State::established);
  EXPECT_EQ(kit.stack.writable(kit.id).count, 10u);
  Taken taken = send(kit, "0123456789ab");
  EXPECT_EQ(taken.bytes.count, 10u);
  EXPECT_EQ(taken.refusal, Refusal::none);
  taken = send(kit, "ab");
  EXPECT_EQ(taken.bytes.count, 0u);
  EXPECT_EQ(taken.refusal, Refusal::no_room);
  kit.turn();
  EXPECT_EQ(kit.sent(), "PA 1(10) ack 1");
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 11});
  EXPECT_EQ(send(kit, "ab").bytes.count, 2u);
}

TEST(Calls, SendWithoutBlocks) {
  Config config = kit_config();
  config.tcp.blocks_max = Count{40};
  config.tcp.send_buffer = Bytes{1u << 20};
  Kit kit(config);
  kit.socket_in(State::established);
  Taken const taken = send(kit, std::string(200'000, 'x'));
  EXPECT_GT(taken.bytes.count, 0u);
  EXPECT_LT(taken.bytes.count, 40u * 2048u);
  EXPECT_EQ(send(kit, "x").refusal, Refusal::no_room);
}

//= rfc9293#3.10.7.4
//= type=test
//# 9293:P-ACK-USEROK acknowledged data is reported, exact to an octet
//= rfc9293#3.4
//= type=test
//# 9293:P-ACK-ACCEPTABLE, 9293:P-RTXQ-FULLACK ACKs of una, una+1, nxt and nxt+1
//= rfc9293#3.10.7.4
//= type=test
//# 9293:P-ACK-EST, 9293:P-ACK-DUP-OLD, 9293:P-ACK-FUTURE the effect of each on SND.UNA
TEST(Calls, AcknowledgedIsExact) {
  Kit kit;
  kit.socket_in(State::established);
  kit.write("0123456789");
  kit.events.clear();
  struct Case {
    std::uint32_t ack;
    std::uint32_t reported;
    std::uint32_t queued;
  };
  for (Case const& c : {Case{1, 0, 10}, Case{2, 1, 9}, Case{12, 0, 9}, Case{1, 0, 9},
                        Case{11, 9, 0}, Case{11, 0, 0}}) {
    kit.events.clear();
    kit.deliver({.flags = flag::ack, .seq = 1, .ack = c.ack});
    std::uint32_t reported = 0;
    for (Event const& event : kit.events) {
      reported += event.kind == EventKind::acknowledged ? event.bytes.count : 0;
    }
    EXPECT_EQ(reported, c.reported) << c.ack;
    EXPECT_EQ(kit.info().send.queued.count, c.queued) << c.ack;
  }
  EXPECT_EQ(kit.info().send.una, kit.device_iss + Bytes{11});
}

//= rfc9293#3.9.1.2
//= type=test
//# 9293:P-SEND-FIFO writes and loans go out in the order of the calls
TEST(Calls, SendsAreInOrder) {
  Kit kit;
  std::string const lent = "LENT BYTES";
  kit.stack.bind(RegionId{0}, Kit::bytes_of(lent));
  kit.socket_in(State::established);
  static_cast<void>(kit.stack.write(kit.id, Kit::bytes_of("one "), More::yes));
  Taken const taken = kit.stack.lend(kit.id, {RegionId{0}, 5, 5}, More::yes);
  EXPECT_EQ(taken.bytes.count, 5u);
  static_cast<void>(kit.stack.write(kit.id, Kit::bytes_of(" three"), More::no));
  kit.turn();
  auto const out = kit.take();
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].data, "one BYTES three");
  EXPECT_EQ(kit.stack.lend(kit.id, {RegionId{0}, 6, 5}).refusal, Refusal::bad_region);
  EXPECT_EQ(kit.stack.lend(kit.id, {RegionId{1}, 0, 1}).refusal, Refusal::bad_region);
  EXPECT_EQ(kit.stack.lend(kit.id, {RegionId{99}, 0, 0}).refusal, Refusal::bad_region);
}

//= rfc9293#3.9.1.2
//= type=test
//# 9293:P-SEND-TIMEOUT a timeout set between SENDs replaces the previous one
//= rfc9293#3.8.3
//= type=test
//# 9293:MUST-21 infinity included
TEST(Calls, TimeoutBetweenSends) {
  Kit kit;
  kit.socket_in(State::established);
  kit.write("one");
  kit.advance(Duration::seconds(10));
  ASSERT_EQ(kit.stack.set(kit.id, {SettingKind::user_timeout_ms, 5000}), Refusal::none);
  EXPECT_EQ(kit.info().user_timeout, Duration::seconds(5));
  kit.write("two");
  kit.advance(Duration::seconds(5) - Duration::nanoseconds(1));
  EXPECT_EQ(kit.state(), State::established);
  kit.advance(Duration::nanoseconds(1));
  EXPECT_TRUE(kit.notified(EventKind::closed, Cause::timed_out));
  Kit patient;
  patient.socket_in(State::established);
  ASSERT_EQ(patient.stack.set(patient.id, {SettingKind::user_timeout_ms, 0}), Refusal::none);
  patient.write("one");
  patient.advance(Duration::seconds(100'000));
  EXPECT_EQ(patient.state(), State::established);
}

//= rfc9293#3.10.3
//= type=test
//# 9293:P-RECV-PRE nothing to read before ESTABLISHED; data on the SYN is available after it
TEST(Calls, ReceiveBeforeEstablished) {
  for (State state : {State::syn_sent, State::syn_received}) {
    Kit kit;
    kit.auto_consume = false;
    kit.socket_in(State::syn_sent);
    if (state == State::syn_received) {
      kit.deliver({.flags = flag::syn, .data = "soon", .mss = 1460});
    }
    ASSERT_EQ(kit.state(), state);
    EXPECT_FALSE(kit.notified(EventKind::received));
    kit.deliver({.flags = flag::syn | flag::ack, .ack = 1, .data = "soon", .mss = 1460});
    EXPECT_TRUE(kit.notified(EventKind::received));
    EXPECT_EQ(kit.read(kit.id), "soon");
  }
}

//= rfc9293#3.10.3
//= type=test
//# 9293:P-RECV-EST in ESTABLISHED, FIN-WAIT-1 and -2 out-of-order data is read in order
//# 9293:P-RECV-QUEUE without data the event reports when there is some
//# 9293:P-RECV-ACK accepted data is acknowledged
//= rfc9293#3.9.1.3
//= type=test
//# 9293:P-RECV-COUNT exactly as many octets as there are can be consumed
//= rfc9293#3.10.7.4
//= type=test
//# 9293:P-SEQ-ORDER segments 3, 1 and 2, and an overlapping one
TEST(Calls, ReceiveInOrder) {
  for (State state : {State::established, State::fin_wait_1, State::fin_wait_2}) {
    Kit kit;
    kit.auto_consume = false;
    kit.socket_in(state);
    std::uint32_t const ack = state == State::fin_wait_2 ? 2 : 1;
    kit.deliver({.flags = flag::ack, .seq = 7, .ack = ack, .data = "three"});
    EXPECT_TRUE(kit.stack.readable(kit.id).empty());
    EXPECT_FALSE(kit.notified(EventKind::received));
    kit.deliver({.flags = flag::ack, .seq = 1, .ack = ack, .data = "one"});
    EXPECT_EQ(kit.stack.unread(kit.id).count, 3u);
    kit.deliver({.flags = flag::ack, .seq = 2, .ack = ack, .data = "netwo"});
    EXPECT_EQ(kit.stack.unread(kit.id).count, 11u);
    ASSERT_FALSE(kit.events.empty());
    EXPECT_EQ(kit.events.back().kind, EventKind::received);
    EXPECT_EQ(kit.events.back().bytes.count, 11u);
    auto const out = kit.take();
    ASSERT_FALSE(out.empty());
    EXPECT_EQ(out.back().ack, 12u);
    EXPECT_EQ(kit.read(kit.id), "onetwothree");
    kit.stack.consume(kit.id, Bytes{5});
    EXPECT_TRUE(kit.stack.unread(kit.id).empty());
    EXPECT_EQ(kit.info().receive.nxt, kit.peer_iss + Bytes{12});
  }
}

//= rfc9293#3.10.3
//= type=test
//# 9293:P-RECV-CLOSEWAIT unread data is delivered after the FIN, then nothing more
//# 9293:P-RECV-CLOSING the same in LAST-ACK, CLOSING and TIME-WAIT; no new data arrives there
TEST(Calls, ReceiveAfterTheFin) {
  for (State state : {State::close_wait, State::last_ack, State::closing, State::time_wait}) {
    Kit kit;
    kit.auto_consume = false;
    bool const ours_first = state == State::closing || state == State::time_wait;
    kit.socket_in(ours_first ? State::fin_wait_1 : State::established);
    std::uint32_t const ack = state == State::time_wait ? 2 : 1;
    kit.deliver({.flags = flag::fin | flag::ack, .seq = 1, .ack = ack, .data = "kept"});
    if (state == State::last_ack) {
      ASSERT_EQ(kit.stack.finish(kit.id), Refusal::none);
      kit.turn();
    }
    ASSERT_EQ(kit.state(), state);
    EXPECT_TRUE(kit.notified(EventKind::peer_finished));
    kit.deliver({.flags = flag::ack, .seq = 6, .ack = ack, .data = "new"});
    EXPECT_EQ(kit.read(kit.id), "kept") << name_of(state);
    EXPECT_TRUE(kit.stack.readable(kit.id).empty());
  }
}

//= rfc9293#3.10.3
//= type=test
//# 9293:P-RECV-URGENT reported while RCV.UP is ahead of what was read
//= rfc9293#3.9.1.3
//= type=test
//# 9293:P-RECV-URGFLAG reports how much is urgent, and its end once it was read
//= rfc9293#3.8.5
//= type=test
//# 9293:MUST-33, 9293:P-URG-MODE the amount of remaining urgent data can be queried
TEST(Calls, ReceiveUrgent) {
  Kit kit;
  kit.auto_consume = false;
  kit.socket_in(State::established);
  kit.deliver(
      {.flags = flag::ack | flag::urg, .seq = 1, .ack = 1, .data = "URGENTplain", .urgent = 6});
  ASSERT_FALSE(kit.events.empty());
  EXPECT_EQ(kit.events.back().kind, EventKind::urgent);
  EXPECT_EQ(kit.events.back().bytes.count, 6u);
  EXPECT_TRUE(kit.info().receive.urgent);
  kit.stack.consume(kit.id, Bytes{5});
  EXPECT_TRUE(kit.info().receive.urgent);
  EXPECT_EQ(kit.info().receive.up.since(kit.peer_iss + Bytes{6}).count, 1u);
  kit.stack.consume(kit.id, Bytes{1});
  EXPECT_FALSE(kit.info().receive.urgent);
  EXPECT_EQ(kit.read(kit.id), "plain");
}

//= rfc9293#3.1
//= type=test
//# 9293:P-URGPTR-FIELD relative to the segment's sequence number, and ignored without URG
TEST(Calls, TheUrgentFieldNeedsItsFlag) {
  Kit kit;
  kit.auto_consume = false;
  kit.socket_in(State::established);
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1, .data = "plain", .urgent = 3});
  EXPECT_FALSE(kit.notified(EventKind::urgent));
  EXPECT_FALSE(kit.info().receive.urgent);
  kit.deliver({.flags = flag::ack | flag::urg, .seq = 6, .ack = 1, .data = "URGENT", .urgent = 3});
  EXPECT_TRUE(kit.notified(EventKind::urgent));
  EXPECT_EQ(kit.info().receive.up, kit.peer_iss + Bytes{6 + 3});
}

//= rfc9293#3.10.5
//= type=test
//# 9293:P-ABORT, 9293:P-ABORT-FLUSH a reset at SND.NXT, and nothing else is sent
//= rfc9293#3.6
//= type=test
//# 9293:P-ABORT-MODE, 9293:MUST-12 the state is discarded at once
//= rfc9293#3.5.2
//= type=test
//# 9293:P-RST-USER the application may do so in any state
//= rfc9293#3.9.1.6
//= type=test
//# 9293:P-ABORT-API pending SENDs and RECEIVEs are discarded
TEST(Calls, AbortSendsAReset) {
  for (State state : {State::syn_received, State::established, State::fin_wait_1, State::fin_wait_2,
                      State::close_wait}) {
    Kit kit;
    kit.auto_consume = false;
    reach(kit, state);
    bool const sends = state == State::established || state == State::close_wait;
    bool const fin = state == State::fin_wait_1 || state == State::fin_wait_2;
    if (sends) {
      kit.write("in flight");
      static_cast<void>(kit.take());
      static_cast<void>(kit.stack.write(kit.id, Kit::bytes_of("queued")));
    }
    kit.stack.abort(kit.id);
    kit.turn();
    EXPECT_EQ(kit.state(), State::closed) << name_of(state);
    EXPECT_EQ(kit.sent(), sends ? "R 10(0)" : fin ? "R 2(0)" : "R 1(0)") << name_of(state);
    EXPECT_TRUE(kit.notified(EventKind::closed, Cause::aborted));
    EXPECT_FALSE(kit.info().exists);
    kit.advance(Duration::seconds(1000));
    EXPECT_EQ(kit.sent(), "");
  }
}

// A segment that requires an ACK, and the abort, in one turn: the ACK is discarded with the queues.
TEST(Calls, AbortDropsPendingAcks) {
  Kit kit;
  kit.auto_consume = false;
  kit.socket_in(State::established);
  kit.send({.flags = flag::ack, .seq = 50, .ack = 1, .data = "above a gap"});
  kit.send({.flags = flag::ack, .seq = 1, .ack = 1, .data = "in order"});
  kit.on_event = [&](const Event& event) { kit.stack.abort(event.id); };
  kit.turn();
  EXPECT_EQ(kit.sent(), "R 1(0)");
}

//= rfc9293#3.10.5
//= type=test
//# 9293:P-ABORT-SYNSENT, 9293:P-ABORT-CLOSING without a reset in SYN-SENT, CLOSING, LAST-ACK
//# 9293:P-ABORT-CLOSING and TIME-WAIT
TEST(Calls, AbortWithoutAReset) {
  for (State state : {State::syn_sent, State::closing, State::last_ack}) {
    Kit kit;
    reach(kit, state);
    kit.stack.abort(kit.id);
    kit.turn();
    EXPECT_EQ(kit.sent(), "") << name_of(state);
    EXPECT_EQ(kit.state(), State::closed);
    EXPECT_TRUE(kit.notified(EventKind::closed, Cause::aborted));
  }
  Kit kit;
  kit.auto_consume = false;
  kit.socket_in(State::fin_wait_2);
  kit.deliver({.flags = flag::fin | flag::ack, .seq = 1, .ack = 2, .data = "unread"});
  ASSERT_EQ(kit.state(), State::time_wait);
  static_cast<void>(kit.take());
  kit.stack.abort(kit.id);
  kit.turn();
  EXPECT_EQ(kit.sent(), "");
  EXPECT_TRUE(kit.notified(EventKind::closed));
  EXPECT_FALSE(kit.info().exists);
}

// finish() enters FIN-WAIT-1 while data and FIN still wait for the peer's window, and the peer's
// FIN leads on to CLOSING: without a reset the peer would wait for them for ever.
TEST(Calls, AbortWithAResetWhileTheFinWaits) {
  Flow flow;
  flow.ack_with_window(1, 0);
  flow.write_octets(500);
  ASSERT_EQ(flow.stack.finish(flow.id), Refusal::none);
  flow.deliver({.flags = flag::fin | flag::ack, .seq = 1, .ack = 1, .window = 0});
  ASSERT_EQ(flow.state(), State::closing);
  static_cast<void>(flow.take());
  flow.stack.abort(flow.id);
  flow.turn();
  EXPECT_EQ(flow.sent(), "R 1(0)");
}

//= rfc9293#3.10.6
//= type=test
//# 9293:P-STATUS-STATE STATUS reports the state
TEST(Calls, StatusInEveryState) {
  for (State state : live_states) {
    Kit kit;
    reach(kit, state);
    EXPECT_TRUE(kit.info().exists);
    EXPECT_EQ(name_of(kit.info().state), name_of(state));
    EXPECT_EQ(kit.info().tuple, kit.tuple());
  }
  Kit kit;
  kit.socket_in(State::time_wait);
  EXPECT_EQ(kit.stack.state_of(kit.tuple()), State::time_wait);
}

//= rfc9293#3.8
//= type=test
//# 9293:P-VARS-ADVANCE the variables advance by data, SYN and FIN, and are equal when idle
TEST(Calls, VariablesAdvance) {
  Kit kit;
  kit.socket_in(State::established);
  EXPECT_EQ(kit.info().send.nxt, kit.device_iss + Bytes{1});
  kit.write("12345");
  EXPECT_EQ(kit.info().send.nxt, kit.device_iss + Bytes{6});
  EXPECT_EQ(kit.info().send.una, kit.device_iss + Bytes{1});
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 6, .data = "abc"});
  EXPECT_EQ(kit.info().send.una, kit.info().send.nxt);
  EXPECT_EQ(kit.info().receive.nxt, kit.peer_iss + Bytes{4});
  ASSERT_EQ(kit.stack.finish(kit.id), Refusal::none);
  kit.turn();
  EXPECT_EQ(kit.info().send.nxt, kit.device_iss + Bytes{7});
}

// Events caused by calls while events are being taken are reported in the next turn.
TEST(Calls, EventsRaisedWhileDrainingComeNextTurn) {
  Kit kit;
  kit.socket_in(State::established);
  kit.send({.flags = flag::ack, .seq = 1, .ack = 1, .data = "x"});
  kit.auto_consume = false;
  kit.on_event = [&](const Event& event) {
    if (event.kind == EventKind::received) {
      kit.stack.abort(event.id);
    }
  };
  kit.turn();
  EXPECT_FALSE(kit.notified(EventKind::closed));
  kit.turn();
  EXPECT_TRUE(kit.notified(EventKind::closed, Cause::aborted));
}

}  // namespace
}  // namespace lockstep::testing
