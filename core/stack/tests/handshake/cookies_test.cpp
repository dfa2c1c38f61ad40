// SYN cookies: which clients succeed when the backlog is full, and what an ACK must prove.
#include <gtest/gtest.h>

#include "core/stack/testing/six_kit.hpp"
#include "core/stack/testing/test_kit.hpp"
#include "core/tcp/opening/cookies.hpp"

namespace lockstep::testing {
namespace {

using tcp::SynCookies;

Config cookie_config(SynCookies mode) {
  Config config = kit_config();
  config.tcp.syn_cookies = mode;
  return config;
}

ListenerId listen(Kit& kit, Backlog backlog) {
  Local local;
  local.port = {Kit::device_port};
  ListenerId listener;
  EXPECT_EQ(kit.stack.listen(local, backlog, listener), Refusal::none);
  return listener;
}

// SYNs from hosts that will never answer, one per turn.
void flood(Kit& kit, std::uint32_t count) {
  IpAddress const honest = kit.peer;
  for (std::uint32_t i = 0; i < count; ++i) {
    kit.peer = IpAddress::v4(10, 1, static_cast<std::uint8_t>(i >> 8),
                             static_cast<std::uint8_t>(i & 0xff));
    kit.send({.flags = flag::syn, .mss = 1460});
    kit.turn();
  }
  kit.peer = honest;
  static_cast<void>(kit.take());
}

std::uint32_t connections(Kit& kit) {
  auto const& tcp = kit.stack.statistics().tcp;
  return static_cast<std::uint32_t>(tcp.connections_opened - tcp.connections_closed);
}

//= rfc4987#3.7
//= type=test
//# 4987:SYN-6 records up to the backlog, cookies beyond it
//= rfc4987#3.2
//= type=test
//# 4987:SYN-1 the backlog limits the records of a flood
TEST(Cookies, AdmitAnHonestClientUnderAFlood) {
  for (SynCookies mode : {SynCookies::off, SynCookies::on, SynCookies::always}) {
    Kit kit(cookie_config(mode));
    listen(kit, {Count{4}, Count::unlimited()});
    flood(kit, 500);
    EXPECT_EQ(connections(kit), mode == SynCookies::always ? 0u : 4u);
    kit.deliver({.flags = flag::syn, .mss = 1460});
    if (mode == SynCookies::off) {
      EXPECT_EQ(kit.sent(), "");
      EXPECT_EQ(kit.drops(Drop::tcp_listen_full), 497u);
      continue;
    }
    EXPECT_EQ(kit.stack.state_of(kit.tuple()), State::listen);
    auto const out = kit.take();
    ASSERT_EQ(out.size(), 1u);
    EXPECT_EQ(line(out[0]), "SA 0(0) ack 1");
    EXPECT_EQ(out[0].mss, kit.stack.config().tcp.mss.count);
    EXPECT_EQ(out[0].window, 65535);
    kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1, .window = 4000});
    EXPECT_TRUE(kit.notified(EventKind::accepted));
    EXPECT_EQ(kit.state(), State::established);
    kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1, .data = "hello"});
    EXPECT_EQ(kit.received, "hello");
    kit.write("welcome");
    EXPECT_EQ(kit.take().back().data, "welcome");
    EXPECT_EQ(kit.stack.statistics().tcp.cookies_taken, 1u);
  }
}

// The ACK of a FIN, or of data that the client has read, is not the cookie of another MSS: once the
// connection is gone, a late copy of it opens none.
TEST(Cookies, AnAckOfMoreThanTheCookieOpensNothing) {
  for (std::uint16_t const mss : {std::uint16_t{28}, std::uint16_t{536}, std::uint16_t{1'460}}) {
    for (std::uint32_t beyond = 1; beyond <= 65'536;
         beyond = beyond < 64 ? beyond + 1 : beyond * 2) {
      Kit kit(cookie_config(SynCookies::always));
      kit.listen();
      kit.deliver({.flags = flag::syn, .mss = mss});
      static_cast<void>(kit.take());
      kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1 + beyond});
      ASSERT_EQ(connections(kit), 0u) << mss << " and " << beyond;
      ASSERT_EQ(kit.stack.statistics().tcp.cookies_taken, 0u);
    }
  }
}

//= rfc4987#3.6
//= type=test
//# 4987:SYN-5 the largest MSS of the table up to the SYN's
TEST(Cookies, RememberTheMss) {
  struct Case {
    std::uint16_t named;
    std::uint32_t kept;
  };
  for (Case const c : {Case{1460, 1460},
                       {1459, 1440},
                       {1300, 1220},
                       {536, 536},
                       {0, 536},
                       {535, 256},
                       {28, 28},
                       {1, 28},
                       {65535, 1460}}) {
    Kit kit(cookie_config(SynCookies::always));
    kit.listen();
    kit.deliver({.flags = flag::syn, .mss = c.named});
    kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1, .window = 777});
    ASSERT_EQ(kit.state(), State::established) << c.named;
    EXPECT_EQ(kit.info().send.mss.count, c.kept) << c.named;
    EXPECT_EQ(kit.info().send.wnd.count, 777u);
    EXPECT_EQ(kit.info().receive.irs, kit.peer_iss);
    EXPECT_EQ(kit.info().send.iss, kit.device_iss);
  }
}

//= rfc4987#3.6
//= type=test
//# 4987:SYN-5 the ACK proves tuple and time; others are dropped or reset
TEST(Cookies, VerifyTheSource) {
  Kit kit(cookie_config(SynCookies::always));
  kit.listen();
  kit.deliver({.flags = flag::syn, .mss = 1460});
  static_cast<void>(kit.take());
  // The clock in the number is valid, the hash is not: this may be data before the ACK.
  EXPECT_EQ(kit.drop_of({.flags = flag::ack, .seq = 2, .ack = 1}), Drop::tcp_cookie_unproven);
  EXPECT_EQ(kit.drop_of({.flags = flag::ack, .seq = 1, .ack = 100}), Drop::tcp_cookie_unproven);
  EXPECT_EQ(kit.sent(), "");
  EXPECT_EQ(kit.drop_of({.flags = flag::ack, .seq = 1, .ack = 0x8000'0000u}), Drop::tcp_listen_ack);
  EXPECT_EQ(kit.drop_of({.flags = flag::syn | flag::ack, .seq = 1, .ack = 1}),
            Drop::tcp_listen_ack);
  static_cast<void>(kit.take());
  // From another host it is invalid.
  kit.peer = IpAddress::v4(10, 0, 0, 3);
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1});
  EXPECT_EQ(connections(kit), 0u);
  kit.peer = IpAddress::v4(10, 0, 0, 2);
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1});
  EXPECT_EQ(kit.state(), State::established);
}

//= rfc4987#3.6
//= type=test
//# 4987:SYN-5 a cookie is valid for its tick and the next one
TEST(Cookies, Expire) {
  std::uint64_t const tick = tcp::cookie_tick.ns;
  for (bool const late : {false, true}) {
    Kit kit(cookie_config(SynCookies::always));
    kit.listen();
    kit.advance(Duration{tick - kit.now.ns % tick});
    kit.deliver({.flags = flag::syn, .mss = 1460});
    static_cast<void>(kit.take());
    kit.advance(Duration{2 * tick - (late ? 0 : 1)});
    kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1});
    EXPECT_EQ(kit.state(), late ? State::closed : State::established);
    EXPECT_EQ(kit.sent(), late ? "R 1(0)" : "");
  }
}

// If no cookie is outstanding every ACK is reset, as usual.
TEST(Cookies, OnlyWhereSomeWereSent) {
  Kit kit(cookie_config(SynCookies::on));
  kit.listen();
  for (std::uint32_t ack = 0; ack < 300; ++ack) {
    EXPECT_EQ(kit.drop_of({.flags = flag::ack, .seq = 1, .ack = ack << 24}), Drop::tcp_listen_ack);
  }
}

// Data before the ACK causes no reset, which would end a connection established for the peer.
TEST(Cookies, DataAheadOfTheAckWaitsForItsRetransmission) {
  Kit kit(cookie_config(SynCookies::always));
  kit.listen();
  kit.deliver({.flags = flag::syn, .mss = 1460});
  EXPECT_EQ(kit.sent(), "SA 0(0) ack 1");
  kit.deliver({.flags = flag::ack, .seq = 6, .ack = 1, .data = "world"});
  EXPECT_EQ(kit.sent(), "");
  kit.deliver({.flags = flag::ack | flag::fin, .seq = 1, .ack = 1, .data = "helloworld"});
  EXPECT_EQ(kit.received, "helloworld");
  EXPECT_EQ(kit.state(), State::close_wait);
}

// The accept backlog is full: SYNs and ACKs of cookies are dropped without a reset, and the
// client's next segment succeeds.
TEST(Cookies, AFullAcceptBacklogDropsAndAcceptsLater) {
  Kit kit(cookie_config(SynCookies::always));
  ListenerId const listener = listen(kit, {Count{1}, Count{0}});
  kit.deliver({.flags = flag::syn, .mss = 1460});
  IpAddress const first = kit.peer;
  Sequence const first_iss = kit.device_iss;
  kit.peer = IpAddress::v4(10, 0, 0, 3);
  kit.deliver({.flags = flag::syn, .mss = 1460});
  Sequence const second_iss = kit.device_iss;
  kit.peer = first;
  kit.device_iss = first_iss;
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1});
  EXPECT_EQ(kit.state(), State::established);
  kit.peer = IpAddress::v4(10, 0, 0, 3);
  kit.device_iss = second_iss;
  static_cast<void>(kit.take());
  EXPECT_EQ(kit.drop_of({.flags = flag::ack, .seq = 1, .ack = 1}), Drop::tcp_listen_full);
  EXPECT_EQ(kit.drop_of({.flags = flag::syn, .mss = 1460}), Drop::tcp_listen_full);
  EXPECT_EQ(kit.sent(), "");
  EXPECT_TRUE(kit.events.empty());
  kit.stack.admit(listener, Count::unlimited());
  kit.turn();
  EXPECT_TRUE(kit.notified(EventKind::accepted));
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1, .data = "later"});
  EXPECT_EQ(kit.state(), State::established);
  EXPECT_EQ(kit.received, "later");
}

// Full pools act like a full backlog: the ACK, too, has to wait.
TEST(Cookies, PoolsAreFull) {
  Config config = cookie_config(SynCookies::on);
  config.tcp.connections_max = Count{1};
  Kit kit(config);
  kit.accept_connection();
  ConnectionId const standing = kit.id;
  kit.peer = IpAddress::v4(10, 0, 0, 3);
  kit.deliver({.flags = flag::syn, .mss = 1460});
  EXPECT_EQ(kit.sent(), "SA 0(0) ack 1");
  EXPECT_EQ(kit.drop_of({.flags = flag::ack, .seq = 1, .ack = 1}), Drop::tcp_connections_full);
  kit.stack.abort(standing);
  kit.turn();
  static_cast<void>(kit.take());
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1, .data = "now"});
  EXPECT_EQ(kit.received, "now");
}

// A SYN that would reopen a TIME-WAIT gets a record: its ISN must be above the old numbers.
//= rfc9293#3.6.1
//= type=test
//# 9293:P-TW-REUSE-ISN with or without cookies
TEST(Cookies, NotForWhatReopensTimeWait) {
  Kit kit(cookie_config(SynCookies::always));
  listen(kit, {});
  kit.deliver({.flags = flag::syn, .mss = 1460});
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1});
  ASSERT_EQ(kit.stack.finish(kit.id), Refusal::none);
  kit.turn();
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 2});
  kit.deliver({.flags = flag::fin | flag::ack, .seq = 1, .ack = 2});
  ASSERT_EQ(kit.state(), State::time_wait);
  Sequence const last = kit.device_iss + Bytes{2};
  kit.deliver({.flags = flag::syn, .seq = 1000, .mss = 1460});
  EXPECT_EQ(kit.state(), State::syn_received);
  EXPECT_TRUE(kit.device_iss.after(last));
}

// A segment that opened a connection does not open another after that is closed: neither late, nor
// repeated, nor with data that the application has already read.
TEST(Cookies, OpenOnlyOnce) {
  for (bool const in_order : {false, true}) {
    Config config = cookie_config(SynCookies::always);
    config.tcp.msl = Duration::seconds(1);
    Kit kit(config);
    kit.listen();
    kit.deliver({.flags = flag::syn, .mss = 1460});
    kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1, .data = "pay"});
    EXPECT_EQ(kit.received, "pay");
    if (in_order) {
      ASSERT_EQ(kit.stack.finish(kit.id), Refusal::none);
      kit.turn();
      kit.deliver({.flags = flag::fin | flag::ack, .seq = 4, .ack = 2});
      kit.advance(kit.stack.config().tcp.msl * 2);
    } else {
      kit.stack.abort(kit.id);
      kit.turn();
    }
    static_cast<void>(kit.take());
    EXPECT_EQ(kit.stack.state_of(kit.tuple()), State::listen);
    kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1, .data = "pay"});
    EXPECT_EQ(kit.received, "pay");
    EXPECT_EQ(kit.stack.state_of(kit.tuple()), State::listen);
    // The same client may connect again.
    kit.deliver({.flags = flag::syn, .seq = 5000, .mss = 1460});
    kit.deliver({.flags = flag::ack, .seq = 5001, .ack = 1});
    EXPECT_EQ(kit.state(), State::established);
  }
}

// A late copy of the client's first segment acknowledges what the server has sent meanwhile: its
// number is that of a cookie for another MSS.
//= rfc4987#3.6
//= type=test
//# 4987:SYN-5 a used cookie opens nothing, whatever its segments acknowledge
TEST(Cookies, OpenOnlyOnceWhateverIsAcknowledged) {
  for (std::uint32_t octets = 0; octets < 10; ++octets) {
    Kit kit(cookie_config(SynCookies::always));
    kit.listen();
    kit.deliver({.flags = flag::syn, .mss = 536});
    kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1, .data = "pay"});
    EXPECT_EQ(kit.received, "pay");
    std::string const answer(octets, 'a');
    static_cast<void>(kit.stack.write(kit.id, Kit::bytes_of(answer)));
    kit.turn();
    kit.deliver({.flags = flag::ack, .seq = 4, .ack = 1 + octets});
    kit.stack.abort(kit.id);
    kit.turn();
    kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1 + octets, .data = "pay"});
    EXPECT_EQ(kit.received, "pay") << octets;
    EXPECT_EQ(kit.stack.state_of(kit.tuple()), State::listen) << octets;
  }
}

// Space for one used cookie.
Config one_spent_config() {
  Config config = bare_config();
  config.tcp.syn_cookies = SynCookies::always;
  config.tcp.time_wait_max = Count{1};
  return config;
}

// A client that opens and resets connections by cookies does not invalidate cookies of others.
//= rfc4987#3.6
//= type=test
//# 4987:SYN-5 an honest ACK opens its connection, however many cookies were used meanwhile
TEST(Cookies, StayValidHoweverManyOthersAreUsed) {
  Kit kit(one_spent_config());
  kit.listen();
  IpAddress const honest = kit.peer;
  kit.deliver({.flags = flag::syn, .mss = 1460});
  Sequence const cookie = kit.device_iss;
  for (std::uint8_t host = 10; host < 20; ++host) {
    kit.peer = IpAddress::v4(10, 0, 0, host);
    kit.deliver({.flags = flag::syn, .mss = 1460});
    kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1});
    ASSERT_EQ(kit.state(), State::established);
    kit.deliver({.flags = flag::rst, .seq = 1});
  }
  static_cast<void>(kit.take());
  kit.peer = honest;
  kit.device_iss = cookie;
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1, .data = "ask"});
  EXPECT_EQ(kit.state(), State::established);
  EXPECT_EQ(kit.received, "ask");
}

// A repeated ACK of a forgotten cookie opens one connection, and no more until it is forgotten
// again.
TEST(Cookies, ARepeatedAckOpensAtMostOneConnection) {
  Kit kit(one_spent_config());
  kit.listen();
  Sequence first_iss;
  for (std::uint8_t host = 2; host < 4; ++host) {
    kit.peer = IpAddress::v4(10, 0, 0, host);
    kit.deliver({.flags = flag::syn, .mss = 1460});
    first_iss = host == 2 ? kit.device_iss : first_iss;
    kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1});
    ASSERT_EQ(kit.state(), State::established);
    kit.stack.abort(kit.id);
    kit.turn();
  }
  kit.peer = IpAddress::v4(10, 0, 0, 2);
  kit.device_iss = first_iss;
  In const again{.flags = flag::ack, .seq = 1, .ack = 1};
  for (int i = 0; i < 3; ++i) {
    kit.deliver(again);
    EXPECT_EQ(connections(kit), 1u);
  }
  kit.stack.abort(kit.id);
  kit.turn();
  static_cast<void>(kit.take());
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(kit.drop_of(again), Drop::tcp_closed);
    EXPECT_EQ(kit.sent(), "R 1(0)");
    EXPECT_EQ(connections(kit), 0u);
  }
}

// Other segments of a connection that is gone cause a reset as usual: they must not wait.
TEST(Cookies, SegmentsOfAGoneConnectionAreReset) {
  Kit kit(one_spent_config());
  kit.listen();
  kit.deliver({.flags = flag::syn, .mss = 1460});
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1, .data = "ask"});
  kit.stack.abort(kit.id);
  kit.turn();
  static_cast<void>(kit.take());
  EXPECT_EQ(kit.drop_of({.flags = flag::ack, .seq = 4, .ack = 1, .data = "more"}),
            Drop::tcp_closed);
  EXPECT_EQ(kit.sent(), "R 1(0)");
  // After its next SYN, data may again precede the ACK of the new cookie.
  kit.deliver({.flags = flag::syn, .seq = 9000, .mss = 1460});
  static_cast<void>(kit.take());
  EXPECT_EQ(kit.drop_of({.flags = flag::ack, .seq = 9004, .ack = 1, .data = "more"}),
            Drop::tcp_cookie_unproven);
  EXPECT_EQ(kit.sent(), "");
  kit.deliver({.flags = flag::ack, .seq = 9001, .ack = 1, .data = "ask"});
  EXPECT_EQ(kit.state(), State::established);
}

// A restored copy of the stack accepts the ACK as the original would.
TEST(Cookies, AreInTheSnapshot) {
  Kit kit(cookie_config(SynCookies::always));
  kit.listen();
  std::uint64_t const before = kit.stack.canonical(kit.now);
  kit.deliver({.flags = flag::syn, .mss = 1460});
  EXPECT_NE(kit.stack.canonical(kit.now), before);
  std::vector<std::byte> copy(kit.stack.snapshot_bytes());
  kit.stack.snapshot(copy);
  Kit other(cookie_config(SynCookies::always));
  ASSERT_EQ(other.stack.restore(copy), Refusal::none);
  other.device_iss = kit.device_iss;
  other.deliver({.flags = flag::ack, .seq = 1, .ack = 1});
  EXPECT_EQ(other.state(), State::established);
}

// A cookie covers both addresses, of either family; without the peer's MSS 1220 is assumed.
TEST(Cookies, SupportIpv6) {
  for (bool const named : {true, false}) {
    Config config = six_config();
    config.tcp.syn_cookies = SynCookies::always;
    Six six(config);
    six.listen();
    auto const send = [&](const wire::Segment& segment) {
      SixPacket packet;
      packet.payload = segment_octets(segment);
      six.deliver(packet);
    };
    wire::Segment segment;
    segment.sequence = {700};
    segment.flags = flag::syn;
    segment.window = {65535};
    segment.options.has_mss = named;
    segment.options.mss = named ? 1220 : 0;
    send(segment);
    wire::Segment const answer = six.next_segment();
    EXPECT_EQ(answer.acknowledgment, Sequence{701});
    EXPECT_EQ(six.stack.statistics().tcp.connections_opened, 0u);
    segment = {};
    segment.sequence = {701};
    segment.flags = flag::ack;
    segment.window = {65535};
    segment.acknowledgment = answer.sequence + Bytes{1001};
    send(segment);
    EXPECT_EQ(six.stack.statistics().tcp.cookies_taken, 0u);
    segment.acknowledgment = answer.sequence.next();
    send(segment);
    EXPECT_EQ(six.stack.statistics().tcp.cookies_taken, 1u);
    EXPECT_EQ(six.stack.inspect(six.id).state, State::established);
    EXPECT_EQ(six.stack.inspect(six.id).send.mss.count, 1220u);
  }
}

}  // namespace
}  // namespace lockstep::testing
