// The SYN cache: which SYNs it stores, and that it behaves on the wire exactly like full records.
#include <gtest/gtest.h>

#include <array>
#include <utility>

#include "core/stack/testing/six_kit.hpp"
#include "core/stack/testing/syn_cache_kit.hpp"
#include "core/tcp/opening/half_open.hpp"

namespace lockstep::testing {
namespace {

using Script = void (*)(Kit&, const In& syn);

void send_icmp(Kit& kit, wire::IcmpType type, std::uint8_t code, std::uint32_t beyond = 0) {
  Out quoted;
  quoted.tuple = kit.tuple();
  quoted.absolute = kit.device_iss + Bytes{beyond};
  quoted.flags = flag::syn | flag::ack;
  kit.send_icmp(type, code, quoted);
  kit.turn();
}

// Events of a half-open connection. Each script ends with data in both directions, for which the
// connection must work normally.
constexpr std::array<Script, 20> scripts{
    [](Kit&, const In&) {},
    [](Kit& kit, const In&) { kit.deliver(with_data(third, "hello", flag::psh)); },
    [](Kit& kit, const In&) { kit.deliver(with_data(third, "bye", flag::fin)); },
    [](Kit& kit, const In&) { kit.deliver(with_data(third, "", flag::fin)); },
    // The timer retransmits the SYN-ACK three times.
    [](Kit& kit, const In&) { kit.advance(Duration::milliseconds(7500)); },
    // It does so until R2; then the attempt ends.
    [](Kit& kit, const In&) { kit.advance(Duration::seconds(30)); },
    // The SYN is retransmitted, with and without ECN.
    [](Kit& kit, const In& syn) {
      kit.advance(Duration::milliseconds(300));
      kit.deliver(syn);
      kit.advance(Duration::milliseconds(900));
    },
    [](Kit& kit, const In& syn) {
      In again = syn;
      again.flags = flag::syn;
      kit.deliver(again);
      kit.advance(Duration::milliseconds(1500));
    },
    // A SYN-ACK that crosses ours, with data.
    [](Kit& kit, const In& syn) {
      In crossing = with_data(syn, "crossing");
      crossing.flags |= flag::ack;
      crossing.ack = 1;
      kit.deliver(crossing);
    },
    // Resets: at the edge of the window, inside, outside, with data that begins outside.
    [](Kit& kit, const In&) { kit.deliver({.flags = flag::rst, .seq = 1}); },
    [](Kit& kit, const In&) { kit.deliver({.flags = flag::rst, .seq = 2}); },
    [](Kit& kit, const In&) { kit.deliver({.flags = flag::rst, .seq = 100'000}); },
    [](Kit& kit, const In&) {
      kit.deliver({.flags = flag::rst, .seq = 0xffff'ffffu, .data = "ab!"});
    },
    // A SYN inside the window, and one outside.
    [](Kit& kit, const In&) { kit.deliver({.flags = flag::syn, .seq = 77}); },
    [](Kit& kit, const In&) { kit.deliver({.flags = flag::syn, .seq = 0x8000'0000u}); },
    // ACKs of data never sent, or of nothing; no ACK.
    [](Kit& kit, const In&) {
      kit.deliver({.flags = flag::ack, .seq = 1, .ack = 2});
      kit.deliver({.flags = flag::ack, .seq = 1, .ack = 0, .data = "early"});
      kit.deliver({.flags = flag::psh, .seq = 1, .data = "bare"});
    },
    // Outside the window: old data, and more empty segments than are answered.
    [](Kit& kit, const In&) {
      kit.deliver({.flags = flag::ack, .seq = 0xffff'fff0u, .ack = 1, .data = "of old"});
      kit.deliver({.flags = flag::ack, .seq = 200'000, .ack = 1, .data = "beyond"});
      for (int i = 0; i < 5; ++i) {
        kit.deliver({.flags = flag::ack, .seq = 200'000, .ack = 1});
      }
    },
    // PAWS: older, and without a timestamp.
    [](Kit& kit, const In&) {
      std::uint32_t const stamp = std::exchange(kit.stamp, kit.stamp == 0 ? 0 : 6000);
      kit.deliver(third);
      kit.deliver(with_data(third, "old"));
      kit.stamp = 0;
      kit.deliver(with_data(third, "bare"));
      kit.stamp = stamp;
    },
    // ICMP: soft, too big, not in flight, hard.
    [](Kit& kit, const In&) {
      send_icmp(kit, wire::IcmpType::time_exceeded, 0);
      send_icmp(kit, wire::IcmpType::unreachable, 4);
      send_icmp(kit, wire::IcmpType::unreachable, 4, 5);
      send_icmp(kit, wire::IcmpType::unreachable, 3, 5);
    },
    [](Kit& kit, const In&) { send_icmp(kit, wire::IcmpType::unreachable, 3); },
};

// All fields of ConnectionInfo as a string.
std::string words_of(const ConnectionInfo& i) {
  std::string out;
  for (Sequence value : {i.send.una, i.send.nxt, i.send.wl1, i.send.wl2, i.send.iss, i.receive.nxt,
                         i.receive.irs, i.receive.edge, i.recover}) {
    out += std::to_string(value.value) + " ";
  }
  for (Bytes value :
       {i.send.wnd, i.send.wnd_max, i.send.mss, i.cwnd, i.ssthresh, i.pipe, i.receive.unread}) {
    out += std::to_string(value.count) + " ";
  }
  for (std::uint64_t value :
       {i.srtt.ns, i.rttvar.ns, i.rto.ns, i.user_timeout.ns, i.segments_sent, i.segments_received,
        i.retransmissions, i.retransmit_due.ns, i.delayed_ack_due.ns, std::uint64_t{i.ttl},
        std::uint64_t{i.retries}, std::uint64_t{i.options.ts_recent},
        std::uint64_t{i.options.send_scale.shift}, std::uint64_t{i.options.receive_scale.shift}}) {
    out += std::to_string(value) + " ";
  }
  for (bool flag : {i.exists, i.detached, i.passive, i.options.window_scale, i.options.timestamps,
                    i.sack, i.ecn.rx, i.ecn.tx}) {
    out += flag ? "1" : "0";
  }
  return out + std::string(name_of(i.state));
}

// The result of a script: every frame with its time, every event, every drop.
struct Course {
  std::vector<std::vector<std::byte>> frames;
  std::vector<std::uint64_t> instants;
  std::string words;
};

Course run(const Config& config, Script script, unsigned names, bool& cached) {
  Kit kit(config);
  kit.keep_frames = true;
  listen(kit, 8);
  In const syn = syn_naming(kit, names);
  kit.deliver(syn);
  cached = pools(kit).half_open == 1 && counters(kit).connections_opened == 0;
  kit.advance(Duration::milliseconds(20));
  script(kit, syn);
  kit.deliver(third);
  bool const stands = kit.state() == State::established || kit.state() == State::close_wait;
  if (stands) {
    kit.deliver(with_data(third, "request"));
    kit.write("answer");
    kit.advance(Duration::seconds(1));
  }
  Course course;
  course.frames = kit.frames_sent;
  for (Out const& out : kit.take()) {
    course.instants.push_back(out.at.ns);
  }
  course.words = kit.received + " " + std::string(name_of(kit.state())) + " ";
  course.words += stands ? words_of(kit.info()) : "";
  for (Event const& event : kit.events) {
    course.words += " " + std::string(name_of(event.kind));
  }
  auto const& all = kit.stack.statistics();
  for (std::uint32_t i = 0; i < drop_count; ++i) {
    course.words += " " + std::to_string(all.drops.of(static_cast<Drop>(i)));
  }
  for (std::uint64_t count :
       {all.tcp.segments_sent, all.tcp.retransmissions, all.tcp.timeouts, all.tcp.resets_sent,
        all.tcp.challenges_sent, all.tcp.challenges_limited, all.tcp.answers_limited,
        all.tcp.timers_fired[static_cast<std::uint32_t>(tcp::TimerKind::retransmit)],
        all.tcp.timers_fired[static_cast<std::uint32_t>(tcp::TimerKind::give_up)]}) {
    course.words += " " + std::to_string(count);
  }
  return course;
}

void expect_equal(Config config, std::size_t script, unsigned names) {
  bool cached = false;
  Course const on = run(config, scripts[script], names, cached);
  EXPECT_TRUE(cached);
  config.tcp.syn_cache_max = Count{0};
  Course const off = run(config, scripts[script], names, cached);
  EXPECT_FALSE(cached);
  ASSERT_EQ(on.frames, off.frames) << script << " of " << names;
  ASSERT_EQ(on.instants, off.instants) << script << " of " << names;
  ASSERT_EQ(on.words, off.words) << script << " of " << names;
}

//= rfc4987#3.5
//= type=test
//# 4987:SYN-4 a small record instead of a full one, invisible on the wire
TEST(SynCache, SendsWhatAFullRecordSends) {
  Config config = cache_config(8);
  config.tcp.empty_answers_per_second = Count{3};
  config.tcp.challenges_per_connection = Count{1};
  for (std::size_t script = 0; script < scripts.size(); ++script) {
    for (unsigned names = 0; names < all_names; ++names) {
      expect_equal(config, script, names);
    }
  }
}

TEST(SynCache, SendsWhatAFullRecordSendsWhateverTheConfiguration) {
  Config config = cache_config(8);
  config.tcp.option_order = wire::OptionOrder::like_freebsd;
  config.tcp.timestamps_required = false;
  config.tcp.reset_policy = tcp::ResetPolicy::rfc793;
  config.tcp.ecn = tcp::EcnPolicy::off;
  config.tcp.dsack = false;
  config.tcp.receive_buffer = Bytes{5000};
  config.tcp.receive_buffer_max = Bytes{};
  config.tcp.syn_timeout = Duration{};
  config.tcp.user_timeout = Duration::seconds(5);
  for (std::size_t script = 0; script < scripts.size(); ++script) {
    for (unsigned const names : {0u, names_mss | names_stamps, all_names - 1}) {
      expect_equal(config, script, names);
    }
  }
}

//= rfc4987#3.7
//= type=test
//# 4987:SYN-6 records, then the cache, then cookies: a flood does not use the rest of the backlog
TEST(SynCache, IsUsedBetweenRecordsAndCookies) {
  Kit kit(cache_config(4, 50));
  listen(kit, 4);
  struct Step {
    std::uint32_t connections, half_open;
    std::uint64_t cookies;
  };
  std::uint32_t host = 0;
  for (Step const step :
       {Step{1, 0, 0}, {2, 0, 0}, {2, 1, 0}, {2, 2, 0}, {2, 3, 0}, {2, 3, 1}, {2, 3, 2}}) {
    flood(kit, host, 1);
    ++host;
    EXPECT_EQ(pools(kit).connections, step.connections) << host;
    EXPECT_EQ(pools(kit).half_open, step.half_open) << host;
    EXPECT_EQ(counters(kit).cookies_sent, step.cookies) << host;
    EXPECT_EQ(kit.take().size(), 1u) << host;
  }
}

// Entries with four unanswered SYN-ACKs are evicted, and no others: a low rate of spoofed SYNs does
// not deprive honest clients of their options.
TEST(SynCache, EvictsUnansweredEntriesBeforeSendingCookies) {
  Kit kit(cache_config(4));
  listen(kit, 4);
  flood(kit, 0, 3);
  kit.advance(Duration::seconds(7) - Duration::nanoseconds(1));
  flood(kit, 3, 1);
  EXPECT_EQ(counters(kit).cookies_sent, 1u);
  kit.advance(Duration::nanoseconds(1));
  flood(kit, 4, 3);
  EXPECT_EQ(counters(kit).cookies_sent, 1u);
  EXPECT_EQ(counters(kit).half_opens_evicted, 3u);
  flood(kit, 7, 1);
  EXPECT_EQ(counters(kit).cookies_sent, 2u);
  EXPECT_EQ(pools(kit).half_open, 3u);
}

// With cookies off the rest of the backlog is used, because nothing else could answer.
TEST(SynCache, ComesBeforeTheRestOfTheBacklogWithoutCookies) {
  Config config = cache_config(4, 50);
  config.tcp.syn_cookies = SynCookies::off;
  Kit kit(config);
  listen(kit, 4);
  flood(kit, 0, 7);
  EXPECT_EQ(pools(kit).connections, 4u);
  EXPECT_EQ(pools(kit).half_open, 3u);
  flood(kit, 7, 1);
  EXPECT_EQ(counters(kit).half_opens_evicted, 1u);
}

// A flood fills the backlog: without the cache a client loses its options, with it none.
TEST(SynCache, KeepsTheOptionsThatACookieLoses) {
  for (bool const on : {true, false}) {
    Kit kit(cache_config(on ? 8 : 0, 50));
    listen(kit, 4);
    flood(kit, 0, 4);
    static_cast<void>(kit.take());
    kit.deliver(syn_naming(kit, all_names - 1));
    auto const out = kit.take();
    ASSERT_EQ(out.size(), 1u);
    EXPECT_EQ(line(out[0]), on ? "SAE 0(0) ack 1" : "SA 0(0) ack 1");
    EXPECT_EQ(out[0].options.has_window_scale, on);
    EXPECT_EQ(out[0].options.has_timestamps, on);
    EXPECT_EQ(out[0].sack_permitted, on);
    kit.deliver(third);
    EXPECT_EQ(kit.state(), State::established);
    EXPECT_EQ(kit.info().send.wnd.count, on ? 24'000u : 3'000u);
    EXPECT_EQ(kit.info().sack, on);
    EXPECT_EQ(counters(kit).half_opens_promoted, on ? 1u : 0u);
    EXPECT_EQ(counters(kit).cookies_taken, on ? 0u : 1u);
  }
}

//= rfc4987#3.5
//= type=test
//# 4987:SYN-4 a spoofed SYN cannot take a full record by one more segment
TEST(SynCache, UsesNoRecordWithoutProof) {
  for (In const& in :
       std::initializer_list<In>{{.flags = flag::syn},
                                 {.flags = flag::syn, .seq = 5},
                                 {.flags = flag::rst, .seq = 1},
                                 {.flags = flag::rst, .seq = 5},
                                 {.flags = flag::rst | flag::ack, .seq = 1, .ack = 1},
                                 {.flags = flag::syn | flag::ack, .seq = 0, .ack = 2},
                                 {.flags = flag::ack, .seq = 1, .ack = 0},
                                 {.flags = flag::ack, .seq = 1, .ack = 2, .data = "guess"},
                                 {.flags = flag::ack | flag::fin, .seq = 1, .ack = 0xffff'ffffu},
                                 {.flags = flag::ack, .seq = 70'000, .ack = 1},
                                 {.flags = flag::psh, .seq = 1, .data = "no ACK"}}) {
    Kit kit(cache_config(8));
    listen(kit, 8);
    kit.deliver({.flags = flag::syn, .mss = 1460});
    kit.deliver(in);
    kit.advance(Duration::seconds(5));
    EXPECT_EQ(counters(kit).connections_opened, 0u);
    EXPECT_EQ(pools(kit).active, 0u);
  }
}

// A half-open connection costs its record, its index in the pool, and six octets of the table.
//= rfc4987#3.5
//= type=test
//# 4987:SYN-4 the records are small
TEST(SynCache, CostsOnlyTheRecord) {
  constexpr std::uint32_t few = 1'000;
  constexpr std::uint32_t many = 1'900;
  std::uint64_t const more =
      Stack::arena_bytes(cache_config(many)) - Stack::arena_bytes(cache_config(few));
  EXPECT_LE(more, (many - few) * (sizeof(tcp::HalfOpen) + sizeof(memory::Index) + 6) + 64);
  Kit kit(cache_config(many));
  listen(kit, 8);
  flood(kit, 0, 1'000);
  EXPECT_EQ(pools(kit).half_open, 1'000u);
  EXPECT_EQ(pools(kit).connections, 0u);
  EXPECT_EQ(pools(kit).active, 0u);
  EXPECT_EQ(counters(kit).half_opens_kept, 1'000u);
  // All of them end at R2.
  kit.advance(Duration::seconds(21));
  EXPECT_EQ(pools(kit).half_open, 0u);
  EXPECT_TRUE(kit.stack.deadline().is_never());
}

// Without cookies the oldest is evicted, once there is no full record either.
//= rfc4987#3.5
//= type=test
//# 4987:SYN-4 at the limit the oldest entry is dropped
TEST(SynCache, DropsTheOldestWithoutCookies) {
  Config config = cache_config(4);
  config.tcp.syn_cookies = SynCookies::off;
  Kit kit(config);
  listen(kit, 2);
  flood(kit, 0, 3);
  kit.advance(Duration::milliseconds(1500));
  flood(kit, 3, 2);
  EXPECT_EQ(pools(kit).half_open, 3u);
  EXPECT_EQ(pools(kit).connections, 2u);
  EXPECT_EQ(counters(kit).half_opens_evicted, 0u);
  flood(kit, 5, 2);
  EXPECT_EQ(counters(kit).half_opens_evicted, 2u);
  EXPECT_EQ(pools(kit).half_open, 3u);
  auto const state = [&](std::uint32_t number) {
    kit.peer = stranger(number);
    return kit.stack.state_of(kit.tuple());
  };
  EXPECT_EQ(state(0), State::listen);
  EXPECT_EQ(state(1), State::listen);
  EXPECT_EQ(state(2), State::syn_received);
  EXPECT_EQ(state(6), State::syn_received);
}

// One listener cannot fill the cache, and does not evict entries of another.
//= rfc4987#3.5
//= type=test
//# 4987:SYN-4 a limit per listener
TEST(SynCache, LeavesAQuarterToOtherListeners) {
  for (SynCookies const cookies : {SynCookies::on, SynCookies::off}) {
    Config config = cache_config(4);
    config.tcp.syn_cookies = cookies;
    Kit kit(config);
    listen(kit, 1);
    ListenerId other;
    Local local;
    local.port = {81};
    ASSERT_EQ(kit.stack.listen(local, {Count{1}, Count::unlimited()}, other), Refusal::none);
    wire::Segment syn;
    syn.source = {Kit::peer_port};
    syn.destination = {81};
    syn.flags = flag::syn;
    kit.send_segment(syn, "");
    kit.turn();
    flood(kit, 0, 4);
    EXPECT_EQ(pools(kit).half_open, 4u);
    EXPECT_EQ(pools(kit).connections, cookies == SynCookies::on ? 0u : 1u);
    flood(kit, 4, 1);
    EXPECT_EQ(counters(kit).half_opens_evicted, cookies == SynCookies::on ? 0u : 1u);
    EXPECT_EQ(counters(kit).cookies_sent, cookies == SynCookies::on ? 2u : 0u);
    EXPECT_EQ(kit.drops(Drop::tcp_listen_full), 0u);
    ASSERT_EQ(kit.stack.unlisten(other), Refusal::none);
    EXPECT_EQ(pools(kit).half_open, 3u);
  }
}

// The ACK arrives when there is no space: the entry stays, and the next segment succeeds.
TEST(SynCache, WaitsForResources) {
  for (bool const backlog : {true, false}) {
    Config config = cache_config(4);
    config.tcp.connections_max = Count{backlog ? 4u : 1u};
    Kit kit(config);
    Local local;
    local.port = {Kit::device_port};
    ListenerId listener;
    ASSERT_EQ(kit.stack.listen(local, {Count{1}, Count{backlog ? 0u : 9u}}, listener),
              Refusal::none);
    IpAddress const second = kit.peer;
    kit.deliver({.flags = flag::syn});
    Sequence const iss = kit.device_iss;
    kit.peer = stranger(1);
    kit.deliver({.flags = flag::syn});
    kit.deliver(third);
    EXPECT_EQ(kit.state(), State::established);
    kit.peer = second;
    kit.device_iss = iss;
    EXPECT_EQ(kit.drop_of(third), backlog ? Drop::tcp_listen_full : Drop::tcp_connections_full);
    EXPECT_EQ(kit.state(), State::syn_received);
    if (backlog) {
      kit.stack.admit(listener, Count::unlimited());
    } else {
      kit.stack.abort(kit.id);
    }
    kit.turn();
    kit.deliver(with_data(third, "later"));
    EXPECT_EQ(kit.state(), State::established);
    EXPECT_EQ(kit.received, "later");
  }
}

// Half-open connections of a flood give way to a SYN that reopens a TIME-WAIT, which no cookie can
// answer, once their SYN-ACK was sent twice.
TEST(SynCache, TheFloodGivesWayToWhatReopensTimeWait) {
  Config config = cache_config(0);
  config.tcp.connections_max = Count{2};
  config.tcp.active_max = Count{2};
  config.tcp.syn_cookies = SynCookies::off;
  Kit kit(config);
  listen(kit, 8);
  kit.deliver({.flags = flag::syn});
  kit.deliver(third);
  ASSERT_EQ(kit.stack.finish(kit.id), Refusal::none);
  kit.turn();
  kit.deliver({.flags = flag::fin | flag::ack, .seq = 1, .ack = 2});
  ASSERT_EQ(kit.state(), State::time_wait);
  flood(kit, 0, 2);
  EXPECT_EQ(pools(kit).connections, 2u);
  EXPECT_EQ(kit.drop_of({.flags = flag::syn, .seq = 1000}), Drop::tcp_connections_full);
  EXPECT_EQ(kit.state(), State::time_wait);
  kit.advance(Duration::seconds(1));
  kit.deliver({.flags = flag::syn, .seq = 1000});
  EXPECT_EQ(kit.state(), State::syn_received);
  EXPECT_EQ(counters(kit).half_opens_evicted, 1u);
}

// A SYN that would reopen a TIME-WAIT has a full record: its ISN must be above the old numbers.
TEST(SynCache, NotForWhatReopensTimeWait) {
  Kit kit(cache_config(8));
  listen(kit, 8);
  kit.deliver({.flags = flag::syn});
  kit.deliver(third);
  ASSERT_EQ(kit.stack.finish(kit.id), Refusal::none);
  kit.turn();
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 2});
  kit.deliver({.flags = flag::fin | flag::ack, .seq = 1, .ack = 2});
  ASSERT_EQ(kit.state(), State::time_wait);
  kit.deliver({.flags = flag::syn, .seq = 1000});
  EXPECT_EQ(kit.state(), State::syn_received);
  EXPECT_EQ(pools(kit).half_open, 0u);
}

TEST(SynCache, IsUnusedIfCookiesAreAlwaysSent) {
  Config config = cache_config(8);
  config.tcp.syn_cookies = SynCookies::always;
  Kit kit(config);
  listen(kit, 8);
  flood(kit, 0, 3);
  EXPECT_EQ(pools(kit).half_open, 0u);
  EXPECT_EQ(counters(kit).cookies_sent, 3u);
}

TEST(SynCache, ClosesWithItsListener) {
  Kit kit(cache_config(8));
  ListenerId const listener = listen(kit, 8);
  flood(kit, 0, 3);
  kit.deliver({.flags = flag::syn});
  static_cast<void>(kit.take());
  ASSERT_EQ(kit.stack.unlisten(listener), Refusal::none);
  EXPECT_EQ(pools(kit).half_open, 0u);
  EXPECT_TRUE(kit.stack.deadline().is_never());
  kit.deliver(third);
  EXPECT_EQ(kit.sent(), "R 1(0)");
  kit.advance(Duration::seconds(5));
  EXPECT_EQ(kit.sent(), "");
}

// A socket with a cached SYN is in use.
//= rfc9293#3.10.1
//= type=test
//# 9293:P-OPEN-EXISTS half-open counts as open
TEST(SynCache, ReservesItsSocket) {
  Kit kit(cache_config(8));
  listen(kit, 8);
  kit.deliver({.flags = flag::syn});
  Open open;
  open.local = {kit.device, {Kit::device_port}};
  open.remote = {kit.peer, {Kit::peer_port}};
  ConnectionId id;
  EXPECT_EQ(kit.stack.connect(open, id), Refusal::exists);
}

// A copy of the stack continues like the original.
TEST(SynCache, IsInTheSnapshot) {
  Config const config = cache_config(8);
  Kit kit(config);
  listen(kit, 8);
  flood(kit, 0, 2);
  std::uint64_t const two = kit.stack.canonical(kit.now);
  kit.deliver(syn_naming(kit, all_names - 1));
  EXPECT_NE(kit.stack.canonical(kit.now), two);
  kit.advance(Duration::milliseconds(1200));
  std::vector<std::byte> copy(kit.stack.snapshot_bytes());
  kit.stack.snapshot(copy);
  Kit other(config);
  ASSERT_EQ(other.stack.restore(copy), Refusal::none);
  EXPECT_EQ(other.stack.fingerprint(), kit.stack.fingerprint());
  other.now = kit.now;
  other.device_iss = kit.device_iss;
  other.stamp = kit.stamp;
  other.device_stamp = kit.device_stamp;
  for (Kit* each : {&kit, &other}) {
    each->take();
    each->advance(Duration::seconds(3));
    EXPECT_EQ(each->take().size(), 3u);
    each->deliver(with_data(third, "hello"));
    EXPECT_EQ(each->received, "hello");
    EXPECT_EQ(each->info().retransmissions, 2u);
  }
  EXPECT_EQ(other.stack.fingerprint(), kit.stack.fingerprint());
}

// All contents of a SYN are part of the state.
TEST(SynCache, IsInTheFingerprint) {
  Config const config = cache_config(8);
  std::vector<std::uint64_t> prints;
  for (unsigned const names :
       {0u, names_mss, names_scale, names_stamps, names_sack, names_ecn, names_timeout}) {
    Kit kit(config);
    listen(kit, 8);
    kit.deliver(syn_naming(kit, names));
    prints.push_back(kit.stack.canonical(kit.now));
  }
  for (std::size_t i = 1; i < prints.size(); ++i) {
    EXPECT_NE(prints[0], prints[i]) << i;
  }
}

TEST(SynCache, SupportsIpv6) {
  Config config = six_config();
  config.tcp.window_scale = true;
  config.tcp.syn_cache_max = Count{4};
  config.tcp.syn_cache_after = Count{0};
  Six six(config);
  six.listen();
  auto const send = [&](wire::Segment segment) {
    SixPacket packet;
    segment.window = {65535};
    packet.payload = segment_octets(segment);
    six.deliver(packet);
  };
  wire::Segment segment;
  segment.sequence = {700};
  segment.flags = flag::syn;
  segment.options.has_window_scale = true;
  segment.options.window_scale = {2};
  send(segment);
  EXPECT_EQ(six.stack.pools().half_open, 1u);
  wire::Segment const answer = six.next_segment();
  EXPECT_EQ(answer.acknowledgment, Sequence{701});
  EXPECT_TRUE(answer.options.has_window_scale);
  segment = {};
  segment.sequence = {701};
  segment.flags = flag::ack;
  segment.acknowledgment = answer.sequence.next();
  send(segment);
  EXPECT_EQ(six.stack.inspect(six.id).state, State::established);
  EXPECT_EQ(six.stack.inspect(six.id).send.mss.count, 1220u);
  EXPECT_EQ(six.stack.inspect(six.id).send.wnd.count, 4u * 65535u);
}

}  // namespace
}  // namespace lockstep::testing
