// SEGMENT ARRIVES in SYN-RECEIVED and every later state (RFC 9293 3.10.7.4).
#include "core/tcp/ack_pace.hpp"
#include "core/tcp/acknowledgement.hpp"
#include "core/tcp/act.hpp"
#include "core/tcp/arrives.hpp"
#include "core/tcp/challenge.hpp"
#include "core/tcp/ecn.hpp"
#include "core/tcp/expiry.hpp"
#include "core/tcp/judge.hpp"
#include "core/tcp/lifecycle.hpp"
#include "core/tcp/output.hpp"
#include "core/tcp/pending_ack.hpp"
#include "core/tcp/reassembly.hpp"
#include "core/tcp/replies.hpp"
#include "core/tcp/segment_options.hpp"
#include "core/tcp/time_wait.hpp"
#include "core/tcp/timestamps.hpp"
#include "core/tcp/user_timeout.hpp"
#include "core/tcp/window_scale.hpp"

namespace lockstep::tcp {
namespace {

// A connection, as act() needs it.
struct JudgedConnection {
  Connection& c;

  bool may_answer(Engine& e) { return tcp::may_answer(e, c); }
  bool may_challenge(Engine& e) { return tcp::may_challenge(e, c); }
  void acknowledge(Engine& e, const InboundSegment&, const wire::Segment& s) {
    ack_duplicate(e, c, s);
  }
  void end(Engine& e, Cause cause) {
    enter(e, c, State::closed);
    detach(e, c, cause);
  }
  //= rfc9293#3.5.3
  //# 9293:P-RSTPROC-STATE SYN-RECEIVED from LISTEN goes back there, all else is aborted
  void end_by_reset(Engine& e) {
    //= rfc9293#3.10.7.4
    //# 9293:P-RST-SYNRCVD refused, if the open was active; else the user need not know
    //= rfc9293#3.5
    //# 9293:MUST-11 SYN-RECEIVED remembers which it was
    //= rfc9293#3.10.7.4
    //# 9293:P-RST-EST, 9293:P-RST-CLOSING all later states: connection reset
    //= rfc9293#3.5
    //# 9293:P-OLDDUP-SYN figure 8: the reset of an old SYN's answer frees the listener's attempt
    //= rfc9293#3.5
    //# 9293:P-RST-SYNCSTATES in a synchronized state the user is told
    // With Fast Open the application knows of the connection already, so it gets `reset`.
    bool const unknown = c.state == State::syn_received && !opened_fast(c);
    bool const refused = unknown && !e.config.errors_like_linux;
    end(e, refused ? Cause::refused : Cause::reset);
  }
  Index cookie_listener(Engine& e) {
    bool const bare =
        listener_of(e, c) != nullptr && !opened_fast(c) && e.active(c).reused_time_wait == nil;
    return bare ? c.backlog.listener : nil;
  }
};

// A segment that arrived before, so the ACK of it was probably lost: the next ACK echoes the
// timestamp of this copy, as in Linux and BSD. With the timestamp of the first copy, the peer's
// whole timeout would count as part of the round trip. Appendix D of RFC 7323 does this before the
// test of the sequence number, too. SEG.SEQ =< Last.ACK.sent =< SEG.SEQ + SEG.LEN: a forger would
// have to know where a segment of the peer lay.
//= rfc7323#4.3
//# 7323:TS-15 what begins at or before Last.ACK.sent, even if all of it is old
void record_timestamp_of_copy(const Engine& e, Connection& c, const wire::Segment& s) {
  Sequence const last_ack = c.active != nil ? e.active(c).last_ack_sent : c.receive.nxt;
  if (!s.flags.syn() && !s.length().empty() && s.end().at_or_after(last_ack) &&
      synchronized(c.state) && judge_ack(ConnectionView{e, c}, s).action == Action::accept) {
    record_timestamp(e, c, s);
  }
}

// A keep-alive probe of the peer, with one octet or none: outside of the window, but received for
// this connection. It shows that the peer is alive.
//= rfc9293#3.8.4
//# 9293:MUST-26 our probes wait for a time without packets of any kind
void note_keepalive_of_peer(Engine& e, Connection& c, const wire::Segment& s) {
  bool const probe = s.sequence == c.receive.nxt.previous() && s.length().count <= 1 &&
                     !s.flags.syn() && !s.flags.fin() && synchronized(c.state);
  if (probe && judge_ack(ConnectionView{e, c}, s).action == Action::accept) {
    //= rfc7323#5.5
    //# 7323:TS-21 probes keep TS.Recent young, too, as its age is that of `heard_at`
    record_timestamp(e, c, s);
    c.heard_at = e.state->now;
    reset_unanswered_probes(e, c);
  }
}

// Not inlined into the path of acceptable segments.
[[gnu::cold, gnu::noinline]] Drop act_on(Engine& e, Connection& c, const InboundSegment& arrival,
                                         const wire::Segment& s, Disposition disposition) {
  if (drops_syn_fin(e.config, s.flags)) {
    return Drop::tcp_syn_fin;
  }
  if (disposition.drop == Drop::tcp_out_of_window) {
    record_timestamp_of_copy(e, c, s);
    note_keepalive_of_peer(e, c, s);
  }
  return act(e, JudgedConnection{c}, arrival, s, disposition);
}

bool acks_our_syn(const Connection& c, const wire::Segment& s) {
  return s.flags.ack() && s.acknowledgment.after(c.send.una) &&
         s.acknowledgment.at_or_before(c.send.nxt);
}

// A SYN at IRS in SYN-RECEIVED: the peer's SYN, retransmitted, or the SYN-ACK of a simultaneous
// open (figure 7).
bool is_same_syn(const Connection& c, const wire::Segment& s) {
  return c.state == State::syn_received && s.flags.syn() && !s.flags.rst() &&
         s.sequence == c.receive.irs;
}

// A SYN that came again without options that the first one had: hosts whose SYNs are not answered
// leave them out.
//= rfc7323#3.2
//# 7323:TS-39 what the newer SYN lacks is not agreed on
void process_options_again(Connection& c, const wire::Segment& syn) {
  if (syn.flags.ack() || c.send.nxt != c.send.iss.next()) {
    return;  // of a simultaneous open, or data has left with them
  }
  wire::Options const& options = syn.options;
  Bytes const before = steady_options_bytes(c);
  if (!options.has_timestamps) {
    c.options.clear(negotiated::timestamps);
  }
  if (!options.has_window_scale) {
    c.options.clear(negotiated::window_scale);
    c.options.send_scale = c.options.receive_scale = {};
  }
  c.sack = c.sack && options.has_sack_permitted;
  c.mss = static_cast<std::uint16_t>(c.mss + before.count - steady_options_bytes(c).count);
}

// What the ACK of an accepted segment led to: whether later steps follow, or the segment ends here.
struct AckStep {
  bool go_on = true;
  Drop drop = Drop::none;
};

constexpr AckStep ends(Drop drop) { return {false, drop}; }

// The ACK of our SYN in SYN-RECEIVED.
AckStep complete_handshake(Engine& e, Connection& c, const InboundSegment& arrival,
                           const wire::Segment& s) {
  // Treated as lost while the backlog is full: our SYN-ACK is retransmitted and acknowledged anew.
  if (!may_complete(e, c)) [[unlikely]] {
    return ends(Drop::tcp_listen_full);
  }
  //= rfc9293#3.10.7.4
  //# 9293:P-SYNRCVD-EST ESTABLISHED, with the window of this segment
  record_timestamp(e, c, s);
  process_echo(e, c, s);
  advance_una(e, c, e.active(c), s.acknowledgment);
  // Of the segment as it arrived: the SYN-ACK of a simultaneous open is here without its SYN, but
  // the window of a SYN is not scaled.
  c.send.wnd = offered_window(c, arrival.segment);
  c.send.wnd_max = most(c.send.wnd_max, c.send.wnd);
  c.send.wl1 = s.sequence;
  c.send.wl2 = s.acknowledgment;
  establish(e, c);
  return {};
}

// Our FIN is acknowledged.
AckStep our_fin_acknowledged(Engine& e, Connection& c) {
  switch (c.state) {
    case State::fin_wait_1:
      //= rfc9293#3.10.7.4
      //# 9293:P-FINWAIT1-ACK FIN-WAIT-2, and the next steps follow
      enter(e, c, State::fin_wait_2);
      bound_fin_wait_2(e, c);
      return {};
    case State::closing:
      //= rfc9293#3.10.7.4
      //# 9293:P-CLOSING-ACK TIME-WAIT
      begin_time_wait(e, c);
      return ends(Drop::none);
    case State::last_ack:
      //= rfc9293#3.10.7.4
      //# 9293:P-LASTACK-ACK CLOSED
      enter(e, c, State::closed);
      detach(e, c, Cause::finished);
      return ends(Drop::none);
    default:
      //= rfc9293#3.10.7.4
      //# 9293:P-FINWAIT2-ACK, 9293:P-CLOSEWAIT-ACK nothing more than in ESTABLISHED
      return {};
  }
}

AckStep process_ack_field(Engine& e, Connection& c, const InboundSegment& arrival,
                          const wire::Segment& s) {
  if (c.state == State::syn_received) {
    return complete_handshake(e, c, arrival, s);
  }
  // Not earlier: a segment with an ACK that the peer cannot have sent must change nothing.
  record_timestamp(e, c, s);
  process_ack(e, c, s);
  if (c.fin_sent && c.send.una == c.send.nxt) {
    return our_fin_acknowledged(e, c);
  }
  if (c.state != State::closing) {
    return {};
  }
  //= rfc9293#3.8.6.1
  //# 9293:MUST-37 the ACK of a zero-window probe shows in CLOSING, too, that the peer is alive
  c.heard_at = e.state->now;
  reset_unanswered_probes(e, c);
  return ends(Drop::tcp_closing_ack);
}

//= rfc9293#3.10.7.4
//# 9293:P-ACCEPT-TRIM what lies outside of the window is cut off, FIN included
//= rfc9293#3.8.6
//# 9293:P-WND-OVERRUN octets beyond the window are discarded
SegmentData trimmed(const Connection& c, const wire::Segment& s) {
  SegmentData data{s.sequence, s.payload, s.flags.fin()};
  if (data.begin.before(c.receive.nxt)) {
    Bytes const old = least(c.receive.nxt.since(data.begin),
                            Bytes{static_cast<std::uint32_t>(data.bytes.size())});
    data.bytes = data.bytes.subspan(old.count);
    data.begin = data.begin + old;
  }
  if (data.end().after(c.receive.edge)) {
    data.bytes = data.bytes.first(c.receive.edge.since(data.begin).count);
    data.fin = false;
  }
  data.fin = data.fin && data.end().before(c.receive.edge);
  return data;
}

Drop check_data(Engine& e, Connection& c, const wire::Segment& s) {
  if (s.payload.empty() && !s.flags.fin()) {
    return Drop::none;
  }
  //= rfc9293#3.10.7.4
  //# 9293:P-DATA-AFTER-FIN, 9293:P-FIN-REMAIN after the peer's FIN there is no data, and no FIN
  if (!peer_may_send(c.state)) {
    return Drop::tcp_data_after_fin;
  }
  SegmentData const data = trimmed(c, s);
  if (data.bytes.empty() && !data.fin) {
    ack_duplicate(e, c, s);
    return Drop::tcp_data_beyond_window;
  }
  if (c.reading_over && !data.bytes.empty()) {
    //= rfc9293#3.6.1
    //# 9293:SHLD-3, 9293:MAY-1 data after a full close draws a reset
    //= rfc9293#3.5.2
    //# 9293:P-RST-SEQ <SEQ=SEG.ACK>: if our FIN was lost, the peer accepts no later number
    // That SEG.ACK is SND.UNA, unless a later ACK has arrived before.
    send_reset_at(e, c, c.send.una);
    enter(e, c, State::closed);
    detach(e, c, Cause::aborted);
    return Drop::tcp_data_after_close;
  }
  return accept_data(e, c, data, s);
}

// The SYN-ACK of a simultaneous open without its SYN, and without the data that the peer's SYN
// carried before.
[[gnu::cold]] wire::Segment without_its_syn(const Connection& c, wire::Segment segment) {
  auto const data = Bytes{static_cast<std::uint32_t>(segment.payload.size())};
  Bytes const old = least(c.receive.nxt.since(segment.sequence.next()), data);
  segment.flags = segment.flags.without(wire::flag::syn);
  segment.sequence = segment.sequence.next() + old;
  segment.payload = segment.payload.subspan(old.count);
  segment.urgent = static_cast<std::uint16_t>((Bytes{segment.urgent} - old - Bytes{1}).count);
  return segment;
}

// Steps 1 to 8 of RFC 9293 3.10.7.4.
Drop process_segment(Engine& e, Connection& c, const InboundSegment& arrival,
                     const wire::Segment& segment) {
  Disposition const disposition = judge(ConnectionView{e, c}, segment);
  if (disposition.action != Action::accept) [[unlikely]] {
    return act_on(e, c, arrival, segment, disposition);
  }
  AckStep const step = process_ack_field(e, c, arrival, segment);
  if (!step.go_on) {
    return step.drop;
  }
  if (e.state->now.since(c.heard_at) > e.config.rto_min && !ack_pace::is_on(e)) {
    c.ack_pace = 0;  // after a pause the peer starts with a small congestion window again
  }
  c.heard_at = e.state->now;
  reset_unanswered_probes(e, c);
  if (segment.options.has_user_timeout) [[unlikely]] {
    process_user_timeout(e, c, segment);
  }
  if (segment.flags.urg()) [[unlikely]] {
    process_urgent(e, c, segment);
  }
  //= rfc3168#6.1.5
  //# 3168:ECN-20 the ECN field of a packet outside of the window is ignored: it was dropped above
  bool const at_once =
      c.ecn.rx && !segment.payload.empty() && ecn::process_field(e, c, arrival.ecn, segment.flags);
  Drop const drop = check_data(e, c, segment);
  if (at_once) [[unlikely]] {
    ecn::notify_ce(e, c);
  }
  if (c.detached || c.active == nil) {
    return drop;
  }
  if (e.active(c).fin_known) {
    process_fin_if_due(e, c);
  }
  if (!c.detached) {
    release_if_idle(e, c);
  }
  return drop;
}

}  // namespace

[[gnu::cold]] void process_urgent(Engine& e, Connection& c, const wire::Segment& s) {
  //= rfc9293#3.1
  //# 9293:P-URGPTR-FIELD the pointer counts from SEG.SEQ, and only with URG
  //= rfc9293#3.10.7.4
  //# 9293:P-URG-AFTERFIN after the peer's FIN it is ignored
  bool const on_syn = c.state == State::syn_received;
  if (!s.flags.urg() || !(on_syn || peer_may_send(c.state))) {
    return;
  }
  //= rfc9293#3.8.5
  //# 9293:MUST-62, 9293:MUST-31 the octet after the urgent data, which may have any length
  // One urgent octet that is apart, the last one, must be new; a pointer of 0 names the first.
  bool const apart = e.config.urgent_apart;
  Sequence const up = s.sequence + Bytes{apart && s.urgent == 0 ? 1u : s.urgent};
  //= rfc9293#3.8.5
  //# 9293:P-URG-NORECEDE a pointer to data that was read, or before RCV.UP, is ignored
  //= rfc9293#3.10.7.4
  //# 9293:P-URG-NOREPEAT so is the same pointer a second time
  if (!up.after(apart ? c.receive.nxt : c.receive.read) ||
      (c.receive_urgent && !up.after(e.active(c).receive_up))) {
    return;
  }
  // Without an active part it is ignored: each segment carries the pointer until the peer has sent
  // all of the urgent data.
  InFlightState* const a = ensure_active(e, c);
  if (a == nullptr) {
    return;
  }
  //= rfc9293#3.10.7.4
  //# 9293:P-URG-EST RCV.UP = max(RCV.UP, SEG.UP), and the user is notified
  //= rfc9293#3.10.3
  //# 9293:P-RECV-URGENT while it is ahead of the data that was read
  //= rfc9293#3.8.5
  //# 9293:MUST-30, 9293:MUST-32, 9293:MUST-33 on entering urgent mode and on each advance
  a->receive_up = up;
  c.receive_urgent = true;
  if (!on_syn) {
    notify(e, c, EventKind::urgent);
  }
}

//= rfc9293#3.10
//# 9293:P-EV-NOSTATE a step that names no new state leaves the state as it is
//= rfc9293#3.10.7.4
//# 9293:P-SEQ-ORDER in the order of sequence numbers, old parts cut off
Drop arrives_other_states(Engine& e, Connection& c, const InboundSegment& arrival) {
  if (!is_same_syn(c, arrival.segment)) {
    return process_segment(e, c, arrival, arrival.segment);
  }
  if (drops_syn_fin(e.config, arrival.segment.flags)) {
    return Drop::tcp_syn_fin;
  }
  ecn::process_syn_again(c, arrival.segment.flags);
  process_options_again(c, arrival.segment);
  if (!acks_our_syn(c, arrival.segment)) {
    // With an interval between answers, not for each copy of the SYN.
    if (e.config.answer_interval == Duration{} || may_answer(e, c)) {
      send_syn_again(e, c);
    }
    return Drop::tcp_out_of_window;
  }
  if (e.config.simultaneous_answered) {
    ack_now(e, c);
  }
  //= rfc9293#A.2
  //# 9293:P-SEQVAL-A2 the SYN-ACK of a simultaneous open would fail the sequence test
  return process_segment(e, c, arrival, without_its_syn(c, arrival.segment));
}

}  // namespace lockstep::tcp
