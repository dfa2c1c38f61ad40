// Writes a planned segment, and updates the connection that sends it.
#include <algorithm>
#include <cstring>

#include "core/tcp/accounts.hpp"
#include "core/tcp/ack_pace.hpp"
#include "core/tcp/acknowledgement.hpp"
#include "core/tcp/congestion/adapter.hpp"
#include "core/tcp/congestion/pacing.hpp"
#include "core/tcp/congestion/rate.hpp"
#include "core/tcp/ecn.hpp"
#include "core/tcp/expiry.hpp"
#include "core/tcp/lifecycle.hpp"
#include "core/tcp/output.hpp"
#include "core/tcp/path_probe.hpp"
#include "core/tcp/pending_ack.hpp"
#include "core/tcp/record_ends.hpp"
#include "core/tcp/recovery/sack.hpp"
#include "core/tcp/recovery/tail_probe.hpp"
#include "core/tcp/rtt.hpp"
#include "core/tcp/sack_report.hpp"
#include "core/tcp/segment_options.hpp"
#include "core/units/check.hpp"
#include "core/wire/ipv4.hpp"

namespace lockstep::tcp {
namespace {

// Copies lent octets; those of a region with a table are not summed again.
wire::Partial copy_lent(const Engine& e, const memory::Source& source, std::byte* into) {
  Region const& region = e.regions[source.region.value];
  // A snapshot may have come from a stack with another region.
  CHECK(source.offset + source.length.count <= region.bytes.size());
  auto const bytes =
      region.bytes.subspan(static_cast<std::size_t>(source.offset), source.length.count);
  if (region.table.empty()) {
    return wire::copy_and_sum({into, bytes.size()}, bytes);
  }
  std::memcpy(into, bytes.data(), bytes.size());
  return wire::table_sum(region.table, region.bytes, {source.offset, source.length.count});
}

}  // namespace

wire::Partial copy_queued(Engine& e, InFlightState& a, Bytes from, std::span<std::byte> into) {
  memory::SendStore::Range const range{from, Bytes{static_cast<std::uint32_t>(into.size())}};
  auto const bytes = a.send.in_first_block(e.pools, range);
  if (!bytes.empty()) {
    return wire::copy_and_sum(into, bytes);
  }
  auto cursor = a.send.walk(e.pools, range);
  wire::Partial sum;
  memory::Source source;
  std::size_t done = 0;
  while (cursor.next(source)) {
    std::byte* const room = into.data() + done;
    wire::Partial const part = source.kind == memory::SourceKind::bytes
                                   ? wire::copy_and_sum({room, source.bytes.size()}, source.bytes)
                                   : copy_lent(e, source, room);
    sum = done == 0 ? part : combine(sum, part);
    done += source.length.count;
  }
  CHECK(done == into.size());
  return sum;
}

namespace {

// The ACK field and the window of a SYN-ACK: only the SYN is acknowledged, not data on it.
//= rfc9293#3.10.7.2
//# 9293:P-LISTEN-SYN <SEQ=ISS><ACK=IRS+1><CTL=SYN,ACK>
void acknowledge_syn(Engine& e, Connection& c, InFlightState& a, wire::Header& out) {
  out.acknowledgment = c.receive.irs.next();
  if (opened_fast(c)) [[unlikely]] {
    //= rfc7413#4.2.2
    //# 7413:TFO-13 unless a cookie has proved the peer's address
    out.acknowledgment = c.receive.nxt;
    a.last_ack_sent = c.receive.nxt;
    clear_delayed_acks(e, a);
  }
  //= rfc7323#2.2
  //# 7323:TS-2 the window of a SYN is not scaled
  out.window = window_to_wire(c.receive.edge.since(out.acknowledgment), WindowScale{});
}

// The ACK field and the window: of the oldest pending ACK if a pure ACK leaves, else the newest.
void fill_acknowledgment(Engine& e, Connection& c, InFlightState& a, const SegmentPlan& plan,
                         wire::Header& out) {
  if (c.state == State::syn_sent) {
    //= rfc9293#3.8.6
    //# 9293:SHLD-14 the edge that a SYN advertises stays, even if the buffer shrinks later
    Bytes const buffer = least(c.receive_buffer, Bytes{0xffff});
    c.receive.edge = last_of(c.receive.edge, c.receive.nxt + buffer);
    out.window = window_to_wire(c.receive.edge.since(c.receive.nxt), WindowScale{});
    return;
  }
  //= rfc9293#3.8
  //# 9293:P-ACK-ALWAYS every segment carries ACK once the peer's SYN is known
  out.flags |= wire::flag::ack;
  if (plan.kind == PlanKind::ack && a.pending_ack_first != nil) {
    PendingAck const record = pop_pending_ack(e, a);
    bool const newest = record.ack == c.receive.nxt && record.kind == PendingAck::Kind::cumulative;
    // Later duplicate ACKs have the edge of their time: moving it now would make them move it back.
    bool const last = newest && a.pending_ack_first == nil;
    if (last) {
      advance_edge(e, c);
    }
    //= rfc9293#3.10.7.4
    //# 9293:P-TEXT-ACK <SEQ=SND.NXT><ACK=RCV.NXT><CTL=ACK>
    out.acknowledgment = record.ack;
    out.flags |= record.echo ? wire::flag::ece : wire::flag::none;
    Sequence const edge = last ? c.receive.edge : record.edge;
    a.last_ack_sent = record.ack;
    //= rfc7323#2.3
    //# 7323:TS-4 every window but a SYN's is shifted right by Rcv.Wind.Shift
    out.window = window_to_wire(edge.since(record.ack), c.options.receive_scale);
    if (newest) {
      // A window update is still due if the edge could not move.
      bool const update = a.window_update && !last;
      clear_delayed_acks(e, a);
      a.window_update = update;
    }
    return;
  }
  if (plan.kind != PlanKind::keepalive && a.pending_ack_duplicates == 0) {
    advance_edge(e, c);
  }
  if (plan.syn) {
    acknowledge_syn(e, c, a, out);
    return;
  }
  //= rfc3168#6.1.3
  //# 3168:ECN-10 every segment that acknowledges has ECE while the echo lasts
  //= rfc8257#3.2
  //# 8257:DCTCP-1 if and only if DCTCP.CE is true
  out.flags |= c.ecn.echo ? wire::flag::ece : wire::flag::none;
  out.acknowledgment = c.receive.nxt;
  out.window = window_to_wire(c.receive.edge.since(c.receive.nxt), c.options.receive_scale);
  // The peer drops a keep-alive probe, ACK field included: pending ACKs stay pending.
  if (plan.kind != PlanKind::keepalive) {
    a.last_ack_sent = c.receive.nxt;
    //= rfc9293#3.10.7.4
    //# 9293:P-TEXT-PIGGY a segment with data carries the ACK
    clear_delayed_acks(e, a);
  }
}

void fill_urgent(const Connection& c, const InFlightState& a, const SegmentPlan& plan,
                 wire::Header& out) {
  //= rfc9293#3.8.5
  //# 9293:P-URG-DATA URG is sent only together with data
  if (!c.send_urgent || plan.data.empty() || !a.send_up.after(plan.sequence)) {
    return;
  }
  //= rfc9293#3.8.5
  //# 9293:MUST-62, 9293:P-SEND-URGSIG the pointer names the octet after the urgent data
  out.flags |= wire::flag::urg;
  out.urgent = static_cast<std::uint16_t>(std::min(a.send_up.since(plan.sequence).count, 0xffffu));
}

// Whether the queue, or a record in it, ends at `end`.
[[gnu::always_inline]] inline bool ends_push(const Engine& e, const Connection& c,
                                             const InFlightState& a, Sequence end) {
  return end == queue_begin(c) + a.send.length() ||
         (a.send.record_ends != 0 && is_record_end(e, c, end));
}

// How many segments leave as one burst from this one on, as Linux's frames show: what is sent in
// about a millisecond at twice cwnd per round trip (1.2 times it from half of ssthresh on), at
// least two, and not more than half of cwnd (of new data) or than the queue and the windows have.
[[gnu::cold]] std::uint32_t burst_of(const Engine& e, const Connection& c, const InFlightState& a,
                                     const SegmentPlan& plan) {
  Sequence const begin = plan.sequence;
  constexpr std::uint64_t whole = 65'536, least = 2, shift = 10, base = 9;
  std::uint64_t const mss = std::max<std::uint32_t>(c.mss, 1);
  std::uint64_t const rtt = srtt_of(c.rtt).ns / 1000;
  std::uint64_t const cwnd = c.congestion.cwnd.count;
  std::uint64_t const percent = cwnd < c.congestion.ssthresh.count / 2 ? e.config.pacing_start.value
                                                                       : e.config.pacing_gain.value;
  std::uint64_t const rate = rtt == 0 ? whole << shift : cwnd * percent * 10'000 / rtt;
  std::uint64_t const near = rtt >> base < 32 ? whole >> (rtt >> base) : 0;
  std::uint64_t const room = std::min((rate >> shift) + near, whole);
  std::uint64_t const flight = begin.since(c.send.una).count / mss;
  std::uint64_t const segments = cwnd / mss;
  std::uint64_t const part = plan.retransmitted ? segments : segments / 2;
  std::uint64_t const quota =
      std::min(std::max<std::uint64_t>(part, 1), segments - std::min(segments, flight));
  Bytes const queued = (queue_begin(c) + a.send.length()).since(begin);
  Bytes const usable = (c.send.una + c.send.wnd).since(begin);
  std::uint64_t const there = (lockstep::least(queued, usable).count + mss - 1) / mss;
  return static_cast<std::uint32_t>(std::min({std::max(room / mss, least), quota, there}));
}

// Whether a burst of several full segments ends with this one.
[[gnu::cold]] bool ends_burst(const Engine& e, const Connection& c, InFlightState& a,
                              const SegmentPlan& plan) {
  bool const full = plan.data.count >= c.mss && !plan.probe;
  if (full && plan.data.count > c.send.wnd_max.count / 2) {
    a.burst_left = 0;
    return true;  // the peer has no room for a second
  }
  // In fast recovery a hole is taken as one segment.
  if (!full || (plan.retransmitted && c.congestion.recovering)) {
    a.burst_left = 0;
    return false;
  }
  if (a.burst_left == 0) {
    std::uint32_t const burst = std::min(burst_of(e, c, a, plan), 255u);
    a.burst_left = static_cast<std::uint8_t>(burst < 2 ? 0 : burst);
  }
  if (a.burst_left == 0) {
    return false;
  }
  --a.burst_left;
  return a.burst_left == 0;
}

wire::Header header_of(Engine& e, Connection& c, InFlightState& a, const SegmentPlan& plan) {
  wire::Header out;
  out.source = c.local_port;
  out.destination = c.remote_port;
  out.sequence = plan.sequence;
  if (plan.syn) {
    out.flags |= wire::flag::syn | ecn::syn_flags(e.config, c, plan.retransmitted);
    a.fast_open_used = a.fast_open_used || (a.fast_open_wanted && !plan.retransmitted);
    bool const pushes = !plan.data.empty() && e.config.push_syn_data;
    if (pushes && ends_push(e, c, a, queue_begin(c) + plan.data)) {
      out.flags |= wire::flag::psh;
    }
  }
  if (c.ecn.cwr_due) [[unlikely]] {
    out.flags |= ecn::cwr_flag(c, plan);
  }
  if (plan.fin) {
    out.flags |= wire::flag::fin;
  }
  if (plan.kind == PlanKind::ack) {
    out.sequence = bare_sequence(c);
  } else if (plan.kind == PlanKind::keepalive) {
    //= rfc9293#3.8.4
    //# 9293:P-KA-PROBE, 9293:SHLD-12 SND.NXT - 1, without data
    out.sequence = (plan.probe ? c.send.una : c.send.nxt).previous();
  } else if (!plan.data.empty()) {
    Sequence const end = plan.sequence + plan.data;
    //= rfc9293#3.9.1.2
    //# 9293:MUST-61, 9293:P-SEND-PUSHBIT, 9293:SHLD-27 PSH where the queue or a push ends
    bool const burst = e.config.push_bursts && ends_burst(e, c, a, plan);
    if (end == a.pushed || ends_push(e, c, a, end) || burst) {
      out.flags |= wire::flag::psh;
    }
  }
  fill_urgent(c, a, plan, out);
  fill_acknowledgment(e, c, a, plan, out);
  return out;
}

// Karn's rule, and one timed segment for each round trip.
void time_segment(Engine& e, InFlightState& a, const SegmentPlan& plan, Sequence end) {
  //= rfc6298#3
  //# 6298:RTO-6 no sample from a segment that was retransmitted
  if (plan.retransmitted) {
    a.timing = false;
  } else if (!a.timing && !plan.probe) {
    a.timing = true;
    // The answer to a SYN may leave its data unacknowledged.
    a.timed = plan.syn ? plan.sequence.next() : end;
    a.timed_at = e.state->now;
  }
}

// Sampling and pacing of data that was sent for the first time.
void note_new_data(Engine& e, Connection& c, const SegmentPlan& plan, Bytes flight) {
  bool const plain = !plan.data.empty() && !plan.retransmitted && !plan.probe;
  if (plain && wants_marks(e.config) && !plan.syn) [[unlikely]] {
    mark_segment(e, c, flight);
  }
  if (plain && e.config.pacing && !plan.syn) [[unlikely]] {
    pacing::note_sent(e, c, plan.data);
  }
  if (plain && added::possible(e) && !plan.syn) [[unlikely]] {
    added::note_sent(e, c, flight);
  }
}

void note_retransmission(Engine& e, Connection& c, InFlightState& a, const SegmentPlan& plan,
                         Sequence end) {
  ++c.retransmissions;
  ++e.counters->retransmissions;
  a.retransmit_next = last_of(a.retransmit_next, end);
  if (a.path_probe.size != 0) {
    path_probe::note_again(a, plan.sequence, end);
  }
  if (a.marks.first != nil) {
    drop_marks(e, a);
  }
  if (a.echo_armed) {
    spurious::note_departure(e, c, a, plan);
  }
  if (added::possible(e) && e.config.pacing) {
    // What follows waits for it.
    pacing::note_sent(e, c, plan.data);
  }
}

// New data beyond cwnd was sent by limited transmit. `flight`: its size without that data.
void note_limited(const Connection& c, InFlightState& a, const SegmentPlan& plan,
                  std::uint32_t flight) {
  std::uint32_t const beyond = flight + plan.data.count;
  if (!plan.probe && synchronized(c.state) && beyond > c.congestion.cwnd.count) {
    a.limited += Bytes{beyond - std::max(flight, c.congestion.cwnd.count)};
  }
}

// Moves SND.NXT to `end`.
void advance_nxt(Engine& e, Connection& c, InFlightState& a, const SegmentPlan& plan, Sequence end,
                 Bytes flight) {
  e.counters->bytes_sent += plan.data.count;
  c.send.nxt = end;
  a.small_end = plan.data.count < c.mss ? end : a.small_end;
  note_new_data(e, c, plan, flight);
  if (plan.large) [[unlikely]] {
    path_probe::note_sent(e, c, plan);
  }
}

void note_fin(Engine& e, Connection& c) {
  c.fin_sent = true;
  if (c.state == State::close_wait) {
    enter(e, c, State::last_ack);
  }
}

void start_timers(Engine& e, Connection& c, InFlightState& a, const SegmentPlan& plan) {
  //= rfc6298#5.1
  //# 6298:RTO-10, 6298:RTO-22 a transmission or retransmission starts the timer if it is off
  if (a.mode == RetransmitMode::idle || a.mode == RetransmitMode::sws_override) {
    a.mode = RetransmitMode::retransmit;
    a.retransmit_due = due_in(e, c.rtt.rto());
  }
  if (a.give_up_due.is_never()) {
    set_give_up(e, c, a);
  }
  if (c.sack && e.config.tail_probe && !plan.retransmitted && !plan.loss_probe) {
    tail_probe::schedule(e, c);
  }
  Instant const due = earliest_due(a);
  // Data after the handshake will need a timer of rto_min, and moving a timer forward costs more
  // than a timer that fires early once: that of a SYN is set for rto_min, too.
  arm_for(e, a, plan.syn ? earlier(due, e.state->now + e.config.rto_min) : due);
}

// A probe of a closed window that takes no sequence space. R2 begins with it, until it is answered.
[[gnu::cold]] void note_bare_probe(Engine& e, Connection& c, InFlightState& a) {
  a.probe = false;
  c.sent_at = e.state->now;
  if (a.give_up_due.is_never()) {
    set_give_up(e, c, a);
  }
  arm(e, a);
}

// A segment that takes sequence space was sent: updates SND.NXT, what is to be retransmitted, the
// state and the timers.
void note_departure(Engine& e, Connection& c, InFlightState& a, const SegmentPlan& plan) {
  Sequence const end = plan.sequence + plan.data + Bytes{plan.syn || plan.fin ? 1u : 0u};
  time_segment(e, a, plan, end);
  if (c.sack) {
    note_on_board(e, c, plan, end);
  }
  std::uint32_t const flight = flight_size(c).count;
  if (plan.retransmitted) {
    note_retransmission(e, c, a, plan, end);
  } else {
    note_limited(c, a, plan, flight);
  }
  if (end.after(c.send.nxt)) {
    advance_nxt(e, c, a, plan, end, Bytes{flight});
  }
  if (accounts_kept(e)) [[unlikely]] {
    accounts::note_departure(e, c, plan);
  }
  if (!plan.data.empty() && ack_pace::is_on(e)) [[unlikely]] {
    ack_pace::data_leaves(e, c);
  }
  c.sent_at = e.state->now;
  a.override = false;
  a.probe = a.probe && !plan.probe;
  // Data in flight has its own timer, which checks that the peer is alive. And the garbage octet of
  // a keep-alive probe would become part of the stream if the peer had not received that data yet.
  a.keepalive_probe = false;
  if (plan.fin && !c.fin_sent) {
    note_fin(e, c);
  }
  start_timers(e, c, a, plan);
}

}  // namespace

Bytes write_plan(Engine& e, Connection& c, InFlightState& a, const SegmentPlan& plan,
                 std::span<std::byte> into) {
  Report report;
  if (c.sack) {
    report = pop_sack_report(e, c, plan);
  }
  wire::Header const out = header_of(e, c, a, plan);
  //= rfc9293#3.1
  //# 9293:MUST-2 the checksum covers pseudo-header, header and data
  Bytes const options =
      write_segment_options(e, c, plan, report, into.subspan(wire::tcp_header_bytes));
  Bytes const header = Bytes{wire::tcp_header_bytes} + options;
  //= rfc9293#3.7.1
  //# 9293:P-MSS-OPTSHRINK the options of a segment count against its MSS
  Bytes const most = Bytes{wire::tcp_header_bytes} + steady_options_bytes(c) + Bytes{c.mss};
  CHECK(header + plan.data <= most || plan.syn || plan.large);
  Bytes data = plan.data;
  wire::Partial sum;
  if (plan.kind == PlanKind::keepalive && e.config.keepalive_garbage && !plan.probe) {
    //= rfc9293#3.8.4
    //# 9293:MAY-6 one garbage octet, for peers that do not answer an empty segment
    data = {1};
    into[header.count] = std::byte{0};
    sum = wire::sum(into.subspan(header.count, 1));
  } else if (!data.empty()) {
    Bytes const from = plan.sequence.since(queue_begin(c));
    sum = copy_queued(e, a, from, into.subspan(header.count, data.count));
  }
  wire::PseudoHeader const pseudo{e.local_of(c), c.remote,
                                  static_cast<std::uint8_t>(wire::IpProtocol::tcp), header + data};
  wire::write_whole(out, options, pseudo, sum, into);
  ++c.segments_sent;
  ++e.counters->segments_sent;
  a.keepalive_probe = a.keepalive_probe && plan.kind != PlanKind::keepalive;
  if (plan.kind == PlanKind::keepalive && plan.probe) [[unlikely]] {
    note_bare_probe(e, c, a);
  }
  if (plan.kind == PlanKind::data) {
    e.counters->data_segments_out += plan.data.empty() ? 0 : 1;
    note_departure(e, c, a, plan);
  }
  return header + data;
}

}  // namespace lockstep::tcp
