// Resets: when one is sent, its effect, and the half-open figures of RFC 9293 3.5.1.
#include <gtest/gtest.h>

#include "core/stack/testing/test_kit.hpp"

namespace lockstep::testing {
namespace {

constexpr std::array synchronized_states{State::established, State::fin_wait_1, State::fin_wait_2,
                                         State::close_wait,  State::closing,    State::last_ack};

std::uint32_t next_of(State state) {
  bool const after_fin = state == State::close_wait || state == State::closing ||
                         state == State::last_ack || state == State::time_wait;
  return after_fin ? 2 : 1;
}

//= rfc9293#3.10.7.1
//= type=test
//# 9293:P-CLOSED-SEG <SEQ=0><ACK=SEG.SEQ+SEG.LEN><CTL=RST,ACK>, counting SYN and FIN
//= rfc9293#3.4
//= type=test
//# 9293:P-SEGLEN the length of a segment counts data, SYN and FIN
//= rfc9293#3.5.2
//= type=test
//# 9293:P-RST-SEQ the source of its numbers
TEST(Reset, InClosedWithoutAck) {
  struct Case {
    Flags flags;
    const char* data;
    std::uint32_t ack;
  };
  for (Case const& c : {Case{flag::syn, "", 101}, Case{flag::syn, "abc", 104},
                        Case{flag::fin, "", 101}, Case{flag::none, "abcde", 105},
                        Case{flag::syn | flag::fin, "a", 103}, Case{flag::none, "", 100}}) {
    Kit kit;
    EXPECT_EQ(kit.drop_of({.flags = c.flags, .seq = 100, .data = c.data}), Drop::tcp_closed);
    auto const out = kit.take();
    ASSERT_EQ(out.size(), 1u);
    EXPECT_EQ(letters(out[0].flags), "RA");
    EXPECT_EQ(out[0].absolute, Sequence{0});
    EXPECT_EQ(out[0].ack, c.ack);
    EXPECT_EQ(out[0].window, 0);
  }
}

//= rfc9293#3.10.7.1
//= type=test
//# 9293:P-CLOSED-ACK <SEQ=SEG.ACK><CTL=RST>, without ACK
//= rfc9293#3.5.1
//= type=test
//# 9293:P-HALFOPEN-DATA figure 10: data for a connection that is gone
TEST(Reset, InClosedWithAck) {
  Kit kit;
  EXPECT_EQ(kit.drop_of({.flags = flag::ack, .seq = 300, .ack = 100, .data = "data"}),
            Drop::tcp_closed);
  EXPECT_EQ(kit.sent(), "R 100(0)");
  EXPECT_EQ(kit.drop_of({.flags = flag::fin | flag::ack, .seq = 300, .ack = 7}), Drop::tcp_closed);
  EXPECT_EQ(kit.sent(), "R 7(0)");
}

//= rfc9293#3.10.7.1
//= type=test
//# 9293:P-CLOSED-RST a reset is dropped
//= rfc9293#3.5.2
//= type=test
//# 9293:P-RST-SEQ and never answered
TEST(Reset, IsNeverAnswered) {
  Kit kit;
  EXPECT_EQ(kit.drop_of({.flags = flag::rst}), Drop::tcp_closed_reset);
  EXPECT_EQ(kit.drop_of({.flags = flag::rst | flag::ack, .ack = 9}), Drop::tcp_closed_reset);
  EXPECT_EQ(kit.sent(), "");
}

//= rfc9293#3.5
//= type=test
//# 9293:P-RST-SYNCSTATES, 9293:MUST-11 aborts each synchronized state and notifies the application
//= rfc9293#3.10.7.4
//= type=test
//# 9293:P-RST-EST, 9293:P-RST-CLOSING queues flushed, record deleted, reset reported
//= rfc9293#3.6
//= type=test
//# 9293:MUST-12 an abort by the peer is reported as such, never as a normal close
//= rfc9293#3.5.3
//= type=test
//# 9293:P-RSTPROC-STATE, 9293:SHLD-2 even if the reset has data
TEST(Reset, InEverySynchronizedState) {
  for (State state : synchronized_states) {
    Kit kit;
    kit.auto_consume = false;
    kit.socket_in(state);
    kit.deliver({.flags = flag::rst, .seq = next_of(state), .data = "why"});
    EXPECT_EQ(kit.state(), State::closed) << name_of(state);
    EXPECT_TRUE(kit.notified(EventKind::closed, Cause::reset));
    EXPECT_FALSE(kit.notified(EventKind::closed, Cause::finished));
    EXPECT_FALSE(kit.info().exists);
    kit.advance(Duration::seconds(1000));
    EXPECT_EQ(kit.sent(), "");
    EXPECT_TRUE(kit.stack.deadline().is_never());
  }
}

//= rfc9293#3.10.7.4
//= type=test
//# 9293:P-RST-EST outstanding SENDs and RECEIVEs end
TEST(Reset, FlushesBothQueues) {
  Kit kit;
  kit.auto_consume = false;
  kit.socket_in(State::established);
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1, .data = "unread"});
  kit.deliver({.flags = flag::ack, .seq = 99, .ack = 1, .data = "beyond a gap"});
  kit.write("never acknowledged");
  kit.deliver({.flags = flag::rst, .seq = 7});
  EXPECT_TRUE(kit.notified(EventKind::closed, Cause::reset));
  EXPECT_TRUE(kit.stack.readable(kit.id).empty());
  EXPECT_EQ(kit.stack.write(kit.id, Kit::bytes_of("x")).refusal, Refusal::stale_id);
}

//= rfc9293#3.10.7.4
//= type=test
//# 9293:P-RST-SYNRCVD silently back to LISTEN; nothing is retransmitted
//= rfc9293#3.3.2
//= type=test
//# 9293:P-FIG5-NOTE1 because the open was passive
//= rfc9293#3.5
//= type=test
//# 9293:P-OLDDUP-SYN figure 8 from the listener's side, which then accepts the real open
TEST(Reset, InSynReceivedAfterAPassiveOpen) {
  Kit kit;
  kit.socket_in(State::syn_received);
  kit.deliver({.flags = flag::rst, .seq = 1});
  EXPECT_EQ(kit.stack.state_of(kit.tuple()), State::listen);
  EXPECT_TRUE(kit.events.empty());
  kit.advance(Duration::seconds(600));
  EXPECT_EQ(kit.sent(), "");
  kit.deliver({.flags = flag::syn, .seq = 1000, .mss = 1460});
  EXPECT_EQ(kit.sent(), "SA 0(0) ack 1001");
  kit.deliver({.flags = flag::ack, .seq = 1001, .ack = 1});
  EXPECT_TRUE(kit.notified(EventKind::accepted));
}

//= rfc9293#3.10.7.4
//= type=test
//# 9293:P-RST-SYNRCVD refused after an active open
//= rfc9293#3.5
//= type=test
//# 9293:MUST-11 SYN-RECEIVED depends on the state before it
TEST(Reset, InSynReceivedAfterAnActiveOpen) {
  Kit kit;
  kit.socket_in(State::syn_sent);
  kit.deliver({.flags = flag::syn, .mss = 1460});
  ASSERT_EQ(kit.state(), State::syn_received);
  kit.deliver({.flags = flag::rst | flag::ack, .seq = 1, .ack = 1});
  EXPECT_EQ(kit.state(), State::closed);
  EXPECT_TRUE(kit.notified(EventKind::closed, Cause::refused));
}

//= rfc9293#3.10.7.4
//= type=test
//# 9293:P-SYN-SYNRCVD an in-window SYN: a passive open is discarded, an active open stays
TEST(Reset, AnInWindowSynInSynReceived) {
  Kit passive;
  passive.socket_in(State::syn_received);
  EXPECT_EQ(passive.drop_of({.flags = flag::syn, .seq = 500, .mss = 1460}),
            Drop::tcp_syn_received_syn);
  EXPECT_EQ(passive.stack.state_of(passive.tuple()), State::listen);
  EXPECT_EQ(passive.sent(), "");
  Kit active;
  active.socket_in(State::syn_sent);
  active.deliver({.flags = flag::syn, .mss = 1460});
  EXPECT_EQ(active.sent(), "SA 0(0) ack 1");
  EXPECT_EQ(active.drop_of({.flags = flag::syn, .seq = 500, .mss = 1460}),
            Drop::tcp_syn_challenged);
  EXPECT_EQ(active.sent(), "A 1(0) ack 1");
  EXPECT_EQ(active.state(), State::syn_received);
}

//= rfc9293#3.5.2
//= type=test
//# 9293:P-RST-GRP2 an unacceptable ACK causes a reset and the state stays
//= rfc9293#3.10.7.4
//= type=test
//# 9293:P-SYNRCVD-ACK <SEQ=SEG.ACK><CTL=RST>
TEST(Reset, ABadAckInSynReceived) {
  Kit kit;
  kit.socket_in(State::syn_received);
  for (std::uint32_t ack : {0u, 2u, 0x8000'0000u}) {
    EXPECT_EQ(kit.drop_of({.flags = flag::ack, .seq = 1, .ack = ack, .data = "not taken"}),
              Drop::tcp_syn_received_ack);
    EXPECT_EQ(kit.sent(), "R " + std::to_string(ack) + "(0)");
    EXPECT_EQ(kit.state(), State::syn_received);
  }
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1});
  EXPECT_EQ(kit.state(), State::established);
  EXPECT_EQ(kit.received, "");
}

//= rfc9293#3.5.1
//= type=test
//# 9293:P-HALFOPEN figure 9, the side that does not know of the crash
TEST(Reset, Figure9FromTheSideThatDidNotCrash) {
  Kit kit;
  kit.socket_in(State::established);
  // The peer has crashed and connects again, with a number outside the window.
  kit.deliver({.flags = flag::syn, .seq = 0x4000'0000, .mss = 1460});
  EXPECT_EQ(kit.sent(), "A 1(0) ack 1");
  EXPECT_EQ(kit.state(), State::established);
  // Its reset uses the number in our ACK.
  kit.deliver({.flags = flag::rst, .seq = 1});
  EXPECT_TRUE(kit.notified(EventKind::closed, Cause::reset));
  // Its SYN is retransmitted, and the listener accepts it.
  kit.deliver({.flags = flag::syn, .seq = 0x4000'0000, .mss = 1460});
  EXPECT_EQ(kit.state(), State::syn_received);
}

//= rfc9293#3.5.1
//= type=test
//# 9293:P-HALFOPEN-DATA figure 10, the sender of the data: the reset ends the connection
TEST(Reset, Figure10FromTheSender) {
  Kit kit;
  kit.socket_in(State::established);
  kit.write("are you there?");
  EXPECT_EQ(kit.sent(), "PA 1(14) ack 1");
  kit.deliver({.flags = flag::rst, .seq = 1});
  EXPECT_TRUE(kit.notified(EventKind::closed, Cause::reset));
}

//= rfc9293#3.5.1
//= type=test
//# 9293:P-HALFOPEN-PASSIVE figure 11: an old SYN at one listener, its SYN-ACK at the other
TEST(Reset, Figure11) {
  Kit kit;
  kit.listen();
  kit.deliver({.flags = flag::syn | flag::ack, .seq = 100, .ack = 50});
  EXPECT_EQ(kit.sent(), "R 50(0)");
  EXPECT_EQ(kit.stack.state_of(kit.tuple()), State::listen);
  kit.deliver({.flags = flag::syn, .mss = 1460});
  EXPECT_EQ(kit.sent(), "SA 0(0) ack 1");
  kit.deliver({.flags = flag::rst, .seq = 1});
  EXPECT_EQ(kit.stack.state_of(kit.tuple()), State::listen);
}

//= rfc9293#3.5.2
//= type=test
//# 9293:P-RST-WHEN an old segment causes an ACK, never a reset
TEST(Reset, IsNotSentForOldSegments) {
  Kit kit;
  kit.socket_in(State::established);
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1, .data = "new"});
  kit.advance(Duration::seconds(1));
  EXPECT_EQ(kit.sent(), "A 1(0) ack 4");
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1, .data = "new"});
  EXPECT_EQ(kit.sent(), "A 1(0) ack 4");
  kit.deliver({.flags = flag::syn | flag::ack, .ack = 1});
  EXPECT_EQ(kit.sent(), "A 1(0) ack 4");
  EXPECT_EQ(kit.state(), State::established);
}

//= rfc9293#3.4
//= type=test
//# 9293:MUST-66 resets are accepted at a zero window
//= rfc9293#3.10.7.4
//= type=test
//# 9293:P-ZEROWND-ACCEPT only in sequence
TEST(Reset, AtAZeroWindow) {
  Config config = kit_config();
  config.tcp.receive_buffer = Bytes{4};
  Kit kit(config);
  kit.auto_consume = false;
  kit.socket_in(State::established);
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1, .data = "full"});
  ASSERT_EQ(kit.info().receive.wnd.count, 0u);
  EXPECT_EQ(kit.drop_of({.flags = flag::rst, .seq = 4}), Drop::tcp_reset_outside);
  EXPECT_EQ(kit.drop_of({.flags = flag::rst, .seq = 6}), Drop::tcp_reset_outside);
  EXPECT_EQ(kit.state(), State::established);
  kit.deliver({.flags = flag::rst, .seq = 5});
  EXPECT_TRUE(kit.notified(EventKind::closed, Cause::reset));
}

//= rfc9293#3.10.7.4
//= type=test
//# 9293:P-SYN-793, 9293:P-SYN-OUTWIN RFC 793: an in-window SYN ends both sides
TEST(Reset, ASynByRfc793) {
  Config config = kit_config();
  config.tcp.reset_policy = tcp::ResetPolicy::rfc793;
  Kit kit(config);
  kit.socket_in(State::established);
  kit.deliver({.flags = flag::syn, .seq = 70'000, .mss = 1460});
  EXPECT_EQ(kit.sent(), "A 1(0) ack 1");
  EXPECT_EQ(kit.drop_of({.flags = flag::syn, .seq = 9, .mss = 1460}), Drop::tcp_syn_in_window);
  EXPECT_EQ(letters(kit.take().at(0).flags), "RA");
  EXPECT_TRUE(kit.notified(EventKind::closed, Cause::reset));
}

}  // namespace
}  // namespace lockstep::testing
