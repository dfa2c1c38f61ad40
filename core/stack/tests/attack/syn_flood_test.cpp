// Limits on what SYN floods can use, whatever the SYNs contain, and which handshakes still
// complete.
#include <gtest/gtest.h>

#include <array>
#include <utility>

#include "core/stack/testing/syn_cache_kit.hpp"

namespace lockstep::testing {
namespace {

// A flood with more in its SYNs uses no more: the peer must retransmit data, FIN and URG.
//= rfc4987#3.5
//= type=test
//# 4987:SYN-4 a SYN of an unverified host never takes a full record
TEST(SynCache, StoresNoDataOfASyn) {
  for (In const& in : std::initializer_list<In>{
           {.flags = flag::syn, .data = "data"},
           {.flags = flag::syn | flag::fin},
           {.flags = flag::syn | flag::urg, .data = "data", .urgent = 1},
           {.flags = flag::syn | flag::urg | flag::fin, .data = "data", .urgent = 1}}) {
    Kit kit(cache_config(8));
    listen(kit, 8);
    kit.deliver(in);
    EXPECT_EQ(pools(kit).half_open, 1u);
    EXPECT_EQ(pools(kit).connections, 0u);
    EXPECT_EQ(pools(kit).blocks, 0u);
    EXPECT_EQ(kit.sent(), "SA 0(0) ack 1");
    // The third segment of a host that already sent data, and what it retransmits.
    bool const fin = in.flags.any_of(flag::fin);
    auto const length = static_cast<std::uint32_t>(in.data.size()) + (fin ? 1 : 0);
    In answer = third;
    answer.seq += length;
    kit.deliver(answer);
    EXPECT_EQ(kit.state(), State::established);
    EXPECT_EQ(kit.received, "");
    In again = with_data(third, "", in.flags.without(flag::syn));
    again.data = in.data;
    again.urgent = in.urgent;
    kit.deliver(again);
    EXPECT_EQ(kit.received, in.data);
    EXPECT_EQ(kit.state(), fin ? State::close_wait : State::established);
    kit.advance(Duration::seconds(1));
    EXPECT_EQ(kit.take().at(0).ack, 1 + length);
  }
}

// A Fast Open cookie proves the source and opens with data as usual; a request for one gives no
// advantage but is answered with a cookie.
TEST(SynCache, StoresSynsThatMayNotOpenFast) {
  for (std::uint32_t const fast : {0u, 1u}) {
    Config config = cache_config(8);
    config.tcp.fast_open_server = true;
    Kit kit(config);
    Local local;
    local.port = {Kit::device_port};
    ListenerId listener;
    ASSERT_EQ(kit.stack.listen(local, {.fast_open = Count{fast}}, listener), Refusal::none);
    In asks{.flags = flag::syn, .data = "data"};
    asks.options.has_fast_open = true;
    kit.deliver(asks);
    EXPECT_EQ(pools(kit).half_open, 1u);
    Out const answer = kit.take().at(0);
    EXPECT_EQ(line(answer), "SA 0(0) ack 1");
    EXPECT_EQ(answer.options.has_fast_open, fast == 1);
    // A retransmission has no cookie.
    kit.advance(Duration::seconds(1));
    EXPECT_FALSE(kit.take().at(0).options.has_fast_open);
    kit.deliver({.flags = flag::rst, .seq = 1});
    ASSERT_EQ(pools(kit).half_open, 0u);
    if (fast == 1) {
      asks.options.cookie_bytes = answer.options.cookie_bytes;
      asks.options.cookie = answer.options.cookie;
      kit.deliver(asks);
      EXPECT_EQ(pools(kit).half_open, 0u);
      EXPECT_EQ(kit.received, "data");
      // The limit is reached: the next one is a normal open with a valid cookie.
      wire::Segment more;
      more.source = {Kit::peer_port + 1};
      more.destination = {Kit::device_port};
      more.flags = flag::syn;
      more.options = asks.options;
      static_cast<void>(kit.take());
      kit.send_segment(more, "data");
      kit.turn();
      EXPECT_EQ(pools(kit).half_open, 1u);
      EXPECT_FALSE(kit.take().at(0).options.has_fast_open);
    }
  }
}

// A client receives the cookie that answered its first SYN, while its next SYN was cached.
TEST(SynCache, AcceptsTheAckOfAnEarlierCookie) {
  for (bool const cached : {true, false}) {
    Config config = cache_config(cached ? 1 : 0);
    Kit kit(config);
    listen(kit, 1);
    // The cache and the backlog are full: a cookie.
    In const syn = syn_naming(kit, names_mss | names_scale);
    flood(kit, 0, 2);
    static_cast<void>(kit.take());
    kit.deliver(syn);
    ASSERT_EQ(counters(kit).cookies_sent, 2u);
    Sequence const cookie = kit.device_iss;
    IpAddress const honest = kit.peer;
    for (std::uint32_t const stranger_number : {0u, 1u}) {
      kit.peer = stranger(stranger_number);
      wire::Segment reset;
      reset.source = {Kit::peer_port};
      reset.destination = {Kit::device_port};
      reset.sequence = kit.peer_iss.next();
      reset.flags = flag::rst;
      kit.send_segment(reset, "");
      kit.turn();
    }
    kit.peer = honest;
    ASSERT_EQ(pools(kit).half_open + pools(kit).connections, 0u);
    kit.advance(Duration::seconds(1));
    kit.deliver(syn);
    ASSERT_EQ(kit.state(), State::syn_received);
    ASSERT_EQ(pools(kit).half_open, cached ? 1u : 0u);
    ASSERT_NE(kit.device_iss, cookie);
    static_cast<void>(kit.take());
    kit.device_iss = cookie;
    // Data before the ACK causes no reset; the ACK opens the connection with what the cookie
    // encodes.
    EXPECT_EQ(kit.drop_of({.flags = flag::ack, .seq = 2, .ack = 1, .data = "ello"}),
              Drop::tcp_cookie_unproven);
    EXPECT_EQ(kit.state(), State::syn_received);
    kit.deliver(with_data(third, "hello"));
    EXPECT_EQ(kit.state(), State::established);
    EXPECT_EQ(kit.received, "hello");
    EXPECT_EQ(counters(kit).cookies_taken, 1u);
    EXPECT_EQ(kit.info().send.wnd.count, third.window);
    EXPECT_EQ(pools(kit).half_open, 0u);
    EXPECT_EQ(pools(kit).connections, 1u);
    // Another ACK of data never sent causes a reset, as usual.
    kit.peer = stranger(5);
    kit.deliver({.flags = flag::syn});
    static_cast<void>(kit.take());
    EXPECT_NE(kit.drop_of({.flags = flag::ack, .seq = 1, .ack = 0x9000'0000u}), Drop::none);
    EXPECT_EQ(kit.sent(), "R 2415919104(0)");
  }
}

// As many connections as the backlog allows wait for the application: no other handshake completes,
// of either kind. Their ACKs are dropped, and later segments succeed.
//= rfc4987#3.2
//= type=test
//# 4987:SYN-1 the backlog limits the connections that the application has not accepted
TEST(SynCache, CompletesNoMoreHandshakesThanTheBacklogHolds) {
  Kit kit(cache_config(8, 100));
  Local local;
  local.port = {Kit::device_port};
  ListenerId listener;
  ASSERT_EQ(kit.stack.listen(local, {Count{2}, Count{0}}, listener), Refusal::none);
  std::array<Sequence, 4> iss{};
  auto const is_of = [&](std::uint32_t number) {
    kit.peer = stranger(number);
    kit.device_iss = iss[number];
  };
  for (std::uint32_t number = 0; number < 4; ++number) {
    is_of(number);
    kit.deliver({.flags = flag::syn});
    iss[number] = kit.device_iss;
  }
  ASSERT_EQ(pools(kit).connections, 2u);
  ASSERT_EQ(pools(kit).half_open, 2u);
  for (std::uint32_t const number : {2u, 3u}) {
    is_of(number);
    kit.deliver(third);
    EXPECT_EQ(kit.state(), State::established);
  }
  for (std::uint32_t const number : {0u, 1u}) {
    is_of(number);
    static_cast<void>(kit.take());
    EXPECT_EQ(kit.drop_of(with_data(third, "early")), Drop::tcp_listen_full);
    EXPECT_EQ(kit.state(), State::syn_received);
    EXPECT_EQ(kit.sent(), "");
  }
  kit.stack.admit(listener, Count{1});
  kit.turn();
  is_of(0);
  kit.deliver(with_data(third, "later"));
  EXPECT_EQ(kit.state(), State::established);
  is_of(1);
  EXPECT_EQ(kit.drop_of(third), Drop::tcp_listen_full);
  kit.stack.admit(listener, Count::unlimited());
  kit.turn();
  EXPECT_EQ(kit.received, "later");
}

// The oldest entry belongs to another listener: the flooded listener's entries are still evicted.
// Only if the other one has the 64 oldest, its own are evicted.
//= rfc4987#3.5
//= type=test
//# 4987:SYN-4 the oldest entry of that listener
TEST(SynCache, EvictsItsOwnThoughAnotherListenersEntryIsTheOldest) {
  for (std::uint32_t const others : {1u, 63u, 64u}) {
    Config config = cache_config(4 * others);
    config.tcp.syn_cookies = SynCookies::off;
    Kit kit(config);
    listen(kit, 1);
    ListenerId other;
    Local local;
    local.port = {81};
    ASSERT_EQ(kit.stack.listen(local, {Count{1}, Count::unlimited()}, other), Refusal::none);
    wire::Segment syn;
    syn.destination = {81};
    syn.flags = flag::syn;
    for (std::uint32_t i = 0; i < others; ++i) {
      syn.source = {static_cast<std::uint16_t>(Kit::peer_port + i)};
      kit.send_segment(syn, "");
      kit.turn();
    }
    kit.advance(Duration::milliseconds(1500));
    flood(kit, 0, 3 * others + 1);
    ASSERT_EQ(pools(kit).half_open, 4 * others);
    ASSERT_EQ(pools(kit).connections, 1u);
    flood(kit, 3 * others + 1, 1);
    EXPECT_EQ(counters(kit).half_opens_evicted, 1u);
    EXPECT_EQ(pools(kit).half_open, 4 * others);
    auto const state = [&](std::uint32_t number) {
      IpAddress const before = std::exchange(kit.peer, stranger(number));
      State const found = kit.stack.state_of(kit.tuple());
      kit.peer = before;
      return found;
    };
    FourTuple tuple = kit.tuple();
    tuple.local.port = {81};
    bool const flooded = others >= 64;
    EXPECT_EQ(kit.stack.state_of(tuple), flooded ? State::listen : State::syn_received);
    EXPECT_EQ(state(0), flooded ? State::syn_received : State::listen);
    EXPECT_EQ(state(3 * others + 1), State::syn_received);
  }
}

}  // namespace
}  // namespace lockstep::testing
