// Inspection of a connection, and its field values for fingerprints.
#include "core/tcp/inspect.hpp"

#include "core/tcp/accounts.hpp"
#include "core/tcp/arrives.hpp"
#include "core/tcp/congestion/adapter.hpp"
#include "core/tcp/congestion/visit.hpp"
#include "core/tcp/lifecycle.hpp"
#include "core/tcp/opening/syn_cache.hpp"
#include "core/tcp/reassembly.hpp"
#include "core/tcp/rtt.hpp"
#include "core/tcp/time_wait.hpp"

namespace lockstep::tcp {
namespace {

// Retransmitted octets in flight. Without a scoreboard all lost data is below the cursor; F-RTO
// resets the cursor when the one segment it retransmitted is acknowledged.
Bytes retransmitted_of(const Engine& e, const Connection& c, const InFlightState& a) {
  if (a.board.order.count == 0) {
    return a.watch == TimeoutWatch::news ? Bytes{} : a.retransmit_next.since(c.send.una);
  }
  Bytes retransmitted;
  for (Index i = a.board.order.first; i != nil; i = e.sent[i].order.next) {
    Sent const& sent = e.sent[i];
    retransmitted += sent.retransmitted && !sent.sacked ? sent.end.since(sent.begin) : Bytes{};
  }
  return retransmitted;
}

void fill_account(const Engine& e, const Connection& c, ConnectionInfo& info) {
  Account const* const account = account_of(e, c);
  info.account.keepalive_interval = keepalive_interval_of(e, c);
  info.account.keepalive_probes = keepalive_probes_of(e, c);
  if (account == nullptr) {
    return;
  }
  auto const until_now = [&](Duration over, Instant since) {
    return since.is_never() ? over : over + e.state->now.since(since);
  };
  info.least_rtt = account->least_rtt;
  info.account.data_segments_out = account->data_segments_out;
  info.account.data_segments_in = account->data_segments_in;
  info.account.out_of_order_segments = account->out_of_order_segments;
  info.account.duplicates_told = account->duplicates_told;
  info.account.overtaken = account->overtaken;
  info.account.bytes_retrans = account->bytes_retrans;
  info.account.octets_marked = account->octets_marked;
  info.account.timeouts = account->timeouts;
  info.account.repairs = account->repairs;
  info.account.repairing = until_now(account->repaired_for, account->repairs_since);
  info.account.rwnd_limited = until_now(account->rwnd_limited_for, account->rwnd_limited_since);
  info.account.rcv_rtt = {account->rcv_rtt8_ns / 8};
  info.account.mss = Bytes{account->mss};
}

void visit_account(const Account& account, FieldSink& sink) {
  sink.add(std::uint64_t{account.keepalive_interval_ms} << 32 | std::uint64_t{account.mss} << 16 |
           std::uint64_t{account.keepalive_probes} << 8 |
           static_cast<std::uint64_t>(account.congestion));
  // The other fields do not influence behaviour.
  for (std::uint64_t value :
       {std::uint64_t{account.data_segments_in}, std::uint64_t{account.data_segments_out},
        std::uint64_t{account.out_of_order_segments}, std::uint64_t{account.duplicates_told},
        std::uint64_t{account.overtaken.count}, account.bytes_retrans, account.octets_marked,
        std::uint64_t{account.timeouts}, std::uint64_t{account.repairs}, account.repaired_for.ns,
        account.repairs_since.ns, std::uint64_t{account.repair_end.value},
        account.rwnd_limited_for.ns, account.rwnd_limited_since.ns, account.least_rtt.ns,
        account.rcv_rtt8_ns, std::uint64_t{account.round_end.value}, account.round_since.ns,
        std::uint64_t{account.last_echo}}) {
    sink.add_exact(value);
  }
}

void fill_active(const Engine& e, const Connection& c, ConnectionInfo& info) {
  InFlightState const& a = e.active(c);
  info.send.queued = a.send.length();
  for (Index i = a.extents; i != nil; i = e.extents[i].next) {
    info.receive.out_of_order += e.extents[i].end.since(e.extents[i].begin);
  }
  bool const persisting =
      a.mode == RetransmitMode::persist || a.mode == RetransmitMode::sws_override;
  (persisting ? info.persist_due : info.retransmit_due) = a.retransmit_due;
  info.delayed_ack_due = a.delayed_ack_due;
  info.persist_backoff = a.persist_backoff;
  Duration const before = a.rack.least_before;
  Duration const now = a.rack.least_now;
  if (before.ns != 0 || now.ns != 0) {
    info.least_rtt = before.ns == 0 || (now.ns != 0 && now < before) ? now : before;
  }
  info.retransmitted = retransmitted_of(e, c, a);
  info.sacked = a.board.sacked;
  info.lost = a.board.lost_not_retransmitted;
  info.ranges = a.board.order.count;
}

void visit_key(const Engine& e, const Connection& c, FieldSink& sink) {
  sink.add(e.local_of(c));
  sink.add(c.remote);
  sink.add(std::uint64_t{c.local_port.value} << 16 | c.remote_port.value);
  sink.add(static_cast<std::uint64_t>(c.state));
}

void visit_options(const OptionVariables& options, FieldSink& sink) {
  sink.add(std::uint64_t{options.ts_offset} << 32 | options.ts_recent);
  sink.add(std::uint64_t{options.negotiated} << 16 | std::uint64_t{options.send_scale.shift} << 8 |
           options.receive_scale.shift);
}

void visit_variables(const Connection& c, FieldSink& sink) {
  for (Sequence value :
       {c.send.una, c.send.nxt, c.send.wl1, c.send.wl2, c.send.iss, c.receive.nxt, c.receive.irs,
        c.receive.edge, c.receive.read, c.tuned_from, c.congestion.recover}) {
    sink.add(value);
  }
  for (Bytes value : {c.send.wnd, c.send.wnd_max, c.congestion.cwnd, c.congestion.ssthresh,
                      c.congestion.acked, c.receive_buffer, Bytes{c.ack_pace}}) {
    sink.add(value);
  }
  WritingVariables const writing = c.accepted_unreported ? WritingVariables{} : c.writing;
  sink.add(writing.send_buffer);
  sink.add(writing.acknowledged_untold);
  visit_options(c.options, sink);
  sink.add(std::uint64_t{c.congestion.kept[0]} << 32 | c.congestion.kept[1]);
  sink.add(c.rtt.srtt8_ns());
  sink.add(c.rtt.rttvar4_ns());
  sink.add(c.rtt.rto());
  for (Instant value : {c.sent_at, c.heard_at}) {
    sink.add(value);
  }
  for (std::uint64_t value : {std::uint64_t{c.user_timeout_ms},
                              std::uint64_t{c.keepalive_idle_ms},
                              std::uint64_t{c.mss},
                              std::uint64_t{c.rcv_mss},
                              std::uint64_t{c.dscp},
                              std::uint64_t{c.ttl},
                              std::uint64_t{c.retries},
                              std::uint64_t{c.keepalive_probes},
                              std::uint64_t{c.congestion.duplicates},
                              static_cast<std::uint64_t>(c.cause),
                              static_cast<std::uint64_t>(c.soft_cause),
                              std::uint64_t{c.pending},
                              std::uint64_t{c.deferred},
                              std::uint64_t{c.path_until} << 32 | std::uint64_t{c.mss_max} << 1 |
                                  (c.path_limited ? 1u : 0u),
                              static_cast<std::uint64_t>(c.place),
                              static_cast<std::uint64_t>(c.telling),
                              static_cast<std::uint64_t>(c.wants),
                              std::uint64_t{c.challenges} << 16 | c.answers,
                              std::uint64_t{c.congestion.reorder_steps},
                              std::uint64_t{c.reorder_persist}}) {
    sink.add(value);
  }
}

void visit_flags(const Connection& c, FieldSink& sink) {
  std::uint64_t bits = 0;
  for (bool flag : {bool{c.slow},
                    c.receive_buffer_set,
                    c.send_buffer_set,
                    c.passive,
                    c.nagle,
                    c.delayed_acks,
                    c.keepalive,
                    c.soft_errors,
                    c.detached,
                    c.fin_queued,
                    c.fin_sent,
                    c.fin_taken,
                    c.reading_over,
                    c.send_urgent,
                    c.receive_urgent,
                    c.syn_lost,
                    c.accepted_unreported,
                    c.doubt_next_hop,
                    c.congestion.recovering,
                    c.congestion.partial_seen,
                    c.sack,
                    c.probe_doubtful,
                    c.rto_suspect,
                    c.reordering_seen,
                    c.rtt.sampled(),
                    c.rtt.probe_unsampled(),
                    c.active != nil,
                    bool{c.ecn.offered},
                    bool{c.ecn.plain},
                    bool{c.ecn.rx},
                    bool{c.ecn.tx},
                    bool{c.ecn.echo},
                    bool{c.ecn.cwr_due}}) {
    bits = bits << 1 | (flag ? 1 : 0);
  }
  sink.add(bits);
}

void visit_report(const Engine& e, Index pending, FieldSink& sink) {
  sink.add(std::uint64_t{e.pending_acks[pending].report_count} << 1 |
           (e.pending_acks[pending].report_duplicate ? 1u : 0u));
  for (std::uint32_t i = 0; i < e.pending_acks[pending].report_count; ++i) {
    sink.add(e.reports[pending][i].begin);
    sink.add(e.reports[pending][i].end);
  }
}

void visit_owed(const Engine& e, const InFlightState& a, FieldSink& sink) {
  for (Index i = a.pending_ack_first; i != nil; i = e.pending_acks[i].next) {
    PendingAck const& pending = e.pending_acks[i];
    for (Sequence value : {pending.ack, pending.edge, pending.begin, pending.end}) {
      sink.add(value);
    }
    sink.add(std::uint64_t{pending.segments} << 8 | (pending.echo ? 4u : 0u) |
             (pending.cut ? 2u : 0u) | static_cast<std::uint64_t>(pending.kind));
    visit_report(e, i, sink);
  }
  for (Index i = a.extents; i != nil; i = e.extents[i].next) {
    sink.add(e.extents[i].begin);
    sink.add(e.extents[i].end);
    sink.add(a.extent_stamp - e.extents[i].stamp);
  }
}

void visit_board(const Engine& e, const InFlightState& a, FieldSink& sink) {
  ScoreboardState const& board = a.board;
  for (Index i = board.order.first; i != nil; i = e.sent[i].order.next) {
    Sent const& sent = e.sent[i];
    sink.add(sent.begin);
    sink.add(sent.end);
    sink.add(sent.sent_at);
    std::uint64_t bits = 0;
    for (bool flag : {sent.sacked, sent.lost, sent.retransmitted, sent.ever}) {
      bits = bits << 1 | (flag ? 1 : 0);
    }
    sink.add(bits);
  }
  sink.add(board.order.count);
  sink.add(board.has_edge ? board.edge : Sequence{});
  for (Sequence value : {board.fack, a.rescue, a.duplicate_begin, a.duplicate_end}) {
    sink.add(value);
  }
  for (Bytes value : {a.prr_flight, a.prr_delivered, a.prr_out}) {
    sink.add(value);
  }
  sink.add((a.has_duplicate ? 2u : 0u) | (a.after_timeout ? 1u : 0u));
}

void visit_rack(const InFlightState& a, FieldSink& sink) {
  RackState const& r = a.rack;
  for (Sequence value : {r.end, r.round, a.tail.end, a.undo_reduced_to, a.undo_mark, a.watch_end}) {
    sink.add(value);
  }
  for (Instant value : {r.sent_at, r.least_since, r.responded_at, a.timeout_due}) {
    sink.add(value);
  }
  for (Duration value : {r.rtt, r.least_now, r.least_before}) {
    sink.add(value);
  }
  for (Bytes value : {a.undo_cwnd, a.undo_ssthresh, a.undo_octets}) {
    sink.add(value);
  }
  std::uint64_t bits = static_cast<std::uint64_t>(a.watch);
  for (bool flag : {r.delivered, r.in_round, a.tail.wanted, a.tail.out, a.tail.retransmitted,
                    a.undo_armed, a.echo_armed, a.rto_suspect}) {
    bits = bits << 1 | (flag ? 1 : 0);
  }
  sink.add(bits);
}

void visit_doubts(const InFlightState& a, FieldSink& sink) {
  sink.add(a.unacked_since);
  if (a.echo_armed) {
    sink.add(a.echo.first_at);
    sink.add(a.echo.retransmitted_at);
    sink.add((a.echo.exact ? 2u : 0u) | (a.echo.timeout ? 1u : 0u));
  }
  if (a.undo_armed) {
    sink.add(a.undo_until);
    for (std::uint32_t i = 0; i != a.again.count; ++i) {
      sink.add(a.again.ranges[i].begin);
      sink.add(a.again.ranges[i].end);
    }
  }
  if (a.rto_suspect || a.watch != TimeoutWatch::off || a.echo_armed) {
    sink.add(a.rtt_before.srtt8_ns);
    sink.add(a.rtt_before.rttvar4_ns);
    sink.add(a.rtt_before.sent);
  }
}

void visit_queues(Engine& e, Connection& c, FieldSink& sink) {
  InFlightState& a = e.active(c);
  sink.add(a.pending_mtu);
  if (a.pending_mtu != 0) {
    sink.add(a.pending_sequence);
  }
  auto cursor = a.send.walk(e.pools, {Bytes{}, a.send.length()});
  memory::Source source;
  while (cursor.next(source)) {
    sink.add(static_cast<std::uint64_t>(source.kind));
    if (source.kind == memory::SourceKind::bytes) {
      sink.add_bytes(source.bytes);
    } else {
      sink.add(std::uint64_t{source.region.value} << 32 | source.length.count);
      sink.add(source.offset);
    }
  }
  if (a.send.record_ends != 0) {
    Bytes from;
    for (Bytes const end = a.send.length(); from < end;) {
      from += a.send.within_record(e.pools, {from, end - from});
      sink.add(from);
    }
    sink.add(a.send.record_ends);
  }
  Bytes done;
  Bytes const unread = unread_of(c);
  while (done < unread) {
    auto const bytes = readable(e, c, done);
    CHECK(!bytes.empty());
    sink.add_bytes(bytes);
    done += Bytes{static_cast<std::uint32_t>(bytes.size())};
  }
  for (Index i = a.extents; i != nil; i = e.extents[i].next) {
    for (Sequence from = e.extents[i].begin; from.before(e.extents[i].end);) {
      auto const bytes = a.receive.at(e.pools.blocks, from, e.extents[i].end.since(from));
      CHECK(!bytes.empty());
      sink.add_bytes(bytes);
      from = from + Bytes{static_cast<std::uint32_t>(bytes.size())};
    }
  }
  if (!a.receive.empty()) {
    sink.add(std::uint64_t{a.receive.offset});
  }
}

void visit_path_probe(const PathProbe& probe, FieldSink& sink) {
  sink.add(std::uint64_t{probe.size} << 1 | (probe.suppressed ? 1u : 0u));
  if (probe.size != 0 || probe.suppressed) {
    sink.add(probe.begin);
    sink.add(probe.end);
    sink.add(probe.ssthresh);
  }
}

void visit_active(Engine& e, Connection& c, FieldSink& sink) {
  InFlightState const& a = e.active(c);
  for (Sequence value : {a.pushed, a.small_end, a.retransmit_next, a.retransmit_end, a.timed,
                         a.fin_at, a.delayed_begin, a.last_ack_sent}) {
    sink.add(value);
  }
  for (Instant value : {a.timed_at, a.retransmit_due, a.delayed_ack_due, a.give_up_due}) {
    sink.add(value);
  }
  sink.add(c.send_urgent ? a.send_up : c.send.una);
  sink.add(c.receive_urgent ? a.receive_up : c.receive.nxt);
  sink.add(a.limited);
  sink.add(std::uint64_t{a.burst_left} << 8 | a.quantum);
  sink.add_exact(std::uint64_t{a.fast_open_by.listener} << 32 | a.fast_open_by.generation);
  sink.add(a.user_timeout_heard);
  visit_path_probe(a.path_probe, sink);
  sink.add(a.delayed);
  sink.add(a.gap_blocks);
  sink.add(a.extents == nil ? Instant{} : a.gap_since);
  sink.add(static_cast<std::uint64_t>(a.mode) << 16 | std::uint64_t{a.persist_backoff} << 8 |
           a.delayed_segments);
  std::uint64_t bits = 0;
  for (bool flag : {a.timing, a.probe, a.override, a.fin_known, a.window_update, a.keepalive_probe,
                    a.ack_now, a.reused_time_wait != nil, a.fast_open_wanted, a.fast_open_used,
                    a.fast_open_answer, a.fast_open_counted, a.early}) {
    bits = bits << 1 | (flag ? 1 : 0);
  }
  sink.add(bits);
  sink.add(a.early ? a.early_end : c.send.una);
  congestion::visit(e, a, sink);
  visit_owed(e, a, sink);
  visit_board(e, a, sink);
  visit_rack(a, sink);
  visit_doubts(a, sink);
  visit_queues(e, c, sink);
}

}  // namespace

void FieldSink::add_bytes(std::span<const std::byte> bytes) {
  // Byte by byte, so that block and frame boundaries make no difference.
  for (std::byte octet : bytes) {
    print_.add(std::to_integer<std::uint64_t>(octet));
  }
}

void visit_connection(Engine& e, Connection& c, FieldSink& sink) {
  visit_key(e, c, sink);
  visit_variables(c, sink);
  visit_flags(c, sink);
  Index const slot = e.slot_of(c);
  BacklogPlace const backlog = c.accepted_unreported ? c.backlog : BacklogPlace{};
  sink.add(slow_due(e, c));
  sink.add_exact(std::uint64_t{slot} << 32 | c.generation);
  sink.add_exact(std::uint64_t{backlog.listener} << 32 | backlog.generation);
  sink.add_exact(c.answers_second);
  sink.add_exact(std::uint64_t{c.rtt.flags()} >> 2 << 32 | c.tuned_us);
  sink.add_exact(c.segments_sent);
  sink.add_exact(c.segments_received);
  sink.add_exact(c.retransmissions);
  sink.add_exact(e.wheel.due(slot).ns);
  if (accounts_kept(e)) {
    visit_account(e.accounts[slot], sink);
  }
  if (added::possible(e)) {
    added::visit(e, c, sink);
  }
  if (c.active != nil) {
    visit_active(e, c, sink);
  }
}

void visit_time_wait(const Engine& e, Index record, FieldSink& sink) {
  TimeWait const& t = e.time_waits[record];
  sink.add(e.addresses[t.local_address]);
  sink.add(t.remote);
  sink.add(std::uint64_t{t.local_port.value} << 16 | t.remote_port.value);
  sink.add(t.send_nxt);
  sink.add(t.receive_nxt);
  sink.add(t.receive_wnd);
  visit_options(t.options, sink);
  sink.add(std::uint64_t{t.ttl} << 8 | t.dscp);
  sink.add(t.due);
  sink.add(std::uint64_t{t.challenges} << 32 | std::uint64_t{t.answers} << 8 |
           (t.suspended ? 1u : 0u));
  sink.add_exact(t.answers_second);
  sink.add_exact(record);
}

void visit_half_open(const Engine& e, Index half_open, FieldSink& sink) {
  HalfOpen const& h = e.half_opens[half_open];
  sink.add(e.addresses[h.local_address]);
  sink.add(h.remote);
  sink.add(std::uint64_t{h.local_port.value} << 16 | h.remote_port.value);
  sink.add(h.opened);
  sink.add(h.due);
  sink.add(h.iss);
  sink.add(h.irs);
  sink.add(std::uint64_t{h.timestamp} << 32 | std::uint64_t{h.window.value} << 16 | h.mss);
  sink.add(std::uint64_t{h.user_timeout} << 32 | std::uint64_t{h.answers} << 16 |
           std::uint64_t{h.brought} << 8 | h.scale.shift);
  sink.add(std::uint64_t{h.challenges} << 16 | std::uint64_t{h.tries} << 8 | h.retransmitted);
  sink.add_exact(std::uint64_t{h.listener} << 32 | half_open);
  sink.add_exact(std::uint64_t{h.answers_second} << 16 | std::uint64_t{h.sent} << 8 | h.received);
}

void visit_fast_open(const Engine& e, FieldSink& sink) {
  for (FastOpenEntry const& entry : e.fast_open_cache.all()) {
    if (entry.local.is_unspecified()) {
      continue;
    }
    sink.add(entry.local);
    sink.add(entry.remote);
    sink.add(std::uint64_t{entry.mss} << 32 | std::uint64_t{entry.bad_port.value} << 8 |
             entry.cookie_bytes);
    sink.add(entry.bad_until);
    for (std::uint8_t octet : entry.cookie) {
      sink.add(std::uint64_t{octet});
    }
  }
}

void visit_used_cookies(const Engine& e, FieldSink& sink) {
  for (UsedCookie const& spent : e.used_cookies.all()) {
    if (spent.until > e.state->now) {
      sink.add(spent.until);
      sink.add(std::uint64_t{spent.mark} << 32 | spent.cookie.value);
      sink.add(spent.begun_anew ? 1u : 0u);
    }
  }
}

void visit_listener(const Engine& e, Index slot, FieldSink& sink) {
  Listener& listener = e.listeners[slot];
  sink.add(listener.local.address);
  sink.add(listener.local.remote.address);
  sink.add(std::uint64_t{listener.local.port.value} << 16 | listener.local.remote.port.value);
  sink.add(std::uint64_t{listener.pending_max} << 32 | listener.pending);
  sink.add(listener.complete);
  sink.add(std::uint64_t{listener.records_max} << 32 | listener.half_open);
  sink.add(listener.admitted);
  sink.add(std::uint64_t{listener.fast_open_max} << 32 | listener.fast_open_pending);
  sink.add(listener.fast_open_resets);
  sink.add(listener.fast_open_resets_until);
  sink.add(std::uint64_t{listener.ttl} << 24 | std::uint64_t{listener.dscp} << 16 | listener.mss);
  sink.add(listener.receive_buffer);
  auto const held = e.held(listener);
  for (Index at = held.first(); at != nil; at = held.next(at)) {
    sink.add(std::uint64_t{e.connections[at].hash});
  }
  sink.add_exact(std::uint64_t{slot} << 32 | listener.generation);
}

namespace {

// What is known without the connection's slot, so also of a half-open record.
ConnectionInfo variables_of(const Engine& e, const Connection& c) {
  ConnectionInfo info;
  //= rfc9293#3.10.6
  //# 9293:P-STATUS-STATE the state and all variables
  info.exists = true;
  info.detached = c.detached;
  info.state = c.state;
  info.tuple = e.tuple_of(c);
  info.passive = c.passive;
  // Without urgent data the urgent pointers follow the left edges of the windows.
  Sequence const send_up = c.send_urgent ? e.active(c).send_up : c.send.una;
  bool const urgent = c.receive_urgent && c.active != nil;
  Sequence const receive_up = urgent ? e.active(c).receive_up : c.receive.nxt;
  info.send = {c.send.una, c.send.nxt,     c.send.wl1,   c.send.wl2, c.send.iss,   send_up,
               c.send.wnd, c.send.wnd_max, Bytes{c.mss}, Bytes{},    c.send_urgent};
  info.receive = {
      c.receive.nxt, c.receive.irs, receive_up, c.receive.edge, c.receive.edge.since(c.receive.nxt),
      unread_of(c),  Bytes{},       urgent};
  info.cwnd = c.congestion.cwnd;
  info.ssthresh = c.congestion.ssthresh;
  info.recover = c.congestion.recover;
  info.sack = c.sack;
  info.fast_recovery = c.congestion.recovering;
  info.duplicate_acks = c.congestion.duplicates;
  info.srtt = srtt_of(c.rtt);
  info.rttvar = rttvar_of(c.rtt);
  info.rto = c.rtt.rto();
  info.retries = c.retries;
  info.sent_at = c.sent_at;
  info.heard_at = c.heard_at;
  info.largest_heard = Bytes{c.rcv_mss};
  info.reordering_seen = c.reordering_seen;
  info.path_limited = c.path_limited;
  info.options = {c.options.has(negotiated::window_scale),
                  c.options.has(negotiated::timestamps),
                  c.options.send_scale,
                  c.options.receive_scale,
                  c.options.ts_recent,
                  c.options.has(negotiated::fast_open) || c.options.has(negotiated::early_taken)};
  info.dscp = c.dscp;
  info.ttl = c.ttl;
  info.user_timeout = Duration::milliseconds(c.user_timeout_ms);
  info.segments_sent = c.segments_sent;
  info.segments_received = c.segments_received;
  info.retransmissions = c.retransmissions;
  return info;
}

ConnectionInfo info_of(Engine& e, Connection& c) {
  ConnectionInfo info = variables_of(e, c);
  congestion::fill(e, c, info);
  fill_account(e, c, info);
  info.pipe = c.active == nil || e.active(c).board.order.count == 0 ? c.send.nxt.since(c.send.una)
                                                                    : e.active(c).board.pipe;
  if (c.active != nil) {
    fill_active(e, c, info);
  }
  return info;
}

ConnectionInfo info_of(const Engine& e, const TimeWait& record) {
  ConnectionInfo info;
  info.exists = !record.suspended;
  info.state = State::time_wait;
  info.tuple = tuple_of(e, record);
  info.send.nxt = info.send.una = record.send_nxt;
  info.receive.nxt = record.receive_nxt;
  info.receive.wnd = record.receive_wnd;
  info.ttl = record.ttl;
  info.dscp = record.dscp;
  info.time_wait_due = record.due;
  return info;
}

ConnectionInfo info_of(const Engine& e, const HalfOpen& half_open) {
  ConnectionInfo info = variables_of(e, view_of(e, half_open));
  info.retransmit_due = half_open.due;
  info.retries = half_open.tries;
  info.retransmissions = half_open.retransmitted;
  return info;
}

ConnectionInfo info_of(const Listener& listener) {
  ConnectionInfo info;
  info.exists = listener.open;
  info.state = State::listen;
  info.tuple = {{listener.local.address, listener.local.port}, listener.local.remote};
  info.passive = true;
  info.send.queued = Bytes{listener.pending_max};
  info.receive.unread = Bytes{listener.complete};
  return info;
}

}  // namespace

ConnectionInfo inspect(Engine& e, ConnectionId id) {
  Connection* const found = find(e, id);
  //= rfc9293#3.10.6
  //# 9293:P-STATUS-CLOSED unknown id: `exists` is false
  return found == nullptr ? ConnectionInfo{} : info_of(e, *found);
}

std::uint32_t record_count(const Engine& e) {
  return e.connections.high_water() + e.time_waits.high_water() + e.half_opens.high_water() +
         e.listeners.high_water();
}

ConnectionInfo inspect_record(Engine& e, Index record) {
  if (record < e.connections.high_water()) {
    return e.connections.taken(record) ? info_of(e, e.connection(record)) : ConnectionInfo{};
  }
  record -= e.connections.high_water();
  if (record < e.time_waits.high_water()) {
    return e.time_waits.taken(record) ? info_of(e, e.time_waits[record]) : ConnectionInfo{};
  }
  record -= e.time_waits.high_water();
  if (record < e.half_opens.high_water()) {
    return e.half_opens.taken(record) ? info_of(e, e.half_opens[record]) : ConnectionInfo{};
  }
  record -= e.half_opens.high_water();
  CHECK(record < e.listeners.high_water());
  return e.listeners.taken(record) ? info_of(e.listeners[record]) : ConnectionInfo{};
}

Bytes acknowledged_of(const Engine& e, const FourTuple& tuple, std::uint16_t local_address) {
  TableEntry const found = e.demux.find(e.demux.hash_of(tuple), [&](TableEntry candidate) {
    if (candidate.kind != EntryKind::connection) {
      return false;
    }
    Connection const& c = e.connections[candidate.index];
    return c.remote == tuple.remote.address && c.local_address == local_address &&
           c.remote_port == tuple.remote.port && c.local_port == tuple.local.port;
  });
  if (found.kind != EntryKind::connection) {
    return {};
  }
  SendVariables const& send = e.connections[found.index].send;
  return Bytes{send.una.value - send.iss.value};  // modulo 2^32: it is only compared
}

State state_of(const Engine& e, const FourTuple& tuple, std::uint16_t local_address) {
  State state = State::closed;
  static_cast<void>(e.demux.find(e.demux.hash_of(tuple), [&](TableEntry found) {
    if (found.kind == EntryKind::connection) {
      Connection const& c = e.connections[found.index];
      bool const same = c.remote == tuple.remote.address && c.local_address == local_address &&
                        c.remote_port == tuple.remote.port && c.local_port == tuple.local.port;
      state = same ? c.state : state;
      return same;
    }
    if (found.kind == EntryKind::time_wait) {
      TimeWait const& t = e.time_waits[found.index];
      bool const same = t.remote == tuple.remote.address && t.local_address == local_address &&
                        t.remote_port == tuple.remote.port && t.local_port == tuple.local.port;
      state = same ? State::time_wait : state;
      return same;
    }
    return false;
  }));
  if (state == State::closed && find_half_open(e, tuple, local_address) != nil) {
    return State::syn_received;
  }
  bool const listening = state == State::closed && find_listener(e, tuple) != nil;
  return listening ? State::listen : state;
}

}  // namespace lockstep::tcp
