// The SYN cache (RFC 4987 3.5): its records, their timer, and the segments that arrive for them.
#include "core/tcp/opening/syn_cache.hpp"

#include <algorithm>
#include <bit>

#include "core/tcp/accounts.hpp"
#include "core/tcp/act.hpp"
#include "core/tcp/arrives.hpp"
#include "core/tcp/challenge.hpp"
#include "core/tcp/ecn.hpp"
#include "core/tcp/expiry.hpp"
#include "core/tcp/judge.hpp"
#include "core/tcp/lifecycle.hpp"
#include "core/tcp/opening/cookies.hpp"
#include "core/tcp/opening/fast_open.hpp"
#include "core/tcp/opening/isn.hpp"
#include "core/tcp/output.hpp"
#include "core/tcp/path.hpp"
#include "core/tcp/replies.hpp"
#include "core/tcp/rtt.hpp"
#include "core/tcp/segment_options.hpp"
#include "core/tcp/timestamps.hpp"
#include "core/tcp/window_scale.hpp"
#include "core/units/check.hpp"

namespace lockstep::tcp {
namespace {

// After this many SYN-ACK retransmissions the peer is unlikely to answer.
constexpr std::uint32_t hopeless_tries = 3;

void count_up(std::uint8_t& counter) {
  counter = static_cast<std::uint8_t>(std::min(counter + 1, 255));
}

// The record of a SYN, without the fields that keep_half_open() fills in: listener, ISS and times.
HalfOpen record_of(const InboundSegment& arrival) {
  wire::Segment const& syn = arrival.segment;
  wire::Options const& options = syn.options;
  HalfOpen h;
  h.remote = arrival.remote;
  h.remote_port = syn.source;
  h.local_port = syn.destination;
  h.local_address = arrival.local_address;
  h.irs = syn.sequence;
  h.window = syn.window;
  h.mss = options.mss;
  h.scale = options.window_scale;
  h.timestamp = options.timestamp_value;
  h.user_timeout = options.has_user_timeout ? options.user_timeout : std::uint16_t{0};
  bool const ecn = syn.flags.all_of(wire::flag::ece | wire::flag::cwr);
  h.brought = static_cast<std::uint8_t>((options.has_mss ? brought::mss : 0) |
                                        (options.has_window_scale ? brought::window_scale : 0) |
                                        (options.has_timestamps ? brought::timestamps : 0) |
                                        (options.has_sack_permitted ? brought::sack : 0) |
                                        (ecn ? brought::ecn : 0));
  return h;
}

// The SYN as it arrived, as far as the record keeps it.
wire::Segment syn_of(const HalfOpen& h) {
  wire::Segment syn;
  syn.sequence = h.irs;
  syn.flags = wire::flag::syn;
  if (h.has(brought::ecn)) {
    syn.flags |= wire::flag::ece | wire::flag::cwr;
  }
  syn.window = h.window;
  syn.options.has_mss = h.has(brought::mss);
  syn.options.mss = h.mss;
  syn.options.has_window_scale = h.has(brought::window_scale);
  syn.options.window_scale = h.scale;
  syn.options.has_timestamps = h.has(brought::timestamps);
  syn.options.timestamp_value = h.timestamp;
  syn.options.has_sack_permitted = h.has(brought::sack);
  syn.options.has_user_timeout = h.user_timeout != 0;
  syn.options.user_timeout = h.user_timeout;
  return syn;
}

// The retransmission timeout after `tries` retransmissions.
Duration timeout_after(const Config& config, std::uint8_t tries) {
  RttVariables rtt;
  rtt.set_rto(config.rto_initial);
  for (std::uint8_t i = 0; i < tries; ++i) {
    back_off(rtt, config);
  }
  return rtt.rto();
}

Instant give_up_of(const Engine& e, const HalfOpen& h) {
  return h.opened + syn_received_limit(e, e.fresh.user_timeout_ms);
}

// One queue holds the records with the same number of retransmissions. All of them have the same
// timeout, so each queue is ordered by due time and by age, and a record with more retransmissions
// is older than one with fewer.
void enqueue(Engine& e, Index at) {
  HalfOpen& h = e.half_opens[at];
  h.due = earlier(due_in(e, timeout_after(e.config, h.tries)), give_up_of(e, h));
  e.half_open_queue(h.tries).push_back(at);
  e.state->half_open_tries |= std::uint64_t{1} << h.tries;
  if (h.due < e.wheel.due(e.half_open_timer())) {
    e.wheel.set(e.half_open_timer(), h.due);
  }
}

void dequeue(Engine& e, Index at) {
  std::uint8_t const tries = e.half_opens[at].tries;
  e.half_open_queue(tries).remove(at);
  if (e.half_open_queue(tries).empty()) {
    e.state->half_open_tries &= ~(std::uint64_t{1} << tries);
  }
  if (e.state->half_open_tries == 0) {
    e.wheel.cancel(e.half_open_timer());
  }
}

void forget(Engine& e, Index at) {
  HalfOpen const& h = e.half_opens[at];
  e.leave_table(e.hash_of(h), {EntryKind::half_open, at});
  dequeue(e, at);
  --e.listeners[h.listener].half_open;
  e.half_opens.give(at);
}

// The record that is due first, or nil if the cache is empty. Looks at 64 records at most.
Index first_due(const Engine& e) {
  Index first = nil;
  for (std::uint64_t left = e.state->half_open_tries; left != 0; left &= left - 1) {
    Index const head = e.half_open_queue(static_cast<std::uint8_t>(std::countr_zero(left))).first();
    if (first == nil || e.half_opens[head].due < e.half_opens[first].due) {
      first = head;
    }
  }
  return first;
}

// The oldest record of this listener. If none of the 64 oldest records is this listener's: the
// oldest record of all if the cache is full, because the other listeners flood it too; else nil.
Index oldest_of(const Engine& e, Index at_listener) {
  constexpr std::uint32_t looks_max = 64;
  std::uint32_t looks = 0;
  Index oldest = nil;
  for (std::uint64_t left = e.state->half_open_tries; left != 0;) {
    auto const tries = static_cast<std::uint8_t>(std::bit_width(left) - 1);
    left ^= std::uint64_t{1} << tries;
    auto const queue = e.half_open_queue(tries);
    for (Index at = queue.first(); at != nil && looks != looks_max; at = queue.next(at)) {
      if (e.half_opens[at].listener == at_listener) {
        return at;
      }
      oldest = oldest == nil ? at : oldest;
      ++looks;
    }
  }
  return e.half_opens.available() == 0 ? oldest : nil;
}

Index oldest(const Engine& e) {
  std::uint64_t const tries = e.state->half_open_tries;
  CHECK(tries != 0);
  return e.half_open_queue(static_cast<std::uint8_t>(std::bit_width(tries) - 1)).first();
}

// Makes room for one more record of this listener, which may use at most three quarters of the
// cache.
//= rfc4987#3.5
//# 4987:SYN-4 bounded for each listener, where a table without buckets has no bound for a bucket
// While a cookie can answer the next SYN, only records are evicted whose SYN-ACK has left four
// times: a slow client keeps its record, and a slow stream of SYNs from forged addresses does not
// occupy the cache for good.
bool make_room(Engine& e, Index at_listener, bool pressed) {
  std::uint32_t const most = e.config.syn_cache_max.value;
  bool const has_share = e.listeners[at_listener].half_open >= most - most / 4;
  if (!has_share && e.half_opens.available() != 0) {
    return true;
  }
  bool const cookies = e.config.syn_cookies != SynCookies::off;
  if (!pressed && !cookies) {
    return false;
  }
  //= rfc4987#3.5
  //# 4987:SYN-4 the oldest entry is dropped when the limit is reached
  Index const victim = has_share ? oldest_of(e, at_listener) : oldest(e);
  if (victim == nil || (cookies && e.half_opens[victim].tries < hopeless_tries)) {
    return false;
  }
  forget(e, victim);
  ++e.counters->half_opens_evicted;
  return true;
}

// The fields that all answers have in common.
wire::Segment answer_of(const Connection& c) {
  wire::Segment out;
  out.source = c.local_port;
  out.destination = c.remote_port;
  out.acknowledgment = c.receive.nxt;
  out.flags = wire::flag::ack;
  return out;
}

// An answer goes to the link address that the segment came from: a flood with forged addresses must
// not cause neighbour requests. `arrival` is null for a retransmission.
internet::ReplyHeader header_to(const Engine& e, const Connection& c,
                                const InboundSegment* arrival) {
  internet::ReplyHeader header;
  header.source = e.local_of(c);
  header.destination = c.remote;
  header.time_to_live = c.ttl;
  header.traffic_class = static_cast<std::uint8_t>(c.dscp << 2);
  if (arrival != nullptr) {
    header.has_mac = true;
    header.mac = arrival->from;
  }
  return header;
}

// <SEQ=ISS><ACK=IRS+1><CTL=SYN,ACK>, the same as that of a connection.
void send_syn_ack(Engine& e, HalfOpen& h, const InboundSegment* arrival) {
  Connection c = view_of(e, h);
  SegmentPlan plan;
  plan.kind = PlanKind::data;
  plan.syn = true;
  plan.retransmitted = h.sent != 0;
  wire::Segment out = answer_of(c);
  out.sequence = h.iss;
  out.flags |= wire::flag::syn | ecn::syn_flags(e.config, c, plan.retransmitted);
  //= rfc7323#2.2
  //# 7323:TS-2 the window of a SYN is not scaled
  out.window = window_to_wire(c.receive.edge.since(c.receive.nxt), WindowScale{});
  out.options = options_of(e, c, plan, {});
  out.options.mss = accounts::least_mss(e.listeners[h.listener].mss, Bytes{out.options.mss});
  if (!plan.retransmitted && h.has(brought::fast_open)) {
    add_cookie(e, c, out.options);
  }
  internet::ReplyHeader header = header_to(e, c, arrival);
  //= rfc9293#3.8.3
  //# 9293:MUST-20 at R1 IP is advised
  header.doubtful = arrival == nullptr && h.tries == e.config.r1_retransmissions.value;
  if (!reply(e, header, out)) {
    return;
  }
  count_up(h.sent);
  if (plan.retransmitted) {
    count_up(h.retransmitted);
    ++e.counters->retransmissions;
  }
}

// <SEQ=SND.NXT><ACK=RCV.NXT><CTL=ACK>: the answer to an unacceptable segment.
void send_ack(Engine& e, HalfOpen& h, Connection& c, const InboundSegment& arrival) {
  wire::Segment const& s = arrival.segment;
  SegmentPlan plan;
  plan.kind = PlanKind::ack;
  Report report;
  if (c.sack && e.config.dsack && !s.payload.empty() && s.end().at_or_before(c.receive.nxt)) {
    //= rfc2883#4
    //# 2883:DSACK-1 data before the window is a duplicate
    Sequence const begin = s.flags.syn() ? s.sequence.next() : s.sequence;
    report.blocks[0] = {begin, begin + Bytes{static_cast<std::uint32_t>(s.payload.size())}};
    report.count = 1;
  }
  wire::Segment out = answer_of(c);
  out.sequence = c.send.nxt;
  out.window = window_to_wire(c.receive.edge.since(c.receive.nxt), c.options.receive_scale);
  out.options = options_of(e, c, plan, report);
  if (reply(e, header_to(e, c, &arrival), out)) {
    count_up(h.sent);
  }
}

// A record, and the connection that it stands for, as act() needs it.
struct JudgedHalfOpen {
  Index at;
  Connection& view;

  HalfOpen& of(Engine& e) const { return e.half_opens[at]; }
  bool may_answer(Engine& e) { return tcp::may_answer(e, of(e)); }
  bool may_challenge(Engine& e) { return tcp::may_challenge(e, of(e)); }
  void acknowledge(Engine& e, const InboundSegment& arrival, const wire::Segment&) {
    send_ack(e, of(e), view, arrival);
  }
  //= rfc9293#3.10.7.4
  //# 9293:P-RST-SYNRCVD SYN-RECEIVED from LISTEN goes back there, and the user need not know
  void end(Engine& e, Cause) { forget(e, at); }
  void end_by_reset(Engine& e) { forget(e, at); }
  Index cookie_listener(Engine& e) { return of(e).listener; }
};

// Fills in a connection in SYN-RECEIVED, with all variables as if it had never been in the cache.
void fill(Engine& e, Connection& c, const HalfOpen& h) {
  enter(e, c, State::syn_received);
  process_syn(e, c, syn_of(h));
  c.send.nxt = h.iss.next();
  c.ecn.offered = c.ecn.rx;
  c.heard_at = h.opened;
  c.retries = h.tries;
  c.syn_lost = h.tries != 0;
  c.rtt.set_rto(timeout_after(e.config, h.tries));
  c.sent_at = h.tries == 0 ? h.opened : earlier(h.due - c.rtt.rto(), e.state->now);
  c.segments_sent = h.sent;
  c.segments_received = h.received;
  c.retransmissions = h.retransmitted;
  c.answers = h.answers;
  c.challenges = h.challenges;
  c.answers_second = h.answers_second;
  if (path_may_differ(e, c)) {
    follow_path(e, c);
  }
  InFlightState& a = e.active(c);
  //= rfc6298#3
  //# 6298:RTO-6 no sample from a segment that was retransmitted
  a.timing = h.retransmitted == 0;
  a.timed = c.send.nxt;
  a.timed_at = h.opened;
  a.mode = RetransmitMode::retransmit;
  a.unacked_since = h.opened;
  a.retransmit_due = h.due;
  a.give_up_due = give_up_of(e, h);
}

// Our SYN is acknowledged: the connection gets its full record. Without room for one the segment is
// dropped; as the SYN-ACK is retransmitted meanwhile, a later segment may find room.
Drop promote(Engine& e, Index at, const InboundSegment& arrival) {
  HalfOpen const h = e.half_opens[at];
  if (accept_queue_full(e.listeners[h.listener])) {
    return Drop::tcp_listen_full;
  }
  Connection* const opened =
      make_room_for_one(e) ? open_passive(e, h.listener, arrival, h.iss) : nullptr;
  if (opened == nullptr) {
    return Drop::tcp_connections_full;
  }
  Connection& c = *opened;
  forget(e, at);
  fill(e, c, h);
  ++e.counters->half_opens_promoted;
  Drop const drop = arrives_other_states(e, c, arrival);
  CHECK(c.state != State::syn_received);
  return drop;
}

// A SYN at IRS: the peer's SYN, retransmitted, or the SYN-ACK of a simultaneous open.
bool is_same_syn(const HalfOpen& h, const wire::Segment& s) {
  return s.flags.syn() && !s.flags.rst() && s.sequence == h.irs;
}

void process_syn_again(const Engine& e, HalfOpen& h, Connection& c, const wire::Segment& syn) {
  ecn::process_syn_again(c, syn.flags);
  // Hosts whose SYNs are not answered leave options out.
  //= rfc7323#3.2
  //# 7323:TS-39 what the newer SYN lacks is not agreed on
  wire::Options const& options = syn.options;
  int const lost = (c.ecn.rx ? 0 : brought::ecn) |
                   (options.has_window_scale ? 0 : brought::window_scale) |
                   (options.has_timestamps ? 0 : brought::timestamps) |
                   (options.has_sack_permitted ? 0 : brought::sack);
  if ((h.brought & lost) != 0) {
    h.brought = static_cast<std::uint8_t>(h.brought & ~lost);
    c = view_of(e, h);
  }
}

// The timer of a record fired: the SYN-ACK is retransmitted, or the record is given up.
void retransmit(Engine& e, Index at) {
  HalfOpen& h = e.half_opens[at];
  if (give_up_of(e, h) <= e.state->now || h.tries == half_open_tries_max) {
    ++e.counters->timers_fired[static_cast<std::uint32_t>(TimerKind::give_up)];
    forget(e, at);
    return;
  }
  ++e.counters->timers_fired[static_cast<std::uint32_t>(TimerKind::retransmit)];
  ++e.counters->timeouts;
  dequeue(e, at);
  ++h.tries;
  enqueue(e, at);
  send_syn_ack(e, h, nullptr);
}

}  // namespace

[[gnu::cold]] std::uint32_t Engine::hash_of(const HalfOpen& h) const {
  return demux.hash_of(tuple_of(h));
}

Connection view_of(const Engine& e, const HalfOpen& h) {
  Connection c = e.fresh;
  c.state = State::syn_received;
  c.passive = true;
  c.remote = h.remote;
  c.remote_port = h.remote_port;
  c.local_port = h.local_port;
  c.local_address = h.local_address;
  c.heard_at = h.opened;
  c.ttl = e.ttl_to(c.remote);
  adopt_settings(e.listeners[h.listener], c);
  c.send.iss = h.iss;
  c.send.una = h.iss;
  c.send.nxt = h.iss.next();
  if (e.config.timestamps) {
    c.options.ts_offset = timestamp_offset(e.config, e.tuple_of(c));
  }
  learn_syn(e, c, syn_of(h));
  return c;
}

std::uint32_t half_open_records(const Config& config, Count backlog) {
  if (config.syn_cache_max.value == 0) {
    return Count::unlimited().value;
  }
  std::uint64_t const part = std::uint64_t{backlog.value} * config.syn_cache_after.value;
  return static_cast<std::uint32_t>((part + 99) / 100);
}

//= rfc4987#3.5
//# 4987:SYN-4 a small record under a keyed hash, and no full record before the handshake is over
[[gnu::cold]] bool keep_half_open(Engine& e, Index at_listener, const InboundSegment& arrival,
                                  bool pressed) {
  Listener& listener = e.listeners[at_listener];
  if (e.config.syn_cache_max.value == 0 || may_open_fast(e, listener, arrival) ||
      !make_room(e, at_listener, pressed)) {
    return false;
  }
  Index const at = e.half_opens.take();
  CHECK(at != nil);
  HalfOpen& h = e.half_opens[at];
  h = record_of(arrival);
  h.listener = at_listener;
  if (wants_cookie(e, listener, arrival)) {
    h.brought |= brought::fast_open;
  }
  h.opened = e.state->now;
  h.iss = initial_sequence(e.config, tuple_of(arrival), e.state->now);
  e.demux.insert(arrival.hash, {EntryKind::half_open, at});
  ++listener.half_open;
  ++e.counters->half_opens_kept;
  enqueue(e, at);
  send_syn_ack(e, h, &arrival);
  return true;
}

Index find_half_open(const Engine& e, const FourTuple& tuple, std::uint16_t local_address) {
  TableEntry const found = e.demux.find(e.demux.hash_of(tuple), [&](TableEntry candidate) {
    if (candidate.kind != EntryKind::half_open) {
      return false;
    }
    HalfOpen const& h = e.half_opens[candidate.index];
    return h.remote == tuple.remote.address && h.remote_port == tuple.remote.port &&
           h.local_port == tuple.local.port && h.local_address == local_address;
  });
  return found.kind == EntryKind::half_open ? found.index : nil;
}

[[gnu::cold]] Drop arrives_half_open(Engine& e, Index at, const InboundSegment& arrival) {
  HalfOpen& h = e.half_opens[at];
  count_up(h.received);
  Connection c = view_of(e, h);
  wire::Segment s = arrival.segment;
  if (is_same_syn(h, s)) {
    process_syn_again(e, h, c, s);
    if (!s.flags.ack() || s.acknowledgment != c.send.nxt) {
      if (e.config.answer_interval == Duration{} || may_answer(e, h)) {
        send_syn_ack(e, h, &arrival);
      }
      return Drop::tcp_out_of_window;
    }
    //= rfc9293#A.2
    //# 9293:P-SEQVAL-A2 the SYN-ACK of a simultaneous open would fail the sequence test
    s.flags = s.flags.without(wire::flag::syn);
    s.sequence = s.sequence.next();
  }
  Disposition const disposition = judge(ConnectionView{e, c}, s);
  return disposition.action == Action::accept
             ? promote(e, at, arrival)
             : act(e, JudgedHalfOpen{at, c}, arrival, s, disposition);
}

[[gnu::cold]] void expire_half_open(Engine& e) {
  Index const first = first_due(e);
  if (first != nil && e.half_opens[first].due <= e.state->now) {
    retransmit(e, first);
  }
  Index const next = first_due(e);
  if (next != nil) {
    e.wheel.set(e.half_open_timer(), e.half_opens[next].due);
  }
}

[[gnu::cold]] Drop process_half_open_error(Engine& e, const internet::IcmpError& error,
                                           std::uint16_t local_address) {
  Index const at = find_half_open(e, error.quoted, local_address);
  if (at == nil) {
    return Drop::icmp_quote_unknown;
  }
  //= rfc5927#4.1
  //# 5927:ICMP-1 the quoted number must lie in [SND.UNA, SND.NXT)
  if (error.quoted_sequence != e.half_opens[at].iss) {
    return Drop::icmp_quote_outside;
  }
  //= rfc9293#3.8.3
  //# 9293:P-SYN-FAIL an open can fail so
  if (error.kind == internet::IcmpErrorKind::hard) {
    forget(e, at);
  }
  return Drop::none;
}

[[gnu::cold]] void forget_half_opens(Engine& e, Index listener) {
  for (Index at = 0; e.listeners[listener].half_open != 0; ++at) {
    if (e.half_opens.taken(at) && e.half_opens[at].listener == listener) {
      forget(e, at);
    }
  }
}

}  // namespace lockstep::tcp
