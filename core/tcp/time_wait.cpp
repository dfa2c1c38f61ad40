// TIME-WAIT: compact records, entering and leaving the state, and the segments that arrive in it.
#include "core/tcp/time_wait.hpp"

#include "core/tcp/act.hpp"
#include "core/tcp/arrives.hpp"
#include "core/tcp/challenge.hpp"
#include "core/tcp/judge.hpp"
#include "core/tcp/lifecycle.hpp"
#include "core/tcp/pending_ack.hpp"
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

// A free record, evicting the oldest one if there is none; nil if all records are suspended behind
// new SYNs.
Index alloc_record(Engine& e) {
  Index const record = e.time_waits.take();
  if (record != nil) {
    return record;
  }
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

// Puts the record into the pool and starts its timer, but does not enter it into the table; nil if
// the pool has no room.
Index keep(Engine& e, const TimeWait& t) {
  Index const record = alloc_record(e);
  if (record != nil) {
    e.time_waits[record] = t;
    e.wheel.set(e.wheel.open({e.time_wait_timer(record)}), t.due);
    e.time_wait_order().push_back(record);
  }
  return record;
}

bool ack_pending(const InFlightState& a) {
  return a.pending_ack_first != nil || a.ack_now || a.delayed_segments != 0;
}

// A record, as act() needs it.
struct JudgedTimeWait {
  Index record;

  TimeWait& of(Engine& e) const { return e.time_waits[record]; }
  bool may_answer(Engine& e) { return tcp::may_answer(e, of(e)); }
  bool may_challenge(Engine& e) { return tcp::may_challenge(e, of(e)); }
  void acknowledge(Engine& e, const InboundSegment&, const wire::Segment&) {
    send_time_wait_ack(e, of(e));
  }
  //= rfc9293#3.10.7.4
  //# 9293:P-RST-CLOSING an accepted RST ends TIME-WAIT
  void end(Engine& e, Cause) { forget_time_wait(e, record); }
  void end_by_reset(Engine& e) { forget_time_wait(e, record); }
  Index cookie_listener(Engine&) { return nil; }
};

// Of an acceptable segment, or of exactly the peer's FIN, retransmitted: a forged timestamp would
// make the peer's next SYN look old.
//= rfc7323#5.3
//# 7323:TS-45, 7323:TS-46 what is not acceptable is rejected (R2), then the stamp recorded (R3)
void record_timestamp(TimeWait& t, const wire::Segment& segment) {
  if (t.options.has(negotiated::timestamps) && segment.options.has_timestamps &&
      segment.sequence.at_or_before(t.receive_nxt)) {
    t.options.ts_recent = segment.options.timestamp_value;
  }
}

// Whether the SYN is clearly that of a new connection, not an old duplicate.
bool is_new(const Engine& e, const TimeWait& t, const wire::Segment& syn) {
  bool const stamped = e.config.timestamps && syn.options.has_timestamps;
  bool const was_stamped = t.options.has(negotiated::timestamps);
  //= rfc9293#3.6.1
  //# 9293:MAY-2 a SYN beyond the old connection's last number may reopen it
  //= rfc6191#2
  //# 6191:TW-6 not only beyond the last octet that was received, but beyond the FIN
  bool const beyond = syn.sequence.after(t.receive_nxt);
  //= rfc6191#2
  //# 6191:TW-7 both the SYN and its answer would have timestamps
  if (stamped && was_stamped) {
    //= rfc9293#3.6.1
    //# 9293:SHLD-4 the timestamps decide if both connections have them
    //= rfc6191#2
    //# 6191:TW-1 a later timestamp is enough
    //# 6191:TW-2 with the same timestamp the sequence number decides
    std::uint32_t const stamp = syn.options.timestamp_value;
    return is_older({t.options.ts_recent, stamp}) || (stamp == t.options.ts_recent && beyond);
  }
  //= rfc6191#2
  //# 6191:TW-4 a SYN with timestamps after a connection without them is new
  //# 6191:TW-3 a SYN without timestamps is new by its sequence number alone
  return stamped || beyond;
}

// The listener that accepts the segment as a new SYN (RFC 6191), or nil.
//= rfc9293#3.10.7.4
//# 9293:P-SYN-TW, 9293:P-TW-SYN-6191 a SYN in TIME-WAIT
Index listener_to_reopen(const Engine& e, const TimeWait& t, const wire::Segment& s) {
  bool const opens = s.flags.syn() && !s.flags.any_of(wire::flag::rst | wire::flag::ack);
  return opens && e.config.time_wait_reuse && is_new(e, t, s) ? find_listener(e, tuple_of(e, t))
                                                              : nil;
}

// A record, as judge() sees it.
struct TimeWaitView {
  const Config& config;
  const TimeWait& t;
  bool reopens;

  ReceiveWindow window() const { return {t.receive_nxt, t.receive_wnd}; }
  Sequence receive_nxt() const { return t.receive_nxt; }
  // All that we sent was acknowledged.
  Sequence send_una() const { return t.send_nxt; }
  Sequence send_nxt() const { return t.send_nxt; }
  // The record does not keep MAX.SND.WND: the largest window that the scale allows stands for it.
  //= rfc5961#5.2
  //# 5961:BLIND-10 or the fixed maximum of 65,535 octets, as it is scaled
  Bytes send_wnd_max() const { return {0xffffu << t.options.send_scale.shift}; }
  std::uint32_t ts_recent() const { return t.options.ts_recent; }
  bool ts_recent_outdated() const { return false; }  // 2 MSL are far less than 24 days
  bool timestamps() const { return t.options.has(negotiated::timestamps); }
  bool timestamps_required() const { return config.timestamps_required; }
  std::uint32_t timestamps_behind() const { return config.timestamps_behind.value; }
  bool syn_received() const { return false; }
  bool passive() const { return false; }
  ResetPolicy reset_policy() const { return config.reset_policy; }
  bool time_wait() const { return true; }
  bool syn_is_new() const { return reopens; }
  bool resets_ignored() const { return config.time_wait_ignores_reset; }
  bool acks_at_edge() const { return false; }
  bool unsent_answered() const { return true; }
};

}  // namespace

FourTuple tuple_of(const Engine& e, const TimeWait& t) {
  return {{e.addresses[t.local_address], t.local_port}, {t.remote, t.remote_port}};
}

//= rfc9293#3.6
//# 9293:P-NORMCLOSE, 9293:P-SIMCLOSE the end of figures 12 and 13
void begin_time_wait(Engine& e, Connection& c) {
  if (e.config.window_each_ack) {
    advance_edge(e, c);
  }
  TimeWait t = record_of(c);
  t.due = e.state->now + e.config.msl * 2;
  if (c.active != nil && ack_pending(e.active(c))) {
    send_time_wait_ack(e, t);
  }
  TableEntry const before{EntryKind::connection, e.slot_of(c)};
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
  Index const listener = listener_to_reopen(e, t, segment);
  Disposition const disposition = judge(TimeWaitView{e.config, t, listener != nil}, segment);
  switch (disposition.action) {
    case Action::accept_syn:
      suspend_time_wait(e, record);
      return arrives_listen(e, listener, arrival, record);
    case Action::accept_fin:
      record_timestamp(t, segment);
      send_time_wait_ack(e, t);
      restart(e, record);
      return Drop::none;
    case Action::accept:
      break;
    default:
      return act(e, JudgedTimeWait{record}, arrival, segment, disposition);
  }
  // Not earlier: a segment with an ACK that the peer cannot have sent must change nothing.
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
