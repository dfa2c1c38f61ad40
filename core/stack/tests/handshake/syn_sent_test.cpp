// SYN-SENT: RFC 9293 3.10.7.3, step by step.
#include <gtest/gtest.h>

#include "core/stack/testing/test_kit.hpp"

namespace lockstep::testing {
namespace {

//= rfc9293#3.10.7.3
//= type=test
//# 9293:P-SYNSENT-ACK SEG.ACK =< ISS or > SND.NXT: a reset, unless it is a reset itself
//= rfc9293#3.5
//= type=test
//# 9293:P-OLDDUP-SYN figure 8 from the client's side: the wrong ACK causes <SEQ=SEG.ACK><CTL=RST>
TEST(SynSent, Defect13_AWrongAckCausesAReset) {
  Kit kit;
  kit.socket_in(State::syn_sent);
  for (std::uint32_t ack : {0u, 2u, 0x8000'0000u, 0xffff'ffffu}) {
    EXPECT_EQ(kit.drop_of({.flags = flag::ack, .seq = 5, .ack = ack}), Drop::tcp_syn_sent_ack);
    EXPECT_EQ(kit.sent(), "R " + std::to_string(ack) + "(0)");
    EXPECT_EQ(kit.drop_of({.flags = flag::syn | flag::ack, .seq = 5, .ack = ack}),
              Drop::tcp_syn_sent_ack);
    EXPECT_EQ(kit.sent(), "R " + std::to_string(ack) + "(0)");
    EXPECT_EQ(kit.drop_of({.flags = flag::rst | flag::ack, .ack = ack}), Drop::tcp_syn_sent_ack);
    EXPECT_EQ(kit.sent(), "");
    EXPECT_EQ(kit.state(), State::syn_sent);
  }
}

//= rfc9293#3.10.7.3
//= type=test
//# 9293:P-SYNSENT-RST a reset that acknowledges our SYN: refused, CLOSED
//= rfc9293#3.5.3
//= type=test
//# 9293:P-RSTPROC-VALID its ACK, not its SEQ, makes it valid here
//= rfc9293#3.8.3
//= type=test
//# 9293:P-SYN-FAIL an open can fail this way
//= rfc5961#3.2
//= type=test
//# 5961:BLIND-4 a reset is valid only with an ACK of our SYN
TEST(SynSent, Refused) {
  Kit kit;
  kit.socket_in(State::syn_sent);
  kit.deliver({.flags = flag::rst | flag::ack, .seq = 12345, .ack = 1});
  EXPECT_EQ(kit.sent(), "");
  EXPECT_EQ(kit.state(), State::closed);
  EXPECT_TRUE(kit.notified(EventKind::closed, Cause::refused));
  EXPECT_FALSE(kit.info().exists);
  kit.advance(Duration::seconds(400));
  EXPECT_EQ(kit.sent(), "");
}

//= rfc9293#3.10.7.3
//= type=test
//# 9293:P-SYNSENT-RST-NOACK a reset without ACK is dropped and the state stays
TEST(SynSent, AResetWithoutAck) {
  Kit kit;
  kit.socket_in(State::syn_sent);
  EXPECT_EQ(kit.drop_of({.flags = flag::rst}), Drop::tcp_syn_sent_reset);
  EXPECT_EQ(kit.drop_of({.flags = flag::rst | flag::syn}), Drop::tcp_syn_sent_reset);
  EXPECT_EQ(kit.sent(), "");
  EXPECT_EQ(kit.state(), State::syn_sent);
}

//= rfc9293#3.10.7.3
//= type=test
//# 9293:P-SYNSENT-OTHER neither SYN nor RST: dropped
//= rfc9293#3.10.7.4
//= type=test
//# 9293:P-FIN-PRESYNC a FIN is not processed in SYN-SENT
TEST(SynSent, NeitherSynNorReset) {
  Kit kit;
  kit.socket_in(State::syn_sent);
  EXPECT_EQ(kit.drop_of({.flags = flag::ack, .ack = 1}), Drop::tcp_syn_sent_other);
  EXPECT_EQ(kit.drop_of({.flags = flag::fin | flag::ack, .ack = 1, .data = "no"}),
            Drop::tcp_syn_sent_other);
  EXPECT_EQ(kit.sent(), "");
  EXPECT_FALSE(kit.notified(EventKind::peer_finished));
  EXPECT_EQ(kit.state(), State::syn_sent);
}

//= rfc9293#3.10.7.3
//= type=test
//# 9293:P-SYNSENT-SYN, 9293:P-SYNSENT-EST, 9293:P-SYNSENT-ACK-RANGE ESTABLISHED, and its variables
TEST(SynSent, Established) {
  Kit kit;
  kit.socket_in(State::syn_sent);
  kit.deliver({.flags = flag::syn | flag::ack, .ack = 1, .window = 3000, .mss = 900});
  EXPECT_EQ(kit.sent(), "A 1(0) ack 1");
  ConnectionInfo const info = kit.info();
  EXPECT_EQ(info.state, State::established);
  EXPECT_EQ(info.receive.irs, kit.peer_iss);
  EXPECT_EQ(info.receive.nxt, kit.peer_iss.next());
  EXPECT_EQ(info.send.una, kit.device_iss.next());
  EXPECT_TRUE(info.retransmit_due.is_never());
  // The window of the SYN-ACK is used, although the RFC does not say so.
  EXPECT_EQ(info.send.wnd.count, 3000u);
  EXPECT_EQ(info.send.wl1, kit.peer_iss);
  EXPECT_EQ(info.send.wl2, kit.device_iss.next());
  EXPECT_EQ(info.send.mss.count, 900u);
}

//= rfc9293#3.10.7.3
//= type=test
//# 9293:P-SYNSENT-EST-DATA the ACK carries data written before
//= rfc9293#3.10.2
//= type=test
//# 9293:P-SEND-PRE data written in SYN-SENT is queued until ESTABLISHED
TEST(SynSent, TheAckCarriesQueuedData) {
  Kit kit;
  kit.socket_in(State::syn_sent);
  kit.write("early ");
  kit.write("bird");
  EXPECT_EQ(kit.sent(), "");
  kit.deliver({.flags = flag::syn | flag::ack, .ack = 1, .mss = 1460});
  auto const out = kit.take();
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(line(out[0]), "PA 1(10) ack 1");
  EXPECT_EQ(out[0].data, "early bird");
}

//= rfc9293#3.10.7.3
//= type=test
//# 9293:P-SYNSENT-EST-CONT, 9293:P-SYNSENT-SYNDATA data, URG and FIN of the SYN-ACK are processed
TEST(SynSent, DataUrgAndFinOnTheSynAck) {
  Kit kit;
  kit.socket_in(State::syn_sent);
  kit.deliver({.flags = flag::syn | flag::ack | flag::fin | flag::urg,
               .ack = 1,
               .data = "at once",
               .urgent = 3,
               .mss = 1460});
  EXPECT_EQ(kit.received, "at once");
  EXPECT_TRUE(kit.notified(EventKind::connected));
  EXPECT_TRUE(kit.notified(EventKind::urgent));
  EXPECT_TRUE(kit.notified(EventKind::peer_finished));
  EXPECT_EQ(kit.state(), State::close_wait);
  EXPECT_EQ(kit.sent(), "A 1(0) ack 9");
}

//= rfc9293#3.5.1
//= type=test
//# 9293:P-HALFOPEN, 9293:P-HALFOPEN-RETRY figure 9, the side that crashed
TEST(SynSent, Figure9FromTheCrashedSide) {
  Kit kit;
  kit.socket_in(State::syn_sent);
  // The other side still has the old connection and answers our SYN by an ACK of it.
  kit.deliver({.flags = flag::ack, .seq = 300, .ack = 100});
  EXPECT_EQ(kit.sent(), "R 100(0)");
  EXPECT_EQ(kit.state(), State::syn_sent);
  // Our SYN is retransmitted, and opens the connection.
  kit.advance(Duration::seconds(1));
  EXPECT_EQ(kit.sent(), "S 0(0)");
  kit.deliver({.flags = flag::syn | flag::ack, .ack = 1, .mss = 1460});
  EXPECT_EQ(kit.state(), State::established);
}

//= rfc9293#3.10.7.2
//= type=test
//# 9293:P-LISTEN-SYN-QUEUE data on a crossing SYN waits for ESTABLISHED in the same way
TEST(SynSent, DataOnACrossingSyn) {
  Kit kit;
  kit.socket_in(State::syn_sent);
  kit.deliver(
      {.flags = flag::syn | flag::urg | flag::fin, .data = "abc", .urgent = 2, .mss = 1460});
  EXPECT_EQ(kit.sent(), "SA 0(0) ack 1");
  EXPECT_TRUE(kit.events.empty());
  kit.deliver({.flags = flag::ack, .seq = 5, .ack = 1});
  EXPECT_TRUE(kit.notified(EventKind::connected));
  EXPECT_TRUE(kit.notified(EventKind::urgent));
  EXPECT_TRUE(kit.notified(EventKind::peer_finished));
  EXPECT_EQ(kit.received, "abc");
  EXPECT_EQ(kit.state(), State::close_wait);
}

// The window of a SYN is binding like any other: a smaller buffer does not retract it.
//= rfc9293#3.8.6
//= type=test
//# 9293:SHLD-14 the window does not shrink
TEST(SynSent, TheWindowOfTheSynIsKept) {
  Kit kit;
  kit.auto_consume = false;
  kit.connect();
  EXPECT_EQ(kit.take().at(0).window, 65535);
  ASSERT_EQ(kit.stack.set(kit.id, {SettingKind::receive_buffer, 1000}), Refusal::none);
  kit.advance(Duration::seconds(1));
  EXPECT_EQ(kit.take().at(0).window, 65535);
  kit.deliver({.flags = flag::syn | flag::ack, .ack = 1, .mss = 1460});
  EXPECT_EQ(kit.take().at(0).window, 65535);
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1, .data = std::string(1460, 'x')});
  EXPECT_EQ(kit.info().receive.unread.count, 1460u);
}

}  // namespace
}  // namespace lockstep::testing
