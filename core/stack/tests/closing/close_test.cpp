// Closing: RFC 9293 3.6, the CLOSE call, FIN in every state.
#include <gtest/gtest.h>

#include "core/stack/testing/flow_kit.hpp"

namespace lockstep::testing {
namespace {

void finish(Kit& kit) {
  EXPECT_EQ(kit.stack.finish(kit.id), Refusal::none);
  kit.turn();
}

void close(Kit& kit) {
  EXPECT_EQ(kit.stack.close(kit.id), Refusal::none);
  kit.turn();
}

// How often connections went from that state to CLOSED.
std::uint64_t closed_from(Kit& kit, State from) {
  return kit.stack.statistics().tcp.transitions_taken[tcp::transition_index(from, State::closed)];
}

//= rfc9293#3.10.4
//= type=test
//# 9293:P-CLOSE-SYNSENT the record goes through CLOSED
//= rfc9293#3.10.7.3
//= type=test
//# 9293:P-SYNSENT-RST also when the peer refuses
//= rfc9293#3.10.7.4
//= type=test
//# 9293:P-LASTACK-ACK and when our FIN is acknowledged last
TEST(Close, EndsInClosed) {
  Kit kit;
  kit.connect();
  close(kit);
  EXPECT_EQ(closed_from(kit, State::syn_sent), 1u);
  Kit refused;
  refused.connect();
  refused.sent();
  refused.deliver({.flags = flag::rst | flag::ack, .ack = 1});
  EXPECT_EQ(closed_from(refused, State::syn_sent), 1u);
  Kit last;
  last.socket_in(State::last_ack);
  last.sent();
  last.deliver({.flags = flag::ack, .seq = 2, .ack = 2});
  EXPECT_EQ(closed_from(last, State::last_ack), 1u);
}

//= rfc9293#3.6
//= type=test
//# 9293:P-NORMCLOSE figure 12, active side
//= rfc9293#3.10.7.4
//= type=test
//# 9293:P-FINWAIT1-ACK, 9293:P-FINWAIT2-ACK, 9293:P-FIN-FW2 its states in order
TEST(Close, Figure12FromTheActiveSide) {
  Kit kit;
  kit.socket_in(State::established);
  finish(kit);
  EXPECT_EQ(kit.state(), State::fin_wait_1);
  EXPECT_EQ(kit.sent(), "FA 1(0) ack 1");
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 2});
  EXPECT_EQ(kit.state(), State::fin_wait_2);
  EXPECT_TRUE(kit.info().retransmit_due.is_never());
  kit.deliver({.flags = flag::fin | flag::ack, .seq = 1, .ack = 2});
  EXPECT_EQ(kit.sent(), "A 2(0) ack 2");
  EXPECT_EQ(kit.state(), State::time_wait);
  EXPECT_TRUE(kit.notified(EventKind::peer_finished));
  EXPECT_TRUE(kit.notified(EventKind::closed, Cause::finished));
  // One timer is left: 2 MSL.
  EXPECT_EQ(kit.stack.deadline(), kit.now + Duration::seconds(240));
  kit.advance(Duration::seconds(240));
  EXPECT_EQ(kit.state(), State::closed);
  EXPECT_TRUE(kit.stack.deadline().is_never());
}

//= rfc9293#3.6
//= type=test
//# 9293:P-SIMCLOSE figure 13: both sides end in TIME-WAIT, so one side is tested
//= rfc9293#3.10.7.4
//= type=test
//# 9293:P-FIN-FW1-CLOSING, 9293:P-CLOSING-ACK CLOSING until our FIN is acknowledged
//= rfc9293#A.2
//= type=test
//# 9293:P-SEQVAL-A2 the ACK that ends it is also accepted on a repeated FIN
TEST(Close, Figure13) {
  Kit kit;
  kit.socket_in(State::closing);
  EXPECT_EQ(kit.drop_of({.flags = flag::ack, .seq = 2, .ack = 1}), Drop::tcp_closing_ack);
  EXPECT_EQ(kit.state(), State::closing);
  kit.deliver({.flags = flag::ack, .seq = 2, .ack = 2});
  EXPECT_EQ(kit.state(), State::time_wait);
  EXPECT_TRUE(kit.notified(EventKind::closed, Cause::finished));
  kit.advance(Duration::seconds(240));
  EXPECT_EQ(kit.state(), State::closed);
}

//= rfc9293#3.3.2
//= type=test
//# 9293:P-FIG5-NOTE2 one segment leads from FIN-WAIT-1 to TIME-WAIT
//= rfc9293#3.10.7.4
//= type=test
//# 9293:P-FIN-FW1-TW its other timers are off
TEST(Close, FinThatAcknowledgesOurFin) {
  Kit kit;
  kit.socket_in(State::fin_wait_1);
  kit.deliver({.flags = flag::fin | flag::ack, .seq = 1, .ack = 2});
  EXPECT_EQ(kit.sent(), "A 2(0) ack 2");
  EXPECT_EQ(kit.state(), State::time_wait);
  EXPECT_EQ(kit.stack.deadline(), kit.now + Duration::seconds(240));
}

//= rfc9293#3.10.7.4
//= type=test
//# 9293:P-FIN, 9293:P-FIN-EST reported, RCV.NXT advances, acknowledged; earlier data stays readable
//= rfc9293#3.6
//= type=test
//# 9293:P-CLOSE-SIGNAL, 9293:MUST-12 a normal close is reported, even without reading
//= rfc9293#3.8
//= type=test
//# 9293:P-CLOSE-PUSH the FIN pushes all data before it
TEST(Close, FinInEstablished) {
  Kit kit;
  kit.auto_consume = false;
  kit.socket_in(State::established);
  kit.deliver({.flags = flag::fin | flag::ack, .seq = 1, .ack = 1, .data = "last words"});
  EXPECT_EQ(kit.state(), State::close_wait);
  EXPECT_EQ(kit.sent(), "A 1(0) ack 12");
  EXPECT_TRUE(kit.notified(EventKind::peer_finished));
  EXPECT_FALSE(kit.notified(EventKind::closed));
  EXPECT_EQ(kit.info().receive.nxt, kit.peer_iss + Bytes{12});
  EXPECT_EQ(kit.stack.unread(kit.id).count, 10u);
  EXPECT_EQ(kit.read(kit.id), "last words");
}

//= rfc9293#3.10.7.4
//= type=test
//# 9293:P-FIN-REMAIN, 9293:P-DATA-AFTER-FIN later FINs and data have no effect
//= rfc9293#3.4
//= type=test
//# 9293:P-CTL-ONCE the FIN is processed once
TEST(Close, FinAgainAndDataAfterIt) {
  for (State state : {State::close_wait, State::closing, State::last_ack}) {
    Kit kit;
    kit.socket_in(state);
    std::uint32_t const ours = state == State::close_wait ? 1 : 2;
    std::string const ack = "A " + std::to_string(ours) + "(0) ack 2";
    kit.deliver({.flags = flag::fin | flag::ack, .seq = 1, .ack = 1});
    EXPECT_EQ(kit.sent(), ack) << name_of(state);
    Drop const fate = kit.drop_of({.flags = flag::ack, .seq = 2, .ack = 1, .data = "more"});
    EXPECT_TRUE(fate == Drop::tcp_data_after_fin || fate == Drop::tcp_closing_ack);
    kit.deliver({.flags = flag::fin | flag::ack, .seq = 2, .ack = 1});
    EXPECT_EQ(kit.state(), state);
    EXPECT_EQ(kit.received, "");
    int reported = 0;
    for (Event const& event : kit.events) {
      reported += event.kind == EventKind::peer_finished ? 1 : 0;
    }
    EXPECT_EQ(reported, 1);
  }
}

// A FIN above a gap waits until the gap is filled.
TEST(Close, Defect03_AFinAboveAGapWaits) {
  Kit kit;
  kit.socket_in(State::established);
  kit.deliver({.flags = flag::fin | flag::ack, .seq = 4, .ack = 1, .data = "end"});
  EXPECT_EQ(kit.sent(), "A 1(0) ack 1");
  EXPECT_EQ(kit.state(), State::established);
  EXPECT_FALSE(kit.notified(EventKind::peer_finished));
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1, .data = "the"});
  EXPECT_EQ(kit.received, "theend");
  EXPECT_TRUE(kit.notified(EventKind::peer_finished));
  EXPECT_EQ(kit.state(), State::close_wait);
  EXPECT_EQ(kit.sent(), "A 1(0) ack 8");
}

// LAST-ACK ends, the record is released, and the four-tuple can be used again.
//= rfc9293#3.10.7.4
//= type=test
//# 9293:P-LASTACK-ACK the ACK of our FIN deletes the record
TEST(Close, Defect01_APassiveCloseLeaksNothing) {
  Config config = kit_config();
  config.tcp.connections_max = Count{1};
  config.tcp.active_max = Count{1};
  Kit kit(config);
  kit.listen();
  for (std::uint32_t round = 0; round < 3; ++round) {
    std::uint32_t const s = round * 1000;
    kit.deliver({.flags = flag::syn, .seq = s, .mss = 1460});
    kit.deliver({.flags = flag::ack, .seq = s + 1, .ack = 1});
    EXPECT_EQ(kit.state(), State::established) << round;
    kit.deliver({.flags = flag::fin | flag::ack, .seq = s + 1, .ack = 1});
    finish(kit);
    EXPECT_EQ(kit.state(), State::last_ack);
    kit.deliver({.flags = flag::ack, .seq = s + 2, .ack = 2});
    EXPECT_EQ(kit.state(), State::closed);
    EXPECT_TRUE(kit.notified(EventKind::closed, Cause::finished));
    EXPECT_FALSE(kit.info().exists);
  }
}

//= rfc9293#3.10.4
//= type=test
//# 9293:P-CLOSE-QUEUED the FIN follows all queued data, only on its last segment
TEST(Close, Defect02_OnlyTheLastSegmentCarriesTheFin) {
  Kit kit;
  kit.accept_connection(100);
  static_cast<void>(kit.stack.write(kit.id, Kit::bytes_of(std::string(250, 'x')), More::yes));
  EXPECT_EQ(kit.stack.finish(kit.id), Refusal::none);
  kit.turn();
  EXPECT_EQ(kit.state(), State::fin_wait_1);
  EXPECT_EQ(kit.sent(), "A 1(100) ack 1; A 101(100) ack 1; FPA 201(50) ack 1");
}

//= rfc9293#3.4
//= type=test
//# 9293:P-CTL-ONCE a lost FIN is retransmitted with the same number
TEST(Close, Defect06_ARepeatedFinHasItsOwnNumber) {
  Kit kit;
  kit.socket_in(State::established);
  kit.write("tail");
  finish(kit);
  EXPECT_EQ(kit.sent(), "PA 1(4) ack 1; FA 5(0) ack 1");
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 5});
  kit.advance(Duration::seconds(1));
  EXPECT_EQ(kit.sent(), "FA 5(0) ack 1");
  kit.advance(Duration::seconds(2));
  EXPECT_EQ(kit.sent(), "FA 5(0) ack 1");
  EXPECT_EQ(kit.info().send.nxt, kit.device_iss + Bytes{6});
}

//= rfc9293#3.6
//= type=test
//# 9293:P-CLOSE-DELIVER data before the CLOSE, and the FIN, are retransmitted until acknowledged
TEST(Close, DataSentBeforeIsDelivered) {
  Kit kit;
  kit.socket_in(State::established);
  kit.write("tail");
  finish(kit);
  static_cast<void>(kit.take());
  kit.advance(Duration::seconds(1));
  EXPECT_EQ(kit.sent(), "FPA 1(4) ack 1");
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 6});
  EXPECT_EQ(kit.state(), State::fin_wait_2);
  EXPECT_EQ(kit.info().send.queued.count, 0u);
}

//= rfc9293#3.10.4
//= type=test
//# 9293:P-CLOSE-SYNRCVD before the handshake completes the FIN waits, with and without data
//= rfc9293#3.10
//= type=test
//# 9293:P-EV-EQUIV the result is that of a FIN sent from SYN-RECEIVED
TEST(Close, Defect12_NoFinBeforeTheHandshakeEnds) {
  for (bool const data : {false, true}) {
    Kit kit;
    kit.socket_in(State::syn_sent);
    kit.deliver({.flags = flag::syn, .mss = 1460});
    ASSERT_EQ(kit.state(), State::syn_received);
    static_cast<void>(kit.take());
    if (data) {
      kit.write("bye");
    }
    finish(kit);
    EXPECT_EQ(kit.sent(), "");
    EXPECT_EQ(kit.state(), State::syn_received);
    EXPECT_EQ(kit.stack.finish(kit.id), Refusal::closing);
    kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1});
    EXPECT_EQ(kit.state(), State::fin_wait_1);
    EXPECT_EQ(kit.sent(), data ? "FPA 1(3) ack 1" : "FA 1(0) ack 1");
  }
}

//= rfc9293#3.10.4
//= type=test
//# 9293:P-CLOSE-SYNSENT the record and its queue are deleted; nothing is sent
TEST(Close, InSynSent) {
  for (bool const whole : {false, true}) {
    Kit kit;
    kit.socket_in(State::syn_sent);
    kit.write("never sent");
    whole ? close(kit) : finish(kit);
    EXPECT_EQ(kit.sent(), "");
    EXPECT_EQ(kit.state(), State::closed);
    EXPECT_TRUE(kit.notified(EventKind::closed, Cause::aborted));
    kit.deliver({.flags = flag::syn | flag::ack, .ack = 1, .mss = 1460});
    EXPECT_EQ(kit.sent(), "R 1(0)");
  }
}

//= rfc9293#3.10.4
//= type=test
//# 9293:P-CLOSE-FINWAIT, 9293:P-CLOSE-CLOSING a second CLOSE is refused, and there is no second FIN
TEST(Close, Twice) {
  for (State state : {State::fin_wait_1, State::fin_wait_2, State::closing, State::last_ack}) {
    Kit kit;
    kit.socket_in(state);
    EXPECT_EQ(kit.stack.finish(kit.id), Refusal::closing);
    kit.turn();
    EXPECT_EQ(kit.sent(), "") << name_of(state);
    EXPECT_EQ(kit.state(), state);
  }
  // In TIME-WAIT with unread data the id is valid and the answer the same.
  Kit kit;
  kit.auto_consume = false;
  kit.socket_in(State::fin_wait_2);
  kit.deliver({.flags = flag::fin | flag::ack, .seq = 1, .ack = 2, .data = "unread"});
  ASSERT_EQ(kit.state(), State::time_wait);
  EXPECT_EQ(kit.stack.finish(kit.id), Refusal::closing);
}

//= rfc9293#3.10.4
//= type=test
//# 9293:P-CLOSE-CLOSED CLOSE with an unknown id
TEST(Close, OfAnUnknownId) {
  Kit kit;
  EXPECT_EQ(kit.stack.finish(kit.id), Refusal::stale_id);
  EXPECT_EQ(kit.stack.close(kit.id), Refusal::stale_id);
}

//= rfc9293#3.10.4
//= type=test
//# 9293:P-CLOSE-CLOSEWAIT data, then FIN, then LAST-ACK
//= rfc9293#3.6
//= type=test
//# 9293:P-CLOSE-NOAUTOFIN our FIN is sent only after our CLOSE; until then we can send
//= rfc9293#3.10.7.4
//= type=test
//# 9293:P-CLOSEWAIT-ACK ACKs are processed as in ESTABLISHED
TEST(Close, InCloseWait) {
  Kit kit;
  kit.socket_in(State::close_wait);
  kit.advance(Duration::seconds(100'000));
  EXPECT_EQ(kit.sent(), "");
  EXPECT_EQ(kit.state(), State::close_wait);
  kit.write("still here");
  EXPECT_EQ(kit.sent(), "PA 1(10) ack 2");
  kit.deliver({.flags = flag::ack, .seq = 2, .ack = 11});
  EXPECT_TRUE(kit.notified(EventKind::acknowledged));
  static_cast<void>(kit.stack.write(kit.id, Kit::bytes_of("bye"), More::yes));
  finish(kit);
  EXPECT_EQ(kit.sent(), "FPA 11(3) ack 2");
  EXPECT_EQ(kit.state(), State::last_ack);
}

//= rfc9293#3.6
//= type=test
//# 9293:P-CLOSE-SIMPLEX, 9293:P-CLOSE-NOSEND after CLOSE we only receive
//= rfc9293#3.6.1
//= type=test
//# 9293:P-HALFCLOSED one direction closed, data in the other
TEST(Close, ReadingContinues) {
  Kit kit;
  kit.socket_in(State::fin_wait_2);
  EXPECT_EQ(kit.stack.write(kit.id, Kit::bytes_of("no")).refusal, Refusal::closing);
  std::string sent;
  for (std::uint32_t i = 0; i < 100; ++i) {
    std::string const data(1000, static_cast<char>('a' + i % 26));
    kit.deliver({.flags = flag::ack, .seq = 1 + i * 1000, .ack = 2, .data = data});
    sent += data;
  }
  EXPECT_EQ(kit.received, sent);
  EXPECT_EQ(kit.state(), State::fin_wait_2);
  kit.advance(Duration::seconds(100'000));
  EXPECT_EQ(kit.state(), State::fin_wait_2);
}

//= rfc9293#3.6
//= type=test
//# 9293:P-CLOSE-NOACK in LAST-ACK a silent peer leads to an abort that is reported
//= rfc9293#3.9.1.4
//= type=test
//# 9293:P-CLOSE-TOABORT so does a CLOSE whose data cannot be delivered
TEST(Close, UserTimeoutAfterClose) {
  for (State state : {State::last_ack, State::fin_wait_1, State::closing}) {
    Kit kit;
    kit.socket_in(state);
    kit.advance(Duration::seconds(300));
    EXPECT_EQ(kit.state(), State::closed) << name_of(state);
    EXPECT_TRUE(kit.notified(EventKind::closed, Cause::timed_out));
  }
}

//= rfc9293#3.6.1
//= type=test
//# 9293:SHLD-3, 9293:MAY-1 unread data, and data after a full close, cause a reset
TEST(Close, FullCloseDiscardsUnreadData) {
  Kit kit;
  kit.auto_consume = false;
  kit.socket_in(State::established);
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1, .data = "unread"});
  close(kit);
  EXPECT_EQ(kit.sent(), "R 1(0)");
  EXPECT_TRUE(kit.notified(EventKind::closed, Cause::aborted));
  EXPECT_EQ(kit.state(), State::closed);

  Kit later;
  later.socket_in(State::established);
  close(later);
  EXPECT_EQ(later.sent(), "FA 1(0) ack 1");
  EXPECT_EQ(later.drop_of({.flags = flag::ack, .seq = 1, .ack = 2, .data = "late"}),
            Drop::tcp_data_after_close);
  EXPECT_EQ(later.sent(), "R 2(0)");
  EXPECT_TRUE(later.notified(EventKind::closed, Cause::aborted));
}

TEST(Close, FullCloseBoundsFinWait2) {
  Kit kit;
  kit.socket_in(State::established);
  close(kit);
  EXPECT_EQ(kit.stack.close(kit.id), Refusal::closing);
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 2});
  ASSERT_EQ(kit.state(), State::fin_wait_2);
  kit.advance(Duration::seconds(60) - Duration::nanoseconds(1));
  EXPECT_EQ(kit.state(), State::fin_wait_2);
  kit.advance(Duration::nanoseconds(1));
  EXPECT_EQ(kit.state(), State::closed);
  EXPECT_TRUE(kit.notified(EventKind::closed, Cause::timed_out));
}

// Answers each probe with a closed window for that long, or until the connection is gone.
void keep_window_closed(Flow& flow, Duration by) {
  Instant const end = flow.now + by;
  while (flow.now < end && flow.state() != State::closed) {
    flow.advance(earlier(flow.stack.deadline(), end).since(flow.now));
    auto const out = flow.take();
    if (!out.empty() && !out.back().flags.rst()) {
      flow.ack_with_window(flow.acked, 0);
    }
  }
}

// Nobody uses a connection after close(): a peer that keeps its window closed holds its data for
// `orphan_timeout`, although it answers all probes. finish() sets no such limit.
TEST(Close, FullCloseBoundsAClosedWindow) {
  for (bool const before : {false, true}) {
    Flow flow(bare_config(), {.mss = 1460, .sack = true, .stamp = 1});
    flow.write_octets(100'000);
    flow.take();
    flow.ack_with_window(1, 0);
    if (before) {
      EXPECT_EQ(flow.stack.finish(flow.id), Refusal::none);
      keep_window_closed(flow, Duration::seconds(3600));
    }
    EXPECT_EQ(flow.state(), before ? State::fin_wait_1 : State::established);
    EXPECT_EQ(flow.stack.close(flow.id), Refusal::none);
    keep_window_closed(flow, Duration::seconds(299));
    EXPECT_EQ(flow.state(), State::fin_wait_1);
    EXPECT_NE(flow.stack.pools().blocks, 0u);
    keep_window_closed(flow, Duration::seconds(2));
    EXPECT_EQ(flow.state(), State::closed);
    EXPECT_TRUE(flow.notified(EventKind::closed, Cause::timed_out));
    EXPECT_EQ(flow.stack.pools().blocks, 0u);
  }
}

// Each time that the window opens, the limit ends. Without a limit it never ends.
TEST(Close, AClosedWindowIsBoundedAnew) {
  Flow flow(bare_config(), {.mss = 1460, .sack = true, .stamp = 1});
  flow.write_octets(100'000);
  flow.take();
  EXPECT_EQ(flow.stack.close(flow.id), Refusal::none);
  for (int i = 0; i < 3; ++i) {
    flow.ack_with_window(flow.acked, 0);
    keep_window_closed(flow, Duration::seconds(250));
    flow.ack_with_window(flow.acked + 1000, 1000);
  }
  EXPECT_EQ(flow.state(), State::fin_wait_1);
  Config config = bare_config();
  config.tcp.orphan_timeout = Duration{};
  Flow patient(config, {.mss = 1460, .sack = true, .stamp = 1});
  patient.write_octets(100'000);
  patient.take();
  patient.ack_with_window(1, 0);
  EXPECT_EQ(patient.stack.close(patient.id), Refusal::none);
  keep_window_closed(patient, Duration::seconds(86'400));
  EXPECT_EQ(patient.state(), State::fin_wait_1);
}

// Nor does a peer hold it longer that lets its window shrink to zero, where the first segment is
// sent into that window again (profile linux), whether it shrank before close() or after.
TEST(Close, FullCloseBoundsAWindowThatShrank) {
  for (bool const before : {false, true}) {
    for (bool const sack : {false, true}) {
      Config config = bare_config();
      config.tcp.shrunk_retransmitted = true;
      Flow flow(config, {.mss = 1460, .sack = sack, .stamp = 1});
      flow.write_octets(1000);
      flow.take();
      if (before) {
        flow.ack_with_window(1, 0);
      }
      EXPECT_EQ(flow.stack.close(flow.id), Refusal::none);
      flow.turn();
      flow.ack_with_window(1, 0);
      keep_window_closed(flow, Duration::seconds(200));
      EXPECT_EQ(flow.state(), State::fin_wait_1) << before << sack;
      keep_window_closed(flow, Duration::seconds(250));
      EXPECT_EQ(flow.state(), State::closed) << before << sack;
    }
  }
}

// A FIN outside the window is trimmed and must be retransmitted.
TEST(Close, AFinBeyondTheWindowIsTrimmed) {
  Config config = kit_config();
  config.tcp.receive_buffer = Bytes{4};
  Kit kit(config);
  kit.auto_consume = false;
  kit.socket_in(State::established);
  kit.deliver({.flags = flag::fin | flag::ack, .seq = 1, .ack = 1, .data = "four"});
  EXPECT_EQ(kit.state(), State::established);
  EXPECT_EQ(kit.info().receive.wnd.count, 0u);
  EXPECT_FALSE(kit.notified(EventKind::peer_finished));
  EXPECT_EQ(kit.read(kit.id), "four");
  kit.turn();
  kit.deliver({.flags = flag::fin | flag::ack, .seq = 5, .ack = 1});
  EXPECT_EQ(kit.state(), State::close_wait);
}

// An application whose close was refused for lack of resources can close later.
TEST(Close, RefusedForResourcesAndRetried) {
  Config config = kit_config();
  config.tcp.active_max = Count{1};
  Kit kit(config);
  kit.accept_connection();
  Open open;
  open.remote = {kit.peer, {6000}};
  ConnectionId other;
  ASSERT_EQ(kit.stack.connect(open, other), Refusal::none);
  EXPECT_EQ(kit.stack.close(kit.id), Refusal::no_room);
  EXPECT_EQ(kit.stack.finish(kit.id), Refusal::no_room);
  kit.stack.abort(other);
  kit.turn();
  EXPECT_EQ(kit.stack.close(kit.id), Refusal::none);
  kit.turn();
  EXPECT_EQ(kit.sent(), "FA 1(0) ack 1");
}

// A peer that lost our FIN accepts the reset at once, without a challenge ACK.
//= rfc9293#3.5.2
//= type=test
//# 9293:P-RST-SEQ its number is SEG.ACK, also while our FIN is not acknowledged
TEST(Close, DataAfterACloseIsResetAtSegAck) {
  Config config;
  config.link = LinkType::ip;
  config.addresses[0] = {IpAddress::v4(10, 0, 0, 1), 24};
  config.address_count = Count{1};
  Kit kit(config);
  kit.accept_connection();
  kit.write("bye");
  close(kit);
  EXPECT_EQ(kit.sent(), "PA 1(3) ack 1; FA 4(0) ack 1");
  kit.deliver({.flags = flag::psh | flag::ack, .seq = 1, .ack = 4, .data = "more"});
  EXPECT_EQ(kit.sent(), "R 4(0)");
  // A delayed older segment does not show the peer's current position.
  Kit late(config);
  late.accept_connection();
  late.write("bye");
  close(late);
  late.deliver({.flags = flag::ack, .seq = 1, .ack = 4});
  late.sent();
  late.deliver({.flags = flag::psh | flag::ack, .seq = 1, .ack = 1, .data = "more"});
  EXPECT_EQ(late.sent(), "R 4(0)");
}

}  // namespace
}  // namespace lockstep::testing
