// TIME-WAIT: its duration, and what restarts, reopens and ends it.
#include <gtest/gtest.h>

#include "core/stack/testing/test_kit.hpp"

namespace lockstep::testing {
namespace {

//= rfc9293#3.6.1
//= type=test
//# 9293:MUST-13 exact to the nanosecond
//= rfc9293#3.10.8
//= type=test
//# 9293:P-TW-TIMEOUT then the record is deleted
//= rfc9293#3.4.2
//= type=test
//# 9293:P-MSL two times two minutes
TEST(TimeWait, TwiceTheMsl) {
  Kit kit;
  kit.socket_in(State::time_wait);
  kit.advance(Duration::seconds(240) - Duration::nanoseconds(1));
  EXPECT_EQ(kit.state(), State::time_wait);
  kit.advance(Duration::nanoseconds(1));
  EXPECT_EQ(kit.state(), State::closed);
  kit.deliver({.flags = flag::fin | flag::ack, .seq = 1, .ack = 2});
  EXPECT_EQ(kit.sent(), "R 2(0)");
}

//= rfc9293#3.10.7.4
//= type=test
//# 9293:P-TIMEWAIT-ACK, 9293:P-FIN-TW a retransmitted FIN is acknowledged and restarts 2 MSL
TEST(TimeWait, RestartedByTheFin) {
  Kit kit;
  kit.socket_in(State::time_wait);
  kit.advance(Duration::seconds(200));
  kit.deliver({.flags = flag::fin | flag::ack, .seq = 1, .ack = 2});
  EXPECT_EQ(kit.sent(), "A 2(0) ack 2");
  kit.advance(Duration::seconds(240) - Duration::nanoseconds(1));
  EXPECT_EQ(kit.state(), State::time_wait);
  kit.advance(Duration::nanoseconds(1));
  EXPECT_EQ(kit.state(), State::closed);
}

TEST(TimeWait, RestartedByNothingElse) {
  Kit kit;
  kit.socket_in(State::time_wait);
  kit.advance(Duration::seconds(200));
  for (In const& in :
       {In{.flags = flag::ack, .seq = 2, .ack = 2}, In{.flags = flag::ack, .seq = 1, .ack = 2},
        In{.flags = flag::ack, .seq = 2, .ack = 2, .data = "data"},
        In{.flags = flag::fin | flag::ack, .seq = 2, .ack = 2}, In{.flags = flag::fin, .seq = 1},
        In{.flags = flag::syn, .seq = 1}}) {
    kit.deliver(in);
  }
  kit.advance(Duration::seconds(40) - Duration::nanoseconds(1));
  EXPECT_EQ(kit.state(), State::time_wait);
  kit.advance(Duration::nanoseconds(1));
  EXPECT_EQ(kit.state(), State::closed);
}

//= rfc9293#3.10.7.4
//= type=test
//# 9293:P-DATA-AFTER-FIN, 9293:P-URG-AFTERFIN data and URG are ignored
TEST(TimeWait, IgnoresDataAndUrgency) {
  Kit kit;
  kit.socket_in(State::time_wait);
  kit.events.clear();
  EXPECT_EQ(kit.drop_of(
                {.flags = flag::ack | flag::urg, .seq = 2, .ack = 2, .data = "data", .urgent = 4}),
            Drop::tcp_data_after_fin);
  EXPECT_EQ(kit.drop_of({.flags = flag::ack | flag::urg, .seq = 2, .ack = 2, .urgent = 4}),
            Drop::tcp_time_wait_other);
  EXPECT_EQ(kit.sent(), "");
  EXPECT_TRUE(kit.events.empty());
}

//= rfc9293#3.5.2
//= type=test
//# 9293:P-RST-GRP3 a wrong number or an unacceptable ACK causes an ACK here as well
TEST(TimeWait, AnswersUnacceptableSegments) {
  Kit kit;
  kit.socket_in(State::time_wait);
  EXPECT_EQ(kit.drop_of({.flags = flag::ack, .seq = 100'000, .ack = 2}), Drop::tcp_out_of_window);
  EXPECT_EQ(kit.drop_of({.flags = flag::ack, .seq = 2, .ack = 3}), Drop::tcp_ack_of_unsent);
  EXPECT_EQ(kit.drop_of({.flags = flag::ack, .seq = 2, .ack = 2u - 65536}), Drop::tcp_ack_too_old);
  EXPECT_EQ(kit.sent(), "A 2(0) ack 2; A 2(0) ack 2; A 2(0) ack 2");
  EXPECT_EQ(kit.drop_of({.flags = flag::ack, .seq = 2, .ack = 2u - 65535}),
            Drop::tcp_time_wait_other);
  EXPECT_EQ(kit.drop_of({.flags = flag::none, .seq = 2, .data = "x"}), Drop::tcp_no_ack);
  EXPECT_EQ(kit.sent(), "");
}

//= rfc9293#3.10.7.4
//= type=test
//# 9293:P-RST-CLOSING a valid reset ends it if Config permits
TEST(TimeWait, Reset) {
  Kit kit;
  kit.socket_in(State::time_wait);
  EXPECT_EQ(kit.drop_of({.flags = flag::rst, .seq = 1}), Drop::tcp_reset_outside);
  EXPECT_EQ(kit.drop_of({.flags = flag::rst, .seq = 3}), Drop::tcp_reset_challenged);
  EXPECT_EQ(kit.sent(), "A 2(0) ack 2");
  EXPECT_EQ(kit.state(), State::time_wait);
  kit.deliver({.flags = flag::rst, .seq = 2});
  EXPECT_EQ(kit.state(), State::closed);

  Config config = kit_config();
  config.tcp.time_wait_ignores_reset = true;
  Kit stays(config);
  stays.socket_in(State::time_wait);
  EXPECT_EQ(stays.drop_of({.flags = flag::rst, .seq = 2}), Drop::tcp_reset_time_wait);
  EXPECT_EQ(stays.state(), State::time_wait);
}

// A timestamp counts only if its segment is in the window: a forged one would make all later
// segments of the peer look old, in particular its next SYN.
//= rfc7323#5.3
//= type=test
//# 7323:TS-45, 7323:TS-46 an unacceptable segment does not update TS.Recent
TEST(TimeWait, IgnoresStampsOutsideTheWindow) {
  for (bool const outside : {true, false}) {
    Kit kit(bare_config());
    kit.stamp = 1000;
    kit.socket_in(State::time_wait);
    kit.stamp = 2'000'000'000;
    EXPECT_EQ(kit.drop_of({.flags = flag::ack, .seq = outside ? 0xc000'0000u : 2u, .ack = 2}),
              outside ? Drop::tcp_out_of_window : Drop::tcp_time_wait_other);
    kit.stamp = 3300;
    kit.deliver({.flags = flag::syn, .seq = 500'000, .mss = 1460});
    EXPECT_EQ(kit.state(), outside ? State::syn_received : State::time_wait);
  }
}

// Nor does it count with an ACK of data never sent, as in any other state.
//= rfc7323#5.3
//= type=test
//# 7323:TS-46 without a valid ACK TS.Recent is not updated
TEST(TimeWait, IgnoresStampsWithAForgedAck) {
  for (Flags const flags : {flag::ack, flag::psh}) {
    Kit kit(bare_config());
    kit.stamp = 1000;
    kit.socket_in(State::time_wait);
    kit.stamp = 2'000'000'000;
    EXPECT_EQ(kit.drop_of({.flags = flags, .seq = 2, .ack = 500'000}),
              flags.ack() ? Drop::tcp_ack_of_unsent : Drop::tcp_no_ack);
    kit.stamp = 3300;
    kit.deliver({.flags = flag::syn, .seq = 500'000, .mss = 1460});
    EXPECT_EQ(kit.state(), State::syn_received);
  }
}

//= rfc9293#3.6.1
//= type=test
//# 9293:MAY-2, 9293:P-TW-REUSE-ISN a later SYN reopens it; our new ISN is above the old SND.NXT
TEST(TimeWait, ReopenedByALaterSyn) {
  Config config = kit_config();
  config.tcp.send_buffer = Bytes{1u << 22};
  config.tcp.blocks_max = Count{4096};
  Kit kit(config);
  kit.accept_connection(1460, 65535);
  // Sends so much and so fast that the ISN clock falls behind SND.NXT.
  std::string const data(1'000'000, 'x');
  ASSERT_EQ(kit.stack.write(kit.id, Kit::bytes_of(data)).bytes.count, data.size());
  ASSERT_EQ(kit.stack.finish(kit.id), Refusal::none);
  kit.turn();
  for (std::uint32_t acked = 1; acked < data.size();) {
    for (Out const& out : kit.take()) {
      acked = std::max(acked, out.seq + static_cast<std::uint32_t>(out.data.size()));
    }
    kit.deliver({.flags = flag::ack, .seq = 1, .ack = acked});
  }
  kit.deliver({.flags = flag::fin | flag::ack, .seq = 1, .ack = 1'000'002});
  ASSERT_EQ(kit.state(), State::time_wait);
  static_cast<void>(kit.take());
  Sequence const old_nxt = kit.device_iss + Bytes{1'000'002};
  // RCV.NXT was never used, but the RFC requires a number above it.
  kit.deliver({.flags = flag::syn, .seq = 2, .mss = 1460});
  EXPECT_EQ(kit.state(), State::time_wait);
  static_cast<void>(kit.take());
  kit.deliver({.flags = flag::syn, .seq = 3, .mss = 1460});
  EXPECT_EQ(kit.state(), State::syn_received);
  auto const out = kit.take();
  ASSERT_EQ(out.size(), 1u);
  EXPECT_TRUE(out[0].absolute.after(old_nxt));
  kit.deliver({.flags = flag::ack, .seq = 4, .ack = 1});
  EXPECT_EQ(kit.state(), State::established);
  kit.advance(Duration::seconds(1000));
  EXPECT_EQ(kit.state(), State::established);
}

TEST(TimeWait, NotReopenedIfOffOrWithoutListener) {
  Config config = kit_config();
  config.tcp.time_wait_reuse = false;
  Kit kit(config);
  kit.socket_in(State::time_wait);
  EXPECT_EQ(kit.drop_of({.flags = flag::syn, .seq = 100, .mss = 1460}), Drop::tcp_syn_challenged);
  EXPECT_EQ(kit.drop_of({.flags = flag::syn, .seq = 100'000, .mss = 1460}),
            Drop::tcp_out_of_window);
  EXPECT_EQ(kit.sent(), "A 2(0) ack 2; A 2(0) ack 2");
  EXPECT_EQ(kit.state(), State::time_wait);

  config.tcp.time_wait_reuse = true;
  config.tcp.listeners_max = Count{1};
  Kit deaf(config);
  ListenerId listener;
  Local local;
  local.port = {Kit::device_port};
  ASSERT_EQ(deaf.stack.listen(local, Backlog{}, listener), Refusal::none);
  deaf.deliver({.flags = flag::syn, .mss = 1460});
  deaf.deliver({.flags = flag::ack, .seq = 1, .ack = 1});
  ASSERT_EQ(deaf.stack.unlisten(listener), Refusal::none);
  ASSERT_EQ(deaf.stack.finish(deaf.id), Refusal::none);
  deaf.turn();
  deaf.deliver({.flags = flag::fin | flag::ack, .seq = 1, .ack = 2});
  ASSERT_EQ(deaf.state(), State::time_wait);
  deaf.deliver({.flags = flag::syn, .seq = 100, .mss = 1460});
  EXPECT_EQ(deaf.state(), State::time_wait);
}

//= rfc9293#3.6.1
//= type=test
//# 9293:P-TW-REUSE-DUP the SYN was an old duplicate: back to TIME-WAIT for its remaining time
TEST(TimeWait, ResumesAfterAnOldDuplicateSyn) {
  Kit kit;
  kit.socket_in(State::time_wait);
  kit.advance(Duration::seconds(100));
  kit.deliver({.flags = flag::syn, .seq = 1000, .mss = 1460});
  ASSERT_EQ(kit.state(), State::syn_received);
  static_cast<void>(kit.take());
  kit.deliver({.flags = flag::rst, .seq = 1001});
  EXPECT_EQ(kit.state(), State::time_wait);
  EXPECT_EQ(kit.sent(), "");
  kit.advance(Duration::seconds(140) - Duration::nanoseconds(1));
  EXPECT_EQ(kit.state(), State::time_wait);
  kit.advance(Duration::nanoseconds(1));
  EXPECT_EQ(kit.state(), State::closed);
}

// The SYN-ACK is unanswered for longer than the remaining TIME-WAIT: it resumes and ends at once.
TEST(TimeWait, ResumesTooLateAndEnds) {
  Kit kit;
  kit.socket_in(State::time_wait);
  kit.advance(Duration::seconds(239));
  kit.deliver({.flags = flag::syn, .seq = 1000, .mss = 1460});
  kit.advance(Duration::seconds(100));
  EXPECT_EQ(kit.state(), State::syn_received);
  kit.advance(Duration::seconds(80));
  EXPECT_EQ(kit.state(), State::closed);
  EXPECT_TRUE(kit.stack.deadline().is_never());
}

TEST(TimeWait, ResumesIfTheNewConnectionFails) {
  Kit kit;
  kit.socket_in(State::time_wait);
  Open open;
  open.remote = {kit.peer, {9}};
  ConnectionId id;
  while (kit.stack.connect(open, id) == Refusal::none) {
  }
  EXPECT_EQ(kit.drop_of({.flags = flag::syn, .seq = 1000, .mss = 1460}),
            Drop::tcp_connections_full);
  EXPECT_EQ(kit.state(), State::time_wait);
}

// Bounded: the oldest record is evicted and counted.
TEST(TimeWait, TheOldestIsEvicted) {
  Config config = kit_config();
  config.tcp.time_wait_max = Count{1};
  Kit kit(config);
  kit.socket_in(State::time_wait);
  IpAddress const first = kit.peer;
  kit.peer = IpAddress::v4(10, 0, 0, 3);
  kit.deliver({.flags = flag::syn, .mss = 1460});
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1});
  ASSERT_EQ(kit.stack.finish(kit.id), Refusal::none);
  kit.turn();
  kit.deliver({.flags = flag::fin | flag::ack, .seq = 1, .ack = 2});
  EXPECT_EQ(kit.state(), State::time_wait);
  kit.peer = first;
  EXPECT_EQ(kit.state(), State::closed);
  EXPECT_EQ(kit.stack.statistics().tcp.time_wait_evicted, 1u);
}

// Data unread when TIME-WAIT begins stays readable, and `closed` waits.
TEST(TimeWait, UnreadDataOutlivesTheConnection) {
  Kit kit;
  kit.auto_consume = false;
  kit.socket_in(State::fin_wait_2);
  kit.deliver({.flags = flag::fin | flag::ack, .seq = 1, .ack = 2, .data = "the end"});
  ASSERT_EQ(kit.state(), State::time_wait);
  EXPECT_FALSE(kit.notified(EventKind::closed));
  kit.advance(Duration::seconds(300));
  EXPECT_EQ(kit.state(), State::closed);
  EXPECT_EQ(kit.read(kit.id), "the end");
  kit.turn();
  EXPECT_TRUE(kit.notified(EventKind::closed, Cause::finished));
  EXPECT_FALSE(kit.info().exists);
}

}  // namespace
}  // namespace lockstep::testing
