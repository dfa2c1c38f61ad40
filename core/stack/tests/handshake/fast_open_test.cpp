// Fast Open (RFC 7413), the server: cookies, data on SYNs, and limits.
#include <gtest/gtest.h>

#include "core/stack/testing/fast_open_kit.hpp"

namespace lockstep::testing {
namespace {

// A server and its clients.
class FastServer : public Kit {
 public:
  explicit FastServer(const Config& config = fast_config(), Count limit = Count{8}) : Kit(config) {
    Local local;
    local.port = {device_port};
    EXPECT_EQ(stack.listen(local, Backlog{.fast_open = limit}, listener), Refusal::none);
  }

  // The cookie for this peer, requested by a SYN that a reset then ends.
  wire::Options ask() {
    deliver({.flags = flag::syn, .mss = 1000, .options = request()});
    Out const answer = take().at(0);
    deliver({.flags = flag::rst, .seq = 1});
    return cookie_in(answer);
  }
  // A SYN with data, from the given port of the peer.
  void call(const wire::Options& cookie, const std::string& data, std::uint16_t port = peer_port) {
    wire::Segment s;
    s.source = {port};
    s.destination = {device_port};
    s.sequence = peer_iss;
    s.flags = flag::syn;
    s.window = {65535};
    s.options = cookie;
    s.options.has_mss = true;
    s.options.mss = 1000;
    send_segment(s, data);
    turn();
  }
  std::uint64_t taken() const { return stack.statistics().tcp.fast_opens_taken; }
  std::uint64_t refused() const { return stack.statistics().tcp.fast_opens_refused; }

  ListenerId listener;
};

//= rfc7413#4.1.2
//= type=test
//# 7413:TFO-4 a MAC over the client's address
TEST(FastOpenServer, GivesEachAddressItsCookie) {
  FastServer kit;
  wire::Options const mine = kit.ask();
  EXPECT_TRUE(mine.has_fast_open);
  EXPECT_EQ(mine.cookie_bytes, 8);
  EXPECT_EQ(kit.ask(), mine);
  kit.peer = IpAddress::v4(10, 0, 0, 3);
  EXPECT_NE(kit.ask(), mine);
  Config other = fast_config();
  other.tcp.fast_open_key.first ^= 1;
  FastServer secretive(other);
  EXPECT_NE(secretive.ask(), mine);
}

//= rfc7413#4.2.2
//= type=test
//# 7413:TFO-13 the data is reported and acknowledged with the SYN
TEST(FastOpenServer, AcceptsDataOfTheSyn) {
  FastServer kit;
  wire::Options const cookie = kit.ask();
  kit.call(cookie, "question");
  EXPECT_EQ(kit.state(), State::syn_received);
  EXPECT_TRUE(kit.notified(EventKind::accepted));
  EXPECT_EQ(kit.received, "question");
  EXPECT_TRUE(kit.info().options.fast_open);
  Out const answer = kit.take().at(0);
  EXPECT_EQ(line(answer), "SA 0(0) ack 9");
  EXPECT_FALSE(answer.options.has_fast_open);
  kit.events.clear();
  kit.deliver({.flags = flag::ack, .seq = 9, .ack = 1});
  EXPECT_EQ(kit.state(), State::established);
  EXPECT_FALSE(kit.notified(EventKind::accepted));
  EXPECT_FALSE(kit.notified(EventKind::received));
  EXPECT_EQ(kit.sent(), "");
  kit.deliver({.flags = flag::ack, .seq = 9, .ack = 1, .data = " more"});
  EXPECT_EQ(kit.received, "question more");
}

// The application refuses the client at once, before the SYN-ACK has left: in SYN-SENT the client
// accepts only a reset that acknowledges its SYN.
TEST(FastOpenServer, RefusesAtOnceWithAResetThatTheClientAccepts) {
  for (bool const unread : {false, true}) {
    FastServer kit;
    wire::Options const cookie = kit.ask();
    kit.auto_consume = false;
    kit.on_event = [&](const Event& event) {
      if (event.kind == EventKind::accepted && unread) {
        EXPECT_EQ(kit.stack.close(event.id), Refusal::none);
      } else if (event.kind == EventKind::accepted) {
        kit.stack.abort(event.id);
      }
    };
    kit.call(cookie, "question");
    EXPECT_EQ(kit.sent(), "RA 0(0) ack 9") << unread;
  }
}

//= rfc7413#4.2.2
//= type=test
//# 7413:TFO-16 before the last ACK at most an initial window
TEST(FastOpenServer, AnswersBeforeTheThirdSegment) {
  FastServer kit;
  wire::Options const cookie = kit.ask();
  std::string const answer(9000, 'a');
  kit.on_event = [&](const Event& event) {
    if (event.kind == EventKind::received) {
      EXPECT_EQ(kit.stack.write(event.id, Kit::bytes_of(answer), More::no).bytes.count, 9000u);
    }
  };
  kit.call(cookie, "question");
  EXPECT_EQ(kit.state(), State::syn_received);
  // The SYN and three of four segments: the window includes the SYN.
  EXPECT_EQ(kit.sent(), "SA 0(0) ack 9; A 1(1000) ack 9; A 1001(1000) ack 9; A 2001(1000) ack 9");
  kit.deliver({.flags = flag::ack, .seq = 9, .ack = 1001});
  EXPECT_EQ(kit.state(), State::established);
  EXPECT_EQ(kit.info().send.una - Bytes{1001}, kit.device_iss);
  EXPECT_EQ(kit.sent(), "A 3001(1000) ack 9; A 4001(1000) ack 9");
  kit.advance(kit.info().rto);
  EXPECT_EQ(kit.sent(), "A 1001(1000) ack 9");
}

// The ACK that completes the handshake may cover early data: the controller starts after it, and no
// mark of earlier data remains.
TEST(FastOpenServer, LeavesNoMarksOfEarlyData) {
  Config config = fast_config();
  config.tcp.rate_samples = true;
  FastServer kit(config);
  wire::Options const cookie = kit.ask();
  kit.on_event = [&](const Event& event) {
    if (event.kind == EventKind::received) {
      EXPECT_EQ(kit.stack.write(event.id, Kit::bytes_of("answer"), More::no).bytes.count, 6u);
    }
  };
  kit.call(cookie, "question");
  EXPECT_EQ(kit.sent(), "SA 0(0) ack 9; PA 1(6) ack 9");
  kit.deliver({.flags = flag::ack, .seq = 9, .ack = 7});
  EXPECT_EQ(kit.state(), State::established);
  kit.stack.check_invariants();
}

// A short response is sent although the SYN-ACK is in flight (no Nagle), and a close waits.
TEST(FastOpenServer, FinishesAfterTheHandshake) {
  FastServer kit;
  wire::Options const cookie = kit.ask();
  kit.on_event = [&](const Event& event) {
    if (event.kind == EventKind::received) {
      EXPECT_EQ(kit.stack.write(event.id, Kit::bytes_of("yes"), More::no).bytes.count, 3u);
      EXPECT_EQ(kit.stack.finish(event.id), Refusal::none);
    }
  };
  kit.call(cookie, "question");
  EXPECT_EQ(kit.sent(), "SA 0(0) ack 9; PA 1(3) ack 9");
  kit.deliver({.flags = flag::ack, .seq = 9, .ack = 4});
  EXPECT_EQ(kit.state(), State::fin_wait_1);
  EXPECT_EQ(kit.sent(), "FA 4(0) ack 9");
}

//= rfc7413#4.2.2
//= type=test
//# 7413:TFO-14 only the SYN is acknowledged, and the data is dropped
TEST(FastOpenServer, RefusesAForgedCookie) {
  FastServer kit;
  wire::Options const cookie = kit.ask();
  wire::Options forged = cookie;
  forged.cookie[3] ^= 1;
  wire::Options shorter = cookie;
  shorter.cookie_bytes = 6;
  shorter.cookie[6] = shorter.cookie[7] = 0;
  for (wire::Options const& bad : {forged, shorter, request()}) {
    kit.call(bad, "question");
    Out const answer = kit.take().at(0);
    EXPECT_EQ(line(answer), "SA 0(0) ack 1");
    EXPECT_EQ(cookie_in(answer), cookie);  // the answer has a valid one
    EXPECT_FALSE(kit.notified(EventKind::accepted));
    kit.deliver({.flags = flag::rst, .seq = 1});
  }
  EXPECT_EQ(kit.taken(), 0u);
  EXPECT_EQ(kit.refused(), 3u);
  kit.call(forged, "question");
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1, .data = "Question"});
  EXPECT_EQ(kit.received, "Question");
  // A cookie of another address is invalid, too.
  kit.peer = IpAddress::v4(10, 0, 0, 3);
  kit.take();
  kit.call(cookie, "question");
  EXPECT_EQ(kit.sent(), "SA 0(0) ack 1");
}

//= rfc7413#4.1.2
//= type=test
//# 7413:TFO-4 a cookie expires: valid for one to two time steps
TEST(FastOpenServer, LetsCookiesExpire) {
  Config config = fast_config();
  config.tcp.fast_open_rotation = Duration::seconds(100);
  FastServer kit(config);  // at 1000 s a step begins
  wire::Options const cookie = kit.ask();
  kit.advance(Duration::seconds(100));
  kit.call(cookie, "question");
  Out const answer = kit.take().at(0);
  EXPECT_EQ(line(answer), "SA 0(0) ack 9");
  EXPECT_TRUE(answer.options.has_fast_open);
  EXPECT_NE(cookie_in(answer), cookie);
  kit.deliver({.flags = flag::rst, .seq = 9});
  kit.advance(Duration::seconds(100));
  kit.call(cookie, "question");
  EXPECT_EQ(kit.sent(), "SA 0(0) ack 1");
}

//= rfc7413#4.2
//= type=test
//# 7413:TFO-2 off by default: the option is ignored
//= rfc7413#6.1
//= type=test
//# 7413:TFO-20 no connection opens fast unless the application asked for it
TEST(FastOpenServer, IsOffUnlessAskedFor) {
  FastServer on;
  wire::Options const cookie = on.ask();
  Kit off(fast_config());
  off.listen();
  off.deliver({.flags = flag::syn, .data = "question", .mss = 1000, .options = cookie});
  Out const answer = off.take().at(0);
  EXPECT_EQ(line(answer), "SA 0(0) ack 1");
  EXPECT_FALSE(answer.options.has_fast_open);
  EXPECT_FALSE(off.notified(EventKind::accepted));
  // Data on a SYN waits for the handshake, as without Fast Open.
  off.deliver({.flags = flag::ack, .seq = 9, .ack = 1});
  EXPECT_EQ(off.received, "question");
  Kit never(flow_config());
  ListenerId listener;
  Local local;
  local.port = {80};
  EXPECT_EQ(never.stack.listen(local, Backlog{.fast_open = Count{1}}, listener),
            Refusal::switched_off);
  Open open;
  open.remote = {never.peer, {5000}};
  open.fast_open = true;
  EXPECT_EQ(never.stack.connect(open, never.id), Refusal::switched_off);
}

//= rfc7413#4.2
//= type=test
//# 7413:TFO-9 above the limit of pending ones no SYN opens fast
TEST(FastOpenServer, LimitsAFloodWithValidCookies) {
  FastServer kit(fast_config(), Count{3});
  wire::Options const cookie = kit.ask();
  for (std::uint16_t port = 6000; port < 6040; ++port) {
    kit.call(cookie, "question", port);
  }
  EXPECT_EQ(kit.taken(), 3u);
  EXPECT_EQ(kit.refused(), 37u);
  // The others are normal opens: within the backlog, and without data.
  auto const out = kit.take();
  ASSERT_EQ(out.size(), 40u);
  EXPECT_EQ(line(out[2]), "SA 0(0) ack 9");
  EXPECT_EQ(line(out[3]), "SA 0(0) ack 1");
  // One handshake completes: there is space for one more.
  wire::Segment ack;
  ack.source = {6000};
  ack.destination = {Kit::device_port};
  ack.sequence = kit.peer_iss + Bytes{9};
  ack.acknowledgment = out[0].absolute.next();
  ack.flags = flag::ack;
  ack.window = {65535};
  kit.send_segment(ack, "");
  kit.turn();
  kit.call(cookie, "question", 7000);
  kit.call(cookie, "question", 7001);
  EXPECT_EQ(kit.taken(), 4u);
}

// RFC 7413 5.1: resets from a host whose cookie was stolen make no space for the next SYN.
TEST(FastOpenServer, CountsResetAttempts) {
  FastServer kit(fast_config(), Count{2});
  wire::Options const cookie = kit.ask();
  for (int i = 0; i < 5; ++i) {
    kit.call(cookie, "question");
    kit.deliver({.flags = flag::rst, .seq = i < 2 ? 9u : 1u});
    EXPECT_EQ(kit.state(), State::closed);
  }
  EXPECT_EQ(kit.taken(), 2u);
  EXPECT_TRUE(kit.notified(EventKind::closed, Cause::reset));
  kit.advance(Duration::seconds(60));
  kit.call(cookie, "question");
  EXPECT_EQ(kit.taken(), 3u);
}

// Data in a reset is ignored.
TEST(FastOpenServer, IgnoresDataOfAReset) {
  FastServer kit;
  wire::Options const cookie = kit.ask();
  kit.call(cookie, "question");
  kit.deliver({.flags = flag::rst | flag::ack, .seq = 9, .ack = 1, .data = "more"});
  EXPECT_EQ(kit.received, "question");
  EXPECT_TRUE(kit.notified(EventKind::closed, Cause::reset));
  kit.events.clear();
  kit.received.clear();
  kit.deliver({.flags = flag::syn | flag::rst, .data = "question", .options = cookie});
  EXPECT_EQ(kit.received, "");
  EXPECT_FALSE(kit.notified(EventKind::accepted));
}

//= rfc7413#4.2.2
//= type=test
//# 7413:TFO-17 a retransmitted SYN-ACK has neither data nor option
//= rfc7413#4.2.1
//= type=test
//# 7413:TFO-10 nor a requested cookie
TEST(FastOpenServer, RetransmitsAPlainSynAck) {
  FastServer kit;
  wire::Options const cookie = kit.ask();
  kit.call(cookie, "question");
  ASSERT_EQ(kit.stack.write(kit.id, Kit::bytes_of("answer"), More::no).bytes.count, 6u);
  kit.turn();
  EXPECT_EQ(kit.sent(), "SA 0(0) ack 9; PA 1(6) ack 9");
  kit.advance(Duration::seconds(1));
  EXPECT_EQ(kit.sent(), "SA 0(0) ack 9");
  // Its ACK does not acknowledge our response, which is retransmitted.
  kit.deliver({.flags = flag::ack, .seq = 9, .ack = 1});
  EXPECT_EQ(kit.sent(), "PA 1(6) ack 9");
  kit.deliver({.flags = flag::ack, .seq = 9, .ack = 7});
  EXPECT_EQ(kit.state(), State::established);
  FastServer other;
  other.deliver({.flags = flag::syn, .mss = 1000, .options = request()});
  EXPECT_TRUE(other.take().at(0).options.has_fast_open);
  other.advance(Duration::seconds(1));
  EXPECT_FALSE(other.take().at(0).options.has_fast_open);
}

// The cost of saving a round trip: a repeated SYN after its connection is gone opens a new one (RFC
// 7413 2.1), which is why the application has to ask for Fast Open.
TEST(FastOpenServer, AcceptsARepeatedSynAsNew) {
  FastServer kit;
  wire::Options const cookie = kit.ask();
  kit.call(cookie, "question");
  kit.call(cookie, "question");  // the connection still exists: a duplicate
  EXPECT_EQ(kit.received, "question");
  kit.stack.abort(kit.id);
  kit.turn();
  kit.call(cookie, "question");
  EXPECT_EQ(kit.received, "questionquestion");
}

TEST(FastOpenServer, AnswersWithOneRecordASegment) {
  FastServer kit;
  wire::Options const cookie = kit.ask();
  kit.on_event = [&](const Event& event) {
    if (event.kind == EventKind::received) {
      for (const char* const each : {"one", "two"}) {
        EXPECT_EQ(kit.stack.write(event.id, Kit::bytes_of(each), More::record).bytes.count, 3u);
      }
    }
  };
  kit.call(cookie, "question");
  EXPECT_EQ(kit.sent(), "SA 0(0) ack 9; PA 1(3) ack 9; PA 4(3) ack 9");
}

//= rfc7413#4.1.1
//= type=test
//# 7413:TFO-3 on a segment that is not a SYN it is ignored
TEST(FastOpenServer, ProcessesSynsOnly) {
  FastServer kit;
  wire::Options const cookie = kit.ask();
  kit.call(cookie, "question");
  kit.take();
  kit.deliver({.flags = flag::ack, .seq = 9, .ack = 1, .data = "more", .options = request()});
  EXPECT_EQ(kit.received, "questionmore");
  kit.advance(Duration::milliseconds(500));
  EXPECT_FALSE(kit.take().at(0).options.has_fast_open);
}

}  // namespace
}  // namespace lockstep::testing
