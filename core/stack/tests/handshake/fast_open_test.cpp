// Fast Open (RFC 7413), both sides: cookies, data on SYNs, limits, and fallback to a plain SYN.
#include <gtest/gtest.h>

#include "core/stack/testing/sender_kit.hpp"
#include "core/stack/testing/six_kit.hpp"

namespace lockstep::testing {
namespace {

Config fast_config() {
  Config config = flow_config();
  config.tcp.fast_open_server = true;
  config.tcp.fast_open_client = true;
  return config;
}

wire::Options request() {
  wire::Options options;
  options.has_fast_open = true;
  return options;
}

wire::Options cookie_in(const Out& out) {
  wire::Options options;
  options.has_fast_open = out.options.has_fast_open;
  options.cookie_bytes = out.options.cookie_bytes;
  options.cookie = out.options.cookie;
  return options;
}

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

// A client, and the server played by its peer.
class FastClient : public Kit {
 public:
  explicit FastClient(const Config& config = fast_config()) : Kit(config) {}
  void call(const std::string& data, std::uint16_t port = peer_port) {
    Open open;
    open.local = {device, {device_port}};
    open.remote = {peer, {port}};
    open.fast_open = true;
    EXPECT_EQ(stack.connect(open, id), Refusal::none);
    if (!data.empty()) {
      EXPECT_EQ(stack.write(id, bytes_of(data), More::no).bytes.count, data.size());
    }
    turn();
  }
  static wire::Options cookie(std::uint8_t value = 7) {
    wire::Options options = request();
    options.cookie_bytes = 4;
    options.cookie[0] = value;
    return options;
  }
  void answer(std::uint32_t ack, const wire::Options& options = {}, std::uint16_t mss = 1000) {
    deliver({.flags = flag::syn | flag::ack, .ack = ack, .mss = mss, .options = options});
  }
  void part() {
    stack.abort(id);
    turn();
    take();
  }
  // A connection that obtains a cookie.
  void learn(std::uint16_t mss = 1000) {
    call("");
    answer(1, cookie(), mss);
    part();
  }
};

//= rfc7413#4.2.1
//= type=test
//# 7413:TFO-1 a cookie is requested before any data is sent with a SYN
//= rfc7413#4.1.3
//= type=test
//# 7413:TFO-5 and stored for this server
//= rfc7413#4.2.2
//= type=test
//# 7413:TFO-11 then the SYN carries cookie and data, and SND.NXT includes it
TEST(FastOpenClient, AsksFirstAndThenOpensFast) {
  FastClient kit;
  kit.call("question");
  Out const first = kit.take().at(0);
  EXPECT_EQ(line(first), "S 0(0)");
  EXPECT_EQ(cookie_in(first), request());
  kit.answer(1, FastClient::cookie());
  EXPECT_EQ(kit.sent(), "PA 1(8) ack 1");
  kit.part();
  kit.call("question");
  Out const second = kit.take().at(0);
  EXPECT_EQ(line(second), "SP 0(8)");
  EXPECT_EQ(second.data, "question");
  EXPECT_EQ(cookie_in(second), FastClient::cookie());
  EXPECT_EQ(kit.info().send.nxt, kit.device_iss + Bytes{9});
  kit.answer(9);
  EXPECT_EQ(kit.state(), State::established);
  EXPECT_EQ(kit.sent(), "A 9(0) ack 1");
  EXPECT_TRUE(kit.notified(EventKind::acknowledged));
  kit.part();
  // A cookie for another server is requested separately.
  kit.peer = IpAddress::v4(10, 0, 0, 3);
  kit.call("question");
  EXPECT_EQ(cookie_in(kit.take().at(0)), request());
}

//= rfc7413#4.2.2
//= type=test
//# 7413:TFO-18 data not covered by the SYN-ACK is retransmitted with the first ACK
//# 7413:TFO-19 and a cookie in it replaces the old one
TEST(FastOpenClient, SendsRefusedDataWithItsFirstAck) {
  for (bool const selective : {false, true}) {
    Config config = fast_config();
    config.tcp.sack = config.tcp.rack = selective;
    FastClient kit(config);
    kit.learn();
    kit.call("question");
    EXPECT_EQ(kit.sent(), "SP 0(8)");
    wire::Options fresh = FastClient::cookie(9);
    fresh.has_sack_permitted = selective;
    kit.answer(1, fresh);
    EXPECT_EQ(kit.sent(), "PA 1(8) ack 1");
    EXPECT_EQ(kit.info().retransmissions, 1u);
    kit.deliver({.flags = flag::ack, .seq = 1, .ack = 9});
    EXPECT_EQ(kit.info().send.una, kit.info().send.nxt);
    kit.part();
    kit.call("question");
    EXPECT_EQ(cookie_in(kit.take().at(0)), FastClient::cookie(9));
  }
}

//= rfc7413#4.2.2
//= type=test
//# 7413:TFO-18 the part not covered by the SYN-ACK is retransmitted as far as its window permits
//= rfc7323#2.4
//= type=test
//# 7323:TS-38 data of a SYN was never in a window that has shrunk since
TEST(FastOpenClient, SendsRefusedDataWithinTheFirstWindow) {
  for (bool const selective : {false, true}) {
    Config config = fast_config();
    config.tcp.window_scale = true;
    config.tcp.sack = config.tcp.rack = selective;
    FastClient kit(config);
    kit.learn();
    kit.call("question");
    EXPECT_EQ(kit.sent(), "SP 0(8)");
    wire::Options options;
    options.has_window_scale = true;
    options.window_scale.shift = 14;
    options.has_sack_permitted = selective;
    kit.deliver(
        {.flags = flag::syn | flag::ack, .ack = 2, .window = 3, .mss = 1000, .options = options});
    EXPECT_EQ(kit.sent(), "A 2(3) ack 1");
  }
}

//= rfc7413#4.2.2
//= type=test
//# 7413:TFO-12 a retransmitted SYN is plain
//= rfc7413#4.1.3.1
//= type=test
//# 7413:TFO-7 a missing answer is stored
//# 7413:TFO-8 so Fast Open is not used for this path and port for a while
TEST(FastOpenClient, FallsBackToAPlainSyn) {
  FastClient kit;
  kit.learn();
  kit.call("question");
  EXPECT_EQ(kit.sent(), "SP 0(8)");
  kit.advance(Duration::seconds(1));
  Out const again = kit.take().at(0);
  EXPECT_EQ(line(again), "S 0(0)");
  EXPECT_FALSE(again.options.has_fast_open);
  kit.answer(1);
  EXPECT_EQ(kit.sent(), "PA 1(8) ack 1");
  kit.part();
  kit.call("question");
  Out const wary = kit.take().at(0);
  EXPECT_EQ(line(wary), "S 0(0)");
  EXPECT_FALSE(wary.options.has_fast_open);
  kit.part();
  kit.call("question", 5001);
  EXPECT_EQ(kit.sent(), "SP 0(8)");
  kit.part();
  kit.advance(fast_config().tcp.fast_open_retry);
  kit.call("question");
  EXPECT_EQ(kit.sent(), "SP 0(8)");
}

//= rfc7413#4.1.3.1
//= type=test
//# 7413:TFO-7 data that was not acknowledged, and errors, are stored, too
TEST(FastOpenClient, RemembersRefusalsAndErrors) {
  FastClient refused;
  refused.learn();
  refused.call("question");
  refused.answer(1);  // no new cookie
  refused.part();
  refused.call("question");
  EXPECT_FALSE(refused.take().at(0).options.has_fast_open);
  FastClient error;
  error.learn();
  error.call("question");
  error.send_icmp(wire::IcmpType::unreachable, 1, error.take().at(0));
  error.turn();
  error.part();
  error.call("question");
  EXPECT_FALSE(error.take().at(0).options.has_fast_open);
}

// A box that resets SYNs with data: the next open does without it. A reset of a SYN without data
// says nothing of Fast Open.
//= rfc7413#4.1.3.1
//= type=test
//# 7413:TFO-7 a reset of a SYN with data is stored
TEST(FastOpenClient, RemembersAReset) {
  FastClient kit;
  kit.learn();
  kit.call("");
  kit.take();
  kit.deliver({.flags = flag::rst | flag::ack, .seq = 0, .ack = 1});
  EXPECT_EQ(kit.state(), State::closed);
  kit.call("question");
  EXPECT_EQ(kit.sent(), "SP 0(8)");
  kit.deliver({.flags = flag::rst | flag::ack, .seq = 0, .ack = 9});
  EXPECT_EQ(kit.state(), State::closed);
  kit.call("question");
  Out const wary = kit.take().at(0);
  EXPECT_EQ(line(wary), "S 0(0)");
  EXPECT_FALSE(wary.options.has_fast_open);
}

// A SYN with data that is too big for the path: the plain SYN follows at once, and the data after
// the handshake, in smaller packets. That is no failure of Fast Open.
//= rfc9293#3.7.2
//= type=test
//# 9293:P-PMTUD the packet that was sent counts, not the segment size of later
//= rfc1191#3
//= type=test
//# 1191:PMTU-1 the estimate is lowered
//# 1191:PMTU-2 by messages with a size below it only
TEST(FastOpenClient, FollowsAPathThatIsTooNarrowForTheSyn) {
  Config config = fast_config();
  config.tcp.path_mtu_discovery = true;
  FastClient kit(config);
  kit.learn(1460);
  kit.call(std::string(3000, 'q'));
  Out const syn = kit.take().at(0);
  ASSERT_EQ(syn.data.size(), 1448u);
  deliver_too_big(kit, syn, 1500);
  EXPECT_EQ(kit.sent(), "");
  EXPECT_EQ(kit.drops(Drop::icmp_mtu_refused), 1u);
  // Two routers, in one burst and later: the first one counts.
  queue_too_big(kit, syn, 1400);
  queue_too_big(kit, syn, 1300);
  kit.turn();
  Out const plain = kit.take().at(0);
  EXPECT_EQ(line(plain), "S 0(0)");
  EXPECT_FALSE(plain.options.has_fast_open);
  deliver_too_big(kit, syn, 1200);
  EXPECT_EQ(kit.sent(), "");
  EXPECT_EQ(kit.drops(Drop::icmp_mtu_refused), 3u);
  EXPECT_EQ(kit.info().retries, 0u);
  kit.answer(1, {}, 1460);
  auto const out = kit.take();
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(line(out[0]), "A 1(1360) ack 1");
  kit.part();
  kit.call(std::string(3000, 'q'));
  EXPECT_EQ(kit.take().at(0).data.size(), 1348u);
}

//= rfc8201#4
//= type=test
//# 8201:PMTU-3 for IPv6 too
TEST(FastOpenClient, FollowsANarrowPathOfIpv6) {
  Config config = fast_config();
  config.tcp.path_mtu_discovery = true;
  config.addresses[0] = {six_device, 64};
  Six six(config);
  auto const call = [&six] {
    Open open;
    open.local = {six_device, {Kit::device_port}};
    open.remote = {six_peer, {Kit::peer_port}};
    open.fast_open = true;
    ASSERT_EQ(six.stack.connect(open, six.id), Refusal::none);
    ASSERT_EQ(six.stack.write(six.id, Kit::bytes_of(std::string(3000, 'q')), More::no).bytes.count,
              3000u);
    six.out.clear();
    six.turn();
  };
  call();
  wire::Segment answer;
  answer.flags = flag::syn | flag::ack;
  answer.acknowledgment = six.next_segment().sequence.next();
  answer.window = {65535};
  answer.options = FastClient::cookie();
  answer.options.has_mss = true;
  answer.options.mss = 1440;
  SixPacket packet;
  packet.payload = segment_octets(answer);
  six.deliver(packet);
  six.stack.abort(six.id);
  six.turn();
  call();
  ASSERT_EQ(six.out.at(0).size(), 1500u);
  Octets const syn = six.out[0];
  six.out.clear();
  SixPacket error;
  error.next = 58;
  error.payload = icmp_octets({wire::Icmp6Type::packet_too_big, 0, 1400, std::span(syn).first(60)},
                              {six_peer, six_device});
  EXPECT_EQ(six.drop_of(error), Drop::none);
  wire::Segment const plain = six.next_segment();
  EXPECT_TRUE(plain.flags.syn());
  EXPECT_TRUE(plain.payload.empty());
}

//= rfc7413#4.2.1
//= type=test
//# 7413:TFO-10 an unanswered request is not retransmitted, nor tried again for a while
TEST(FastOpenClient, AsksOnce) {
  FastClient kit;
  kit.call("question");
  kit.take();
  kit.advance(Duration::seconds(1));
  EXPECT_FALSE(kit.take().at(0).options.has_fast_open);
  kit.part();
  kit.call("question");
  EXPECT_FALSE(kit.take().at(0).options.has_fast_open);
}

//= rfc7413#4.1.3
//= type=test
//# 7413:TFO-6 at most the server's MSS minus the options
TEST(FastOpenClient, FillsNoMoreThanTheServersMss) {
  std::string const data(3000, 'q');
  for (std::uint16_t const mss : {std::uint16_t{1000}, std::uint16_t{0}}) {
    FastClient kit;
    kit.learn(mss);
    kit.call(data);
    Out const syn = kit.take().at(0);
    // MSS, and a cookie of four octets with two of padding.
    EXPECT_EQ(syn.data.size(), (mss == 0 ? 536u : 1000u) - 12u);
    kit.answer(1, FastClient::cookie(), 500);
    auto const out = kit.take();
    ASSERT_GE(out.size(), 2u);
    EXPECT_EQ(line(out[0]), "A 1(500) ack 1");
    EXPECT_EQ(out[1].seq, 501u);
  }
}

// Neither the SYN nor later segments contain data of two records, accepted by the peer or not.
TEST(FastOpenClient, PutsOneRecordIntoTheSyn) {
  for (bool const taken : {true, false}) {
    FastClient kit;
    kit.learn();
    Open open;
    open.local = {kit.device, {Kit::device_port}};
    open.remote = {kit.peer, {Kit::peer_port}};
    open.fast_open = true;
    ASSERT_EQ(kit.stack.connect(open, kit.id), Refusal::none);
    for (const char* const each : {"one", "two"}) {
      EXPECT_EQ(kit.stack.write(kit.id, Kit::bytes_of(each), More::record).bytes.count, 3u);
    }
    kit.turn();
    EXPECT_EQ(kit.sent(), "SP 0(3)");
    kit.answer(taken ? 4 : 1);
    if (!taken) {
      EXPECT_EQ(kit.sent(), "PA 1(3) ack 1");
      kit.deliver({.flags = flag::ack, .seq = 1, .ack = 4});
    }
    EXPECT_EQ(kit.sent(), "PA 4(3) ack 1");
  }
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

// The table is bounded: one entry for one server.
TEST(FastOpenClient, ReplacesOneServerByAnother) {
  Config config = fast_config();
  config.tcp.fast_open_cache_max = Count{1};
  FastClient kit(config);
  kit.learn();
  kit.peer = IpAddress::v4(10, 0, 0, 3);
  kit.learn();
  kit.call("question");
  EXPECT_EQ(kit.sent(), "SP 0(8)");
  kit.part();
  kit.peer = IpAddress::v4(10, 0, 0, 2);
  kit.call("question");
  EXPECT_EQ(kit.sent(), "S 0(0)");
}

//= rfc7413#4.2.2
//= type=test
//# 7413:TFO-11 a SYN without space for the option is plain
TEST(FastOpenClient, HasNoSpaceOnTheSmallestLink) {
  Config config = fast_config();
  set_mtu(config, Bytes{68});
  config.tcp.timestamps = config.tcp.window_scale = config.tcp.sack = true;
  FastClient kit(config);
  wire::Options large = FastClient::cookie();
  large.cookie_bytes = 16;
  kit.call("");
  kit.answer(1, large);
  kit.part();
  kit.call("question");
  Out const syn = kit.take().at(0);
  EXPECT_EQ(line(syn), "S 0(0)");
  EXPECT_FALSE(syn.options.has_fast_open);
}

TEST(FastOpenClient, IsOffUnlessRequested) {
  FastClient kit;
  kit.learn();
  kit.connect();
  EXPECT_FALSE(kit.take().at(0).options.has_fast_open);
}

// The stored cookies are part of the stack's value.
TEST(FastOpenClient, IsInSnapshotsAndFingerprints) {
  FastClient one;
  FastClient two;
  one.learn();
  two.call("");
  two.answer(1);
  two.part();
  EXPECT_NE(one.stack.canonical(one.now), two.stack.canonical(two.now));
  std::vector<std::byte> bytes(one.stack.snapshot_bytes());
  one.stack.snapshot(bytes);
  one.call("question");
  EXPECT_EQ(one.sent(), "SP 0(8)");
  ASSERT_EQ(one.stack.restore(bytes), Refusal::none);
  one.call("question");
  EXPECT_EQ(one.sent(), "SP 0(8)");
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
