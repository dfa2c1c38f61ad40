// Each invariant of TCP can fail: one change in the state of a valid stack makes check_invariants()
// stop the program. A child process makes the change.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/stack/body.hpp"
#include "core/stack/testing/flow_kit.hpp"
#include "core/stack/testing/syn_cache_kit.hpp"
#include "core/tcp/inspect.hpp"

namespace lockstep::testing {

// The engine of a stack, which is private. (An explicit instantiation may name private members.)
template <Stack::Body* Stack::* member>
struct Opened {
  friend Stack::Body& body_of(const Stack& stack) { return *(stack.*member); }
};
Stack::Body& body_of(const Stack& stack);
template struct Opened<&Stack::body_>;

namespace {

using memory::nil;
using tcp::Connection;
using tcp::Engine;
using tcp::InFlightState;
using ::testing::HasSubstr;

constexpr Duration ms(std::uint64_t count) { return Duration::milliseconds(count); }

Peer able_peer() {
  Peer peer;
  peer.round_trip = ms(50);
  peer.sack = true;
  peer.stamp = 1000;
  return peer;
}

Config open_config() {
  Config config = bare_config();
  config.tcp.nagle = false;
  config.tcp.accounts = true;
  return config;
}

// A connection in profile default for injecting defects.
class Patient : public Flow {
 public:
  explicit Patient(const Config& config = open_config(), const Peer& with = able_peer())
      : Flow(config, with) {
    auto_consume = false;
  }

  Engine& engine() const { return body_of(stack).engine; }
  Connection& connection() const { return engine().connection(id.slot); }
  tcp::Account& account() const { return engine().accounts[id.slot]; }
  InFlightState& active() const { return engine().active(connection()); }

  // Expects the program to stop at `condition` after `plant` has changed the state.
  template <class Plant>
  void expect_check(const char* condition, const Plant& plant) {
    stack.check_invariants();
    EXPECT_DEATH(
        {
          plant(*this);
          stack.check_invariants();
        },
        HasSubstr(condition));
  }
};

struct Defect {
  const char* condition;
  void (*plant)(Patient&);
};

template <std::size_t count>
void try_all(Patient& patient, const Defect (&defects)[count]) {
  for (Defect const& each : defects) {
    SCOPED_TRACE(each.condition);
    patient.expect_check(each.condition, each.plant);
  }
}

// Three segments in flight, and nothing else to send.
class Sending : public Patient {
 public:
  explicit Sending(const Config& config = open_config(), const Peer& with = able_peer())
      : Patient(config, with) {
    for (int i = 0; i < 3; ++i) {
      write_octets(900);
    }
  }
};

TEST(InvariantsDeathTest, OfSending) {
  Sending patient;
  constexpr Defect defects[] = {
      {"c.send.una.at_or_before(c.send.nxt)",
       [](Patient& p) { p.connection().send.una = p.connection().send.nxt.next(); }},
      {"synchronized(c.state) || c.send.iss.at_or_before(c.send.una)",
       [](Patient& p) {
         p.connection().state = State::syn_received;
         p.connection().send.iss = p.connection().send.una.next();
       }},
      {"!c.fin_sent || c.fin_queued", [](Patient& p) { p.connection().fin_sent = true; }},
      {"c.send.wnd <= c.send.wnd_max", [](Patient& p) { p.connection().send.wnd_max = {}; }},
      {"!synchronized(c.state) || c.congestion.cwnd.count >= c.mss",
       [](Patient& p) { p.connection().congestion.cwnd = Bytes{1}; }},
      {"!synchronized(c.state) || c.congestion.ssthresh.count >= c.mss",
       [](Patient& p) { p.connection().congestion.ssthresh = Bytes{1}; }},
  };
  try_all(patient, defects);
}

TEST(InvariantsDeathTest, OfReceiving) {
  Sending patient;
  constexpr Defect defects[] = {
      {"c.receive.nxt.at_or_before(c.receive.edge)",
       [](Patient& p) { p.connection().receive.edge = p.connection().receive.nxt.previous(); }},
      {"c.receive.read.at_or_before(c.receive.nxt)",
       [](Patient& p) { p.connection().receive.read = p.connection().receive.nxt.next(); }},
      {"!c.fin_taken || !peer_may_send(c.state)",
       [](Patient& p) { p.connection().fin_taken = true; }},
      {"c.options.receive_scale.shift <= 14",
       [](Patient& p) { p.connection().options.receive_scale.shift = 15; }},
      {"c.options.has(negotiated::window_scale) ||",
       [](Patient& p) { p.connection().options.send_scale.shift = 1; }},
      {"c.receive.edge.since(c.receive.nxt).count <= 0xffffu <<",
       [](Patient& p) {
         p.connection().receive.edge = p.connection().receive.nxt + Bytes{0x10000};
       }},
  };
  try_all(patient, defects);
}

TEST(InvariantsDeathTest, OfTheActivePart) {
  Sending patient;
  constexpr Defect defects[] = {
      {"c.active == nil || e.active(c).owner == e.slot_of(c)",
       [](Patient& p) { p.active().owner = 7; }},
      {"c.place == SendPlace::none || c.active != nil",
       [](Patient& p) {
         p.connection().place = tcp::SendPlace::ready;
         p.connection().active = nil;
       }},
      {"c.send.una == c.send.nxt", [](Patient& p) { p.connection().active = nil; }},
      {"(a.mode == RetransmitMode::idle) == a.retransmit_due.is_never()",
       [](Patient& p) { p.active().mode = tcp::RetransmitMode::idle; }},
      {"(a.delayed_segments == 0) == a.delayed.empty()",
       [](Patient& p) { p.active().delayed = Bytes{1}; }},
      {"a.delayed_segments == 0 || !a.delayed_ack_due.is_never()",
       [](Patient& p) {
         p.active().delayed = Bytes{1};
         p.active().delayed_segments = 1;
       }},
      {"a.retransmit_next.at_or_before(c.send.nxt)",
       [](Patient& p) { p.active().retransmit_next = p.connection().send.nxt.next(); }},
      {"c.send.nxt.at_or_before(c.fin_sent ? end.next() : end)",
       [](Patient& p) { --p.active().send.held; }},
      {"a.path_probe.size == 0 ||",
       [](Patient& p) {
         p.active().path_probe.size = 1500;
         p.active().path_probe.begin = p.connection().send.una.previous();
       }},
      {"!a.echo_armed ||",
       [](Patient& p) {
         p.active().echo_armed = true;
         p.connection().options.clear(tcp::negotiated::timestamps);
       }},
      {"a.watch != TimeoutWatch::news ||",
       [](Patient& p) {
         p.active().watch = tcp::TimeoutWatch::news;
         p.active().watch_end = p.connection().send.nxt.next();
       }},
      {"records == a.send.record_ends", [](Patient& p) { p.active().send.record_ends = 1; }},
  };
  try_all(patient, defects);
}

// Law 9: a connection with data and a window has a timer, data in flight, or a place in a queue.
TEST(InvariantsDeathTest, OfLiveness) {
  Sending sending;
  constexpr Defect in_flight[] = {
      {"c.send.una == c.send.nxt || a.mode != RetransmitMode::idle",
       [](Patient& p) {
         p.active().mode = tcp::RetransmitMode::idle;
         p.active().retransmit_due = Instant::never();
       }},
      {"queued || !a.any() || !synchronized(c.state)",
       [](Patient& p) { p.active().ack_now = true; }},
      {"e.wheel.due(a.owner) <= earlier(sending, a.slow_due)",
       [](Patient& p) { p.active().retransmit_due = Instant{1}; }},
      {"queued || e.wheel.due(a.owner) <= a.delayed_ack_due",
       [](Patient& p) {
         p.active().delayed = Bytes{1};
         p.active().delayed_segments = 1;
         p.active().delayed_ack_due = Instant{1};
       }},
  };
  try_all(sending, in_flight);
  // The window is closed; only the persist timer runs, and is stopped.
  Patient shut;
  shut.ack_with_window(1, 0);
  shut.write_octets(900);
  ASSERT_EQ(shut.flight(), 0u);
  constexpr Defect hangs[] = {{"queued || timed || !has_more(c, a)", [](Patient& p) {
                                 p.active().mode = tcp::RetransmitMode::idle;
                                 p.active().retransmit_due = Instant::never();
                               }}};
  try_all(shut, hangs);
  // An ACK is due now, and its connection has lost its place in the transmit queue.
  Patient owing;
  owing.send({.flags = flag::ack, .seq = 2001, .ack = 1, .data = "late"});
  auto const frame = owing.arriving().back();
  owing.arriving().clear();
  Ingress const burst[] = {{frame, Checksum::unknown, owing.now}};
  owing.stack.receive(owing.now, burst);
  owing.stack.settle();
  constexpr Defect silent[] = {
      {"queued || a.pending_ack_first == nil || !synchronized(c.state)",
       [](Patient& p) { p.connection().place = tcp::SendPlace::none; }},
      {"cut == a.pending_ack_cut", [](Patient& p) { p.active().pending_ack_cut = 1; }},
      {"duplicates == a.pending_ack_duplicates",
       [](Patient& p) { p.active().pending_ack_duplicates = 0; }},
      {"pending_acks == e.pending_acks.used()",
       [](Patient& p) {
         p.active().pending_ack_first = nil;
         p.active().pending_ack_duplicates = 0;
       }},
  };
  try_all(owing, silent);
}

TEST(InvariantsDeathTest, OfAnIdleConnection) {
  Patient patient;
  ASSERT_EQ(patient.connection().active, nil);
  constexpr Defect defects[] = {
      {"!c.slow || e.wheel.is_set(e.slot_of(c))",
       [](Patient& p) {
         p.connection().slow = true;
         p.engine().wheel.cancel(p.id.slot);
       }},
      {"!c.receive_urgent", [](Patient& p) { p.connection().receive_urgent = true; }},
      {"unread_of(c).empty()",
       [](Patient& p) { p.connection().receive.read = p.connection().receive.nxt.previous(); }},
  };
  try_all(patient, defects);
}

// Two gaps: [2001, 2005) and [4001, 4005).
class Gaping : public Patient {
 public:
  Gaping() {
    for (std::uint32_t const from : {2001u, 4001u}) {
      data(from, 4);
    }
  }
  tcp::Extent& first() const { return engine().extents[active().extents]; }
};

TEST(InvariantsDeathTest, OfDataAboveGaps) {
  Gaping patient;
  constexpr Defect defects[] = {
      {"extent.begin.after(above)",
       [](Patient& p) { static_cast<Gaping&>(p).first().begin = p.connection().receive.nxt; }},
      {"extent.end.after(extent.begin)",
       [](Patient& p) {
         auto& first = static_cast<Gaping&>(p).first();
         first.end = first.begin;
       }},
      {"extent.end.at_or_before(c.receive.edge)",
       [](Patient& p) {
         static_cast<Gaping&>(p).first().end = p.connection().receive.edge.next();
       }},
      {"(extent.next == nil) == (i == a.extent_last)",
       [](Patient& p) { p.active().extent_last = p.active().extents; }},
      {"count == a.extent_count", [](Patient& p) { p.active().extent_count = 3; }},
      {"extents == e.extents.used()",
       [](Patient& p) {
         static_cast<Gaping&>(p).first().next = nil;
         p.active().extent_last = p.active().extents;
         p.active().extent_count = 1;
       }},
      {"a.gap_blocks == 0 || a.extents != nil",
       [](Patient& p) {
         p.active().extents = nil;
         p.active().extent_count = 0;
       }},
      {"e.gaps().linked(c.active) == (a.extents != nil)",
       [](Patient& p) { p.active().gaps = memory::Link{}; }},
      {"gap_blocks == e.state->gap_blocks", [](Patient& p) { ++p.active().gap_blocks; }},
      {"gap_blocks == 0",
       [](Patient& p) {
         ++p.active().gap_blocks;
         ++p.engine().state->gap_blocks;
       }},
      {"extents == 0",
       [](Patient& p) {
         for (tcp::GapUse& use : p.engine().gap_uses.all()) {
           use.ranges += use.ranges != 0 ? 1 : 0;
         }
       }},
  };
  try_all(patient, defects);
}

TEST(InvariantsDeathTest, OfCongestionControl) {
  Config config = open_config();
  config.tcp.congestion = tcp::Congestion::dctcp;
  config.tcp.rate_samples = true;
  Sending patient(config);
  constexpr Defect defects[] = {
      {"c.ecn.rx || !c.ecn.tx",
       [](Patient& p) {
         p.connection().ecn.rx = false;
         p.connection().ecn.tx = true;
       }},
      {"c.ecn.rx || !c.ecn.echo",
       [](Patient& p) {
         p.connection().ecn.rx = p.connection().ecn.tx = false;
         p.connection().ecn.echo = true;
       }},
      {"c.ecn.tx || !c.ecn.cwr_due",
       [](Patient& p) {
         p.connection().ecn.tx = false;
         p.connection().ecn.cwr_due = true;
       }},
      {"dctcp::alpha_of(c.congestion) <= dctcp::alpha_one",
       [](Patient& p) { p.connection().congestion.kept = {~0u, ~0u}; }},
      {"e.marks[i].end.after(above)",
       [](Patient& p) { p.engine().marks[p.active().marks.first].end = p.connection().send.una; }},
      {"e.marks[i].end.at_or_before(c.send.nxt)",
       [](Patient& p) {
         p.engine().marks[p.active().marks.first].end = p.connection().send.nxt.next();
       }},
      {"count == a.marks.count", [](Patient& p) { ++p.active().marks.count; }},
      {"marks == e.marks.used()",
       [](Patient& p) {
         p.active().marks.first = nil;
         p.active().marks.count = 0;
       }},
  };
  try_all(patient, defects);
}

// Three segments were sent and the last was delivered: [1, 1801) and [1801, 2701), SACKed. Without
// RACK, so that no list by age interferes with the injected defects.
class Boarded : public Sending {
 public:
  explicit Boarded(const Config& config) : Sending(config) { sack(1, {{1801, 2701}}); }
  tcp::Sent& first() const { return engine().sent[active().board.order.first]; }
  tcp::Sent& last() const { return engine().sent[active().board.order.last]; }
};

Config board_config(bool rack) {
  Config config = open_config();
  config.tcp.rack = config.tcp.tail_probe = rack;
  return config;
}

TEST(InvariantsDeathTest, OfTheScoreboard) {
  Boarded patient(board_config(false));
  constexpr Defect defects[] = {
      {"at(order_.first()).begin == c.send.una",
       [](Patient& p) { static_cast<Boarded&>(p).first().begin = p.connection().send.iss; }},
      {"at(order_.last()).end == c.send.nxt",
       [](Patient& p) { static_cast<Boarded&>(p).last().end = p.connection().send.una; }},
      {"order_.count() <= e_.config.sent_per_connection.value",
       [](Patient& p) { p.active().board.order.count = 1u << 20; }},
      {"r.begin == end",
       [](Patient& p) {
         auto& last = static_cast<Boarded&>(p).last();
         last.begin = last.begin.next();
       }},
      {"r.end.after(r.begin)",
       [](Patient& p) {
         auto& first = static_cast<Boarded&>(p).first();
         first.end = first.begin;
       }},
      {"!r.sacked || (!r.lost && !r.retransmitted)",
       [](Patient& p) { static_cast<Boarded&>(p).last().lost = true; }},
      {"reached", [](Patient& p) { p.active().board.search = 60; }},
      {"!awaits",
       [](Patient& p) {
         static_cast<Boarded&>(p).first().lost = true;
         p.active().board.search = p.active().board.order.last;
       }},
      {"highest == s_.highest", [](Patient& p) { p.active().board.highest = nil; }},
      {"sums.sacked == s_.sacked", [](Patient& p) { p.active().board.sacked = {}; }},
      {"sums.runs == s_.runs", [](Patient& p) { p.active().board.runs = 2; }},
      {"sums.pipe == s_.pipe", [](Patient& p) { p.active().board.pipe = {}; }},
      {"sums.lost_not_retransmitted == s_.lost_not_retransmitted",
       [](Patient& p) { p.active().board.lost_not_retransmitted = Bytes{1}; }},
      {"sent == e.sent.used()", [](Patient& p) { p.active().board = tcp::ScoreboardState{}; }},
  };
  try_all(patient, defects);
  Boarded aged(board_config(true));
  constexpr Defect by_age[] = {{"age_.linked(i) == ages(r)", [](Patient& p) {
                                  static_cast<Boarded&>(p).first().age = memory::Link{};
                                }}};
  try_all(aged, by_age);
  Patient empty(open_config());
  empty.data(1, 4);
  ASSERT_NE(empty.connection().active, nil);
  constexpr Defect untracked[] = {
      {"age_.empty()", [](Patient& p) { p.active().board.age.first = 0; }},
      {"s_.pipe.empty()", [](Patient& p) { p.active().board.pipe = Bytes{1}; }},
  };
  try_all(empty, untracked);
}

TEST(InvariantsDeathTest, OfAccounts) {
  Sending patient;
  constexpr Defect defects[] = {
      {"account.repairs <= account.timeouts", [](Patient& p) { p.account().repairs = 1; }},
      {"account.repairs_since.is_never() || account.repairs_since <= e.state->now",
       [](Patient& p) { p.account().repairs_since = p.now + ms(1); }},
      {"account.repairs_since.is_never() || account.repair_end.after(c.send.una)",
       [](Patient& p) {
         p.account().repairs_since = p.now;
         p.account().repair_end = p.connection().send.una;
       }},
      {"account.rwnd_limited_since.is_never() || account.rwnd_limited_since <= e.state->now",
       [](Patient& p) { p.account().rwnd_limited_since = p.now + ms(1); }},
      {"account.data_segments_out <= c.segments_sent",
       [](Patient& p) { p.account().data_segments_out = 100; }},
      {"account.data_segments_in <= c.segments_received",
       [](Patient& p) { p.account().data_segments_in = 100; }},
      {"account.mss == 0 || c.mss_max <= account.mss", [](Patient& p) { p.account().mss = 64; }},
  };
  try_all(patient, defects);
}

TEST(InvariantsDeathTest, OfPools) {
  Sending patient;
  constexpr Defect defects[] = {
      {"(c.telling == TellPlace::half_open) == unknown",
       [](Patient& p) { p.connection().telling = tcp::TellPlace::half_open; }},
      {"actives == e.actives.used()",
       [](Patient& p) {
         p.connection().active = nil;
         p.connection().send.nxt = p.connection().send.una;
       }},
      {"promised == e.pools.blocks.promised()", [](Patient& p) { p.active().promised = 1; }},
      {"listed == e.ready().count()",
       [](Patient& p) { p.connection().place = tcp::SendPlace::ready; }},
      {"refused == e.state->refused", [](Patient& p) { p.engine().state->refused = 1; }},
      {"half_open == e.half_open_records().count()",
       [](Patient& p) { p.engine().state->half_open_records.count = 1; }},
  };
  try_all(patient, defects);
  // There is no connection that could hold anything.
  Kit kit(open_config());
  Engine& engine = body_of(kit.stack).engine;
  EXPECT_DEATH(
      {
        static_cast<void>(engine.pools.blocks.take());
        kit.stack.check_invariants();
      },
      HasSubstr("e.pools.blocks.used() == 0"));
  EXPECT_DEATH(
      {
        static_cast<void>(engine.pools.pieces.take());
        kit.stack.check_invariants();
      },
      HasSubstr("e.pools.pieces.used() == 0"));
  EXPECT_DEATH(tcp::check_invariants(engine, engine.connections.view()[3]),
               HasSubstr("e.connections.taken(e.slot_of(c))"));
}

TEST(InvariantsDeathTest, OfTheSynCache) {
  Kit kit(cache_config(8));
  listen(kit, 8);
  kit.deliver({.flags = flag::syn, .mss = 1460});
  kit.now = kit.now + ms(1);
  kit.peer = IpAddress::v4(10, 0, 0, 3);
  kit.deliver({.flags = flag::syn, .mss = 1460});
  Engine& e = body_of(kit.stack).engine;
  ASSERT_EQ(e.half_opens.used(), 2u);
  memory::Index const first = e.half_open_queue(0).first();
  memory::Index const second = e.half_open_queue(0).last();
  auto const expect_check = [&](const char* condition, auto plant) {
    EXPECT_DEATH(
        {
          plant();
          kit.stack.check_invariants();
        },
        HasSubstr(condition));
  };
  expect_check("queue.empty() == ((e.state->half_open_tries >> tries & 1) == 0)",
               [&] { e.state->half_open_tries = 0; });
  expect_check("h.tries == tries", [&] { e.half_opens[first].tries = 1; });
  expect_check("h.due >= due", [&] { e.half_opens[first].due = e.half_opens[second].due + ms(1); });
  expect_check("h.due >= e.wheel.due(e.half_open_timer())",
               [&] { e.half_opens[first].due = Instant{1}; });
  expect_check("e.listeners.taken(h.listener)", [&] { e.half_opens[first].listener = 7; });
  expect_check("find_half_open(e, e.tuple_of(h), h.local_address) == at",
               [&] { e.half_opens[first].remote_port = {7}; });
  expect_check("queued == e.half_opens.used()", [&] { static_cast<void>(e.half_opens.take()); });
  expect_check("weighed == 0", [&] { ++e.listeners[e.half_opens[first].listener].half_open; });
}

}  // namespace
}  // namespace lockstep::testing
