// TIME-WAIT in a compact record of its own.
#include "core/tcp/time_wait.hpp"

#include "core/tcp/acceptable.hpp"
#include "core/tcp/arrives.hpp"
#include "core/tcp/challenge.hpp"
#include "core/tcp/lifecycle.hpp"
#include "core/tcp/replies.hpp"
#include "core/tcp/timestamps.hpp"
#include "core/units/check.hpp"

namespace lockstep::tcp {
namespace {

void restart(Engine& e, Index record) {
  TimeWait& t = e.time_waits[record];
  //= rfc9293#3.6.1
  //# 9293:MUST-13 the active closer stays for twice the MSL
  t.due = e.state->now + e.config.msl * 2;
  e.wheel.set(e.time_wait_timer(record), t.due);
  e.time_wait_order().remove(record);
  e.time_wait_order().push_back(record);
}

// A free record; nil if all are suspended behind new SYNs, and none can give way.
Index alloc_record(Engine& e) {
  Index const record = e.time_waits.take();
  if (record != nil) {
    return record;
  }
  // Bounded: the oldest gives way, counted.
  ++e.counters->time_wait_evicted;
  if (e.time_wait_order().empty()) {
    return nil;
  }
  Index const oldest = e.time_wait_order().first();
  forget_time_wait(e, oldest);
  return e.time_waits.take();
}

TimeWait record_of(const Connection& c) {
  TimeWait t;
  t.remote = c.remote;
  t.remote_port = c.remote_port;
  t.local_port = c.local_port;
  t.local_address = c.local_address;
  t.hash = c.hash;
  t.ttl = c.ttl;
  t.dscp = c.dscp;
  t.send_nxt = c.send.nxt;
  t.receive_nxt = c.receive.nxt;
  t.receive_wnd = c.receive.edge.since(c.receive.nxt);
  t.options = c.options;
  return t;
}

// Into the pool, not yet into the table; where there is no room it is forgotten: nil.
Index keep(Engine& e, const TimeWait& t) {
  Index const record = alloc_record(e);
  if (record != nil) {
    e.time_waits[record] = t;
    e.wheel.set(e.wheel.open({e.time_wait_timer(record)}), t.due);
    e.time_wait_order().push_back(record);
  }
  return record;
}

bool anything_owed(const InFlightState& a) {
  return a.pending_ack_first != nil || a.ack_now || a.delayed_segments != 0;
}

[[gnu::cold]] void challenge(Engine& e, TimeWait& t) {
  if (may_challenge(e, t)) {
    send_time_wait_ack(e, t);
  }
}

// The ACK that an unacceptable segment draws.
[[gnu::cold]] void answer(Engine& e, TimeWait& t, const wire::Segment& segment) {
  //= rfc5961#7
  //# 5961:BLIND-7 empty ones within a limit: ACKs of ACKs might never end
  if (!segment.length().empty() || may_answer(e, t)) {
    send_time_wait_ack(e, t);
  }
}

// The ACK of a segment to TIME-WAIT: all that we sent was acknowledged, so SND.UNA is SND.NXT. The
// record doesn't keep the largest window, so the largest that there can be stands for it.
//= rfc9293#3.5.2
//# 9293:P-RST-GRP3 an unacceptable ACK draws an ACK in TIME-WAIT, too
Drop judge_acknowledgment(const Config& config, const TimeWait& t, Sequence acknowledgment) {
  if (acknowledgment.after(t.send_nxt)) {
    return Drop::tcp_ack_of_unsent;
  }
  //= rfc5961#5.2
  //# 5961:BLIND-10 or the fixed maximum of 65,535 octets, as it is scaled
  Bytes const window_max{0xffffu << t.options.send_scale.shift};
  bool const old = acknowledgment.before(t.send_nxt - window_max);
  return old && config.reset_policy == ResetPolicy::rfc5961 ? Drop::tcp_ack_too_old : Drop::none;
}

// PAWS, for a segment with neither RST nor SYN.
Drop judge_timestamp(Engine& e, TimeWait& t, const wire::Segment& segment) {
  wire::Options const& options = segment.options;
  if (!options.has_timestamps) {
    return e.config.timestamps_required ? Drop::tcp_timestamp_missing : Drop::none;
  }
  if (is_older({options.timestamp_value, t.options.ts_recent})) {
    answer(e, t, segment);
    return Drop::tcp_timestamp_old;
  }
  return Drop::none;
}

// Only of what lies in the window, or is the peer's FIN again, to the octet: a forged stamp would
// make the peer's next SYN look old.
//= rfc7323#5.3
//# 7323:TS-45, 7323:TS-46 what is not acceptable is rejected (R2), then the stamp recorded (R3)
void record_timestamp(TimeWait& t, const wire::Segment& segment) {
  if (t.options.has(negotiated::timestamps) && segment.options.has_timestamps &&
      segment.sequence.at_or_before(t.receive_nxt)) {
    t.options.ts_recent = segment.options.timestamp_value;
  }
}

//= rfc9293#3.10.7.4
//# 9293:P-RST-CLOSING an accepted RST ends TIME-WAIT
[[gnu::cold]] Drop process_reset(Engine& e, Index record, const wire::Segment& segment) {
  TimeWait& t = e.time_waits[record];
  bool const exact = segment.sequence == t.receive_nxt;
  bool const inside = exact || segment.sequence.inside(t.receive_nxt, t.receive_wnd);
  if (!inside) {
    return Drop::tcp_reset_outside;
  }
  if (e.config.time_wait_ignores_reset) {
    //= rfc1337#3
    //# 1337:TW-5 a reset does not assassinate TIME-WAIT
    //# 1337:TW-8 not even the one that our own ACK of an old duplicate has drawn
    //= rfc1337#2
    //# 1337:TW-9 so neither old data nor old ACKs ever find the next connection
    return Drop::tcp_reset_time_wait;
  }
  if (!exact && e.config.reset_policy == ResetPolicy::rfc5961) {
    challenge(e, t);
    return Drop::tcp_reset_challenged;
  }
  forget_time_wait(e, record);
  return Drop::none;
}

// Whether the SYN is clearly a new one.
bool is_new(const Engine& e, const TimeWait& t, const wire::Segment& syn) {
  bool const stamped = e.config.timestamps && syn.options.has_timestamps;
  bool const was_stamped = t.options.has(negotiated::timestamps);
  //= rfc9293#3.6.1
  //# 9293:MAY-2 a SYN beyond the old connection's last number may reopen it
  //= rfc6191#2
  //# 6191:TW-6 not only beyond what was seen last: beyond its FIN, and the number after that
  bool const beyond = syn.sequence.after(t.receive_nxt);
  //= rfc6191#2
  //# 6191:TW-7 both the SYN and its answer would have them
  if (stamped && was_stamped) {
    //= rfc9293#3.6.1
    //# 9293:SHLD-4 the timestamps decide where both lives have them
    //= rfc6191#2
    //# 6191:TW-1 a later timestamp will do
    //# 6191:TW-2 with the same one the number decides
    std::uint32_t const stamp = syn.options.timestamp_value;
    return is_older({t.options.ts_recent, stamp}) || (stamp == t.options.ts_recent && beyond);
  }
  //= rfc6191#2
  //# 6191:TW-4 a new life with timestamps after one without is new
  //# 6191:TW-3 one without is new by its number alone
  return stamped || beyond;
}

//= rfc9293#3.10.7.4
//# 9293:P-SYN-TW, 9293:P-TW-SYN-6191 a SYN in TIME-WAIT
[[gnu::cold]] Drop process_syn(Engine& e, Index record, const InboundSegment& arrival) {
  wire::Segment const& segment = arrival.segment;
  TimeWait& t = e.time_waits[record];
  if (e.config.time_wait_reuse && !segment.flags.ack() && is_new(e, t, segment)) {
    Index const listener = find_listener(e, tuple_of(e, t));
    if (listener != nil) {
      suspend_time_wait(e, record);
      return arrives_listen(e, listener, arrival, record);
    }
  }
  bool const inside = segment.sequence.inside(t.receive_nxt, t.receive_wnd);
  if (inside && e.config.reset_policy == ResetPolicy::rfc793) {
    reply_reset(e, arrival);
    forget_time_wait(e, record);
    return Drop::tcp_syn_in_window;
  }
  if (!inside) {
    send_time_wait_ack(e, t);
    return Drop::tcp_out_of_window;
  }
  challenge(e, t);
  return Drop::tcp_syn_challenged;
}

}  // namespace

FourTuple tuple_of(const Engine& e, const TimeWait& t) {
  return {{e.addresses[t.local_address], t.local_port}, {t.remote, t.remote_port}};
}

//= rfc9293#3.6
//# 9293:P-NORMCLOSE, 9293:P-SIMCLOSE the end of figures 12 and 13
void begin_time_wait(Engine& e, Connection& c) {
  TimeWait t = record_of(c);
  t.due = e.state->now + e.config.msl * 2;
  if (c.active != nil && anything_owed(e.active(c))) {
    send_time_wait_ack(e, t);
  }
  Found const before{EntryKind::connection, e.slot_of(c)};
  Index const record = keep(e, t);
  if (record == nil) {
    e.leave_table(c.hash, before);
  } else {
    e.demux.replace(t.hash, before, {EntryKind::time_wait, record});
  }
  enter(e, c, State::time_wait);
  detach(e, c, Cause::finished);
}

[[gnu::cold]] Drop arrives_time_wait(Engine& e, Index record, const InboundSegment& arrival) {
  wire::Segment const& segment = arrival.segment;
  TimeWait& t = e.time_waits[record];
  if (segment.flags.rst()) {
    return process_reset(e, record, segment);
  }
  if (segment.flags.syn()) {
    return process_syn(e, record, arrival);
  }
  if (t.options.has(negotiated::timestamps)) {
    Drop const bad = judge_timestamp(e, t, segment);
    if (bad != Drop::none) {
      return bad;
    }
  }
  //= rfc9293#3.10.7.4
  //# 9293:P-TIMEWAIT-ACK, 9293:P-FIN-TW the retransmitted FIN is acknowledged and restarts 2 MSL
  if (segment.flags.all_of(wire::flag::fin | wire::flag::ack) && segment.end() == t.receive_nxt) {
    record_timestamp(t, segment);
    send_time_wait_ack(e, t);
    restart(e, record);
    return Drop::none;
  }
  if (!acceptable({t.receive_nxt, t.receive_wnd}, segment.sequence, segment.length())) {
    answer(e, t, segment);
    return Drop::tcp_out_of_window;
  }
  if (!segment.flags.ack()) {
    return Drop::tcp_no_ack;
  }
  Drop const bad = judge_acknowledgment(e.config, t, segment.acknowledgment);
  if (bad != Drop::none) {
    challenge(e, t);
    return bad;
  }
  // Here and not before: a segment whose ACK nobody could have sent leaves no trace.
  record_timestamp(t, segment);
  //= rfc9293#3.10.7.4
  //# 9293:P-DATA-AFTER-FIN, 9293:P-URG-AFTERFIN data and URG after the FIN are ignored
  return segment.length().empty() ? Drop::tcp_time_wait_other : Drop::tcp_data_after_fin;
}

[[gnu::cold]] void expire_time_wait(Engine& e, Index record) {
  ++e.counters->timers_fired[static_cast<std::uint32_t>(TimerKind::time_wait)];
  //= rfc9293#3.10.8
  //# 9293:P-TW-TIMEOUT after 2 MSL the record is deleted
  forget_time_wait(e, record);
}

[[gnu::cold]] void suspend_time_wait(Engine& e, Index record) {
  TimeWait& t = e.time_waits[record];
  CHECK(!t.suspended);
  t.suspended = true;
  e.leave_table(t.hash, {EntryKind::time_wait, record});
  e.time_wait_order().remove(record);
  e.wheel.cancel(e.time_wait_timer(record));
}

[[gnu::cold]] void resume_time_wait(Engine& e, Index record) {
  TimeWait& t = e.time_waits[record];
  CHECK(t.suspended);
  t.suspended = false;
  e.demux.insert(t.hash, {EntryKind::time_wait, record});
  e.time_wait_order().push_back(record);
  e.wheel.set(e.time_wait_timer(record), t.due);
}

void forget_time_wait(Engine& e, Index record) {
  TimeWait& t = e.time_waits[record];
  if (!t.suspended) {
    e.leave_table(t.hash, {EntryKind::time_wait, record});
    e.time_wait_order().remove(record);
  }
  ++e.counters->transitions_taken[transition_index(State::time_wait, State::closed)];
  e.wheel.cancel(e.time_wait_timer(record));
  e.time_waits.give(record);
}

}  // namespace lockstep::tcp
