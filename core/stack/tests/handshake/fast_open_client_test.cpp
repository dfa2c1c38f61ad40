// Fast Open (RFC 7413), the client: cookies, data on SYNs, and fallback to a plain SYN.
#include <gtest/gtest.h>

#include "core/stack/testing/fast_open_kit.hpp"
#include "core/stack/testing/sender_kit.hpp"
#include "core/stack/testing/six_kit.hpp"

namespace lockstep::testing {
namespace {

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

// A bad ACK, which anybody may forge, does not hasten a SYN with Fast Open: the server would not be
// trusted with it any more.
TEST(FastOpenClient, ABadAckLeavesItToTheTimer) {
  Config config = fast_config();
  config.tcp.syn_after_bad_ack = Duration::milliseconds(2);
  FastClient kit(config);
  kit.learn();
  kit.call("data");
  kit.take();
  kit.deliver({.flags = flag::ack, .seq = 5, .ack = 1000});
  kit.advance(Duration::milliseconds(500));
  EXPECT_EQ(kit.sent(), "R 1000(0)");
  kit.part();
  kit.call("data");
  EXPECT_EQ(kit.take().at(0).options.cookie_bytes, 4);
}

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

}  // namespace
}  // namespace lockstep::testing
