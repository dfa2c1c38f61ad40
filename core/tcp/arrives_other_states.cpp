// SEGMENT ARRIVES in SYN-RECEIVED and every later state (RFC 9293 3.10.7.4).
#include "core/tcp/acceptable.hpp"
#include "core/tcp/acknowledgement.hpp"
#include "core/tcp/arrives.hpp"
#include "core/tcp/challenge.hpp"
#include "core/tcp/ecn.hpp"
#include "core/tcp/expiry.hpp"
#include "core/tcp/lifecycle.hpp"
#include "core/tcp/opening/cookies.hpp"
#include "core/tcp/output.hpp"
#include "core/tcp/pending_ack.hpp"
#include "core/tcp/reassembly.hpp"
#include "core/tcp/replies.hpp"
#include "core/tcp/time_wait.hpp"
#include "core/tcp/timestamps.hpp"
#include "core/tcp/user_timeout.hpp"
#include "core/tcp/window_scale.hpp"

namespace lockstep::tcp {
namespace {

// Whether later steps go on with the segment, or it ends here (with a reason, or well).
struct Step {
  bool go_on = true;
  Drop drop = Drop::none;
};

constexpr Step ends(Drop drop) { return {false, drop}; }

// Until ESTABLISHED, RCV.NXT is IRS + 1 to the outside, whatever data of the SYN waits: the peer
// has heard of no more, and its reset or its data again has that number.
//= rfc9293#3.10.7.2
//# 9293:P-LISTEN-SYN-QUEUE, 9293:P-LISTEN-SYN-VARS RCV.NXT is IRS + 1, the rest is for later
ReceiveWindow window_of(const Connection& c) {
  if (c.state == State::syn_received && !opened_fast(c)) {
    return {c.receive.irs.next(), c.receive.edge.since(c.receive.irs.next())};
  }
  return {c.receive.nxt, c.receive.edge.since(c.receive.nxt)};
}

bool acks_our_syn(const Connection& c, const wire::Segment& s) {
  return s.flags.ack() && s.acknowledgment.after(c.send.una) &&
         s.acknowledgment.at_or_before(c.send.nxt);
}

// A SYN at IRS in SYN-RECEIVED: the peer's SYN again, or figure 7's SYN-ACK that crosses ours.
bool is_same_syn(const Connection& c, const wire::Segment& s) {
  return c.state == State::syn_received && s.flags.syn() && !s.flags.rst() &&
         s.sequence == c.receive.irs;
}

// What follows the data of the peer's SYN: the ACK of our SYN mostly, which is welcome even if that
// data has filled the whole window.
bool is_behind_data_of_syn(const Connection& c, const wire::Segment& s) {
  return c.state == State::syn_received && s.sequence == c.receive.nxt;
}

//= rfc7323#5.3
//# 7323:TS-32 PAWS comes before the test of the sequence number
//# 7323:TS-17 and answers with an ACK
//# 7323:TS-48 once, on arrival
//= rfc7323#5.6
//# 7323:TS-51 and before whatever else makes the common case short
Step check_timestamp(Engine& e, Connection& c, const wire::Segment& s) {
  //= rfc7323#5.2
  //# 7323:TS-18 a reset is not judged by its timestamp
  if (!c.options.has(negotiated::timestamps) || s.flags.rst()) {
    return {};
  }
  Paws const stamp = stamp_of(e, c, s);
  if (stamp == Paws::ok) {
    return {};
  }
  if (stamp == Paws::missing) {
    return ends(Drop::tcp_timestamp_missing);
  }
  //= rfc5961#7
  //# 5961:BLIND-7 within the limit of those that are answered though they bring nothing
  if (!s.length().empty() || may_answer(e, c)) {
    ack_duplicate(e, c, s);
  }
  return ends(Drop::tcp_timestamp_old);
}

//= rfc9293#3.10.7.4
//# 9293:P-ACCEPT-REPLY an unacceptable segment draws an ACK, a reset draws nothing
//= rfc9293#3.5.2
//# 9293:P-RST-GRP3 and the state stays
Step check_sequence(Engine& e, Connection& c, const wire::Segment& s) {
  ReceiveWindow const window = window_of(c);
  if (acceptable(window, s.sequence, s.length()) || is_behind_data_of_syn(c, s)) {
    return {};
  }
  if (window.wnd.empty()) {
    //= rfc9293#3.10.7.4
    //# 9293:P-ZEROWND-ACCEPT at a zero window valid ACKs, URGs and RSTs are still taken
    //= rfc9293#3.4
    //# 9293:MUST-66, 9293:P-ZEROWND-SEND so are those behind one octet of a probe
    std::int32_t const ahead = s.sequence.distance_from(window.nxt);
    if (ahead == 0 || (ahead == 1 && s.length().empty())) {
      return {};
    }
  }
  if (s.flags.rst()) {
    return ends(Drop::tcp_reset_outside);
  }
  //= rfc5961#7
  //# 5961:BLIND-7 those without data, SYN or FIN within a limit: ACKs of ACKs might never end
  if (!s.length().empty() || may_answer(e, c)) {
    //= rfc9293#3.8.6.1
    //# 9293:P-ZWP-REPLY a probe draws an ACK with the next expected number and the window
    ack_duplicate(e, c, s);
  }
  return ends(Drop::tcp_out_of_window);
}

// The connection ends by a reset of the peer.
//= rfc9293#3.5.3
//# 9293:P-RSTPROC-STATE SYN-RECEIVED from LISTEN goes back there, all else is aborted
[[gnu::cold]] void reset_by_peer(Engine& e, Connection& c) {
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
  // An application that was told already, as the peer opened fast, learns what has become of it.
  bool const unknown = c.state == State::syn_received && !opened_fast(c);
  Cause const cause = unknown ? Cause::refused : Cause::reset;
  enter(e, c, State::closed);
  detach(e, c, cause);
}

[[gnu::cold]] Step check_reset(Engine& e, Connection& c, const wire::Segment& s) {
  ReceiveWindow const window = window_of(c);
  //= rfc9293#3.10.7.4
  //# 9293:P-RST-SYNC a reset exactly at RCV.NXT resets the connection
  //= rfc5961#3.2
  //# 5961:BLIND-2 exactly at RCV.NXT
  //= rfc5961#4.2
  //# 5961:BLIND-13 so does the one that answers a challenge ACK
  if (s.sequence == window.nxt || s.sequence == c.receive.nxt) {
    reset_by_peer(e, c);
    return ends(Drop::none);
  }
  //= rfc9293#3.10.7.4
  //# 9293:P-RST-OUT outside of the window it is dropped in silence
  //= rfc9293#3.5.3
  //# 9293:P-RSTPROC-VALID its SEQ must lie in the window, whatever data it carries
  //= rfc5961#3.2
  //# 5961:BLIND-1 outside of the window
  if (!s.sequence.inside(window.nxt, window.wnd)) {
    return ends(Drop::tcp_reset_outside);
  }
  if (e.config.reset_policy == ResetPolicy::rfc793) {
    reset_by_peer(e, c);
    return ends(Drop::none);
  }
  //= rfc9293#3.10.7.4
  //# 9293:P-RST-CHALLENGE inside it, but not at its edge: a challenge ACK
  //= rfc5961#3.2
  //# 5961:BLIND-3, 5961:BLIND-14 a challenge ACK, and the segment is dropped
  ack_challenge(e, c, s);
  return ends(Drop::tcp_reset_challenged);
}

[[gnu::cold]] Step check_syn(Engine& e, Connection& c, const InboundSegment& arrival,
                             const wire::Segment& s) {
  //= rfc9293#3.10.7.4
  //# 9293:P-SYN-SYNRCVD an in-window SYN ends a passive attempt
  if (c.state == State::syn_received && c.passive) {
    enter(e, c, State::closed);
    detach(e, c, Cause::refused);
    return ends(Drop::tcp_syn_received_syn);
  }
  //= rfc9293#3.10.7.4
  //# 9293:P-SYN-OUTWIN one outside of the window was answered in step 1
  if (e.config.reset_policy == ResetPolicy::rfc793) {
    //= rfc9293#3.10.7.4
    //# 9293:P-SYN-793 RFC 793: an in-window SYN draws a reset and ends the connection
    reply_reset(e, arrival);
    enter(e, c, State::closed);
    detach(e, c, Cause::reset);
    return ends(Drop::tcp_syn_in_window);
  }
  //= rfc9293#3.10.7.4
  //# 9293:P-SYN-INWIN a challenge ACK, whatever its sequence number
  //= rfc5961#4.2
  //# 5961:BLIND-5 a challenge ACK
  ack_challenge(e, c, s);
  return ends(Drop::tcp_syn_challenged);
}

// An ACK as of a cookie that answered the peer's SYN before the next one had this record. It has
// heard of the cookie alone: the record was for nothing.
[[gnu::cold]] Drop arrives_cookie_of(Engine& e, Connection& c, const InboundSegment& arrival) {
  Index const listener = c.backlog.listener;
  if (proves_cookie(e, arrival)) {
    enter(e, c, State::closed);
    detach(e, c, Cause::refused);
  }
  return arrives_cookie(e, listener, arrival);
}

Step check_ack_syn_received(Engine& e, Connection& c, const InboundSegment& arrival,
                            const wire::Segment& s) {
  if (!acks_our_syn(c, s)) {
    bool const bare =
        listener_of(e, c) != nullptr && !opened_fast(c) && e.active(c).reused_time_wait == nil;
    if (bare && cookies_are_out(e) && may_answer_cookie(e, arrival)) {
      return ends(arrives_cookie_of(e, c, arrival));
    }
    //= rfc9293#3.10.7.4
    //# 9293:P-SYNRCVD-ACK an ACK of what was never sent draws <SEQ=SEG.ACK><CTL=RST>
    //= rfc9293#3.5.2
    //# 9293:P-RST-GRP2 and the state stays
    reply_reset(e, arrival);
    return ends(Drop::tcp_syn_received_ack);
  }
  // It is lost as on the wire until the application takes one: our SYN goes again, and is answered.
  if (!may_complete(e, c)) [[unlikely]] {
    return ends(Drop::tcp_listen_full);
  }
  //= rfc9293#3.10.7.4
  //# 9293:P-SYNRCVD-EST ESTABLISHED, with the window of this segment
  record_timestamp(e, c, s);
  process_echo(e, c, s);
  advance_una(e, c, e.active(c), s.acknowledgment);
  // As it came: a SYN-ACK that crosses ours has lost its SYN here, but not its unscaled window.
  c.send.wnd = offered_window(c, arrival.segment);
  c.send.wnd_max = most(c.send.wnd_max, c.send.wnd);
  c.send.wl1 = s.sequence;
  c.send.wl2 = s.acknowledgment;
  establish(e, c);
  return {};
}

// Our FIN is acknowledged: what that means for each state.
Step our_fin_acknowledged(Engine& e, Connection& c) {
  switch (c.state) {
    case State::fin_wait_1:
      //= rfc9293#3.10.7.4
      //# 9293:P-FINWAIT1-ACK FIN-WAIT-2, and processing goes on there
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

Step check_ack(Engine& e, Connection& c, const InboundSegment& arrival, const wire::Segment& s) {
  //= rfc9293#3.10.7.4
  //# 9293:P-ACK-OFF a segment without ACK is dropped
  if (!s.flags.ack()) {
    return ends(Drop::tcp_no_ack);
  }
  if (c.state == State::syn_received) {
    return check_ack_syn_received(e, c, arrival, s);
  }
  //= rfc9293#3.10.7.4
  //# 9293:P-ACK-FUTURE an ACK of what was never sent draws an ACK
  if (s.acknowledgment.after(c.send.nxt)) {
    ack_challenge(e, c, s);
    return ends(Drop::tcp_ack_of_unsent);
  }
  //= rfc9293#3.10.7.4
  //# 9293:P-ACK-5961, 9293:MAY-12, 9293:P-ACK-MAXWND one older than the largest window, too
  //= rfc5961#5.2
  //# 5961:BLIND-6, 5961:BLIND-9, 5961:BLIND-10 SND.UNA - MAX.SND.WND =< SEG.ACK =< SND.NXT
  if (e.config.reset_policy == ResetPolicy::rfc5961 &&
      s.acknowledgment.before(c.send.una - c.send.wnd_max)) {
    ack_challenge(e, c, s);
    return ends(Drop::tcp_ack_too_old);
  }
  // Here and not before: a segment whose ACK nobody could have sent leaves no trace.
  record_timestamp(e, c, s);
  process_ack(e, c, s);
  if (c.fin_sent && c.send.una == c.send.nxt) {
    return our_fin_acknowledged(e, c);
  }
  if (c.state != State::closing) {
    return {};
  }
  //= rfc9293#3.8.6.1
  //# 9293:MUST-37 the answer to a probe of our data is one here, too
  c.heard_at = e.state->now;
  heard_while_probing(e, c);
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
  bool const brings = !s.payload.empty() || s.flags.fin();
  if (!brings) {
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
    //# 9293:P-RST-SEQ <SEQ=SEG.ACK>: our FIN may be lost, and the peer expects no more than it has
    // SND.UNA is that SEG.ACK, unless a later one came before.
    send_reset_at(e, c, c.send.una);
    enter(e, c, State::closed);
    detach(e, c, Cause::aborted);
    return Drop::tcp_data_after_close;
  }
  return accept_data(e, c, data, s);
}

// A SYN-ACK that repeats the peer's SYN, less all that the SYN brought before.
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
  Step step = check_timestamp(e, c, segment);
  if (step.go_on) {
    //= rfc7323#5.3
    //# 7323:TS-45, 7323:TS-47 R2, R4 and R5 are what follows without timestamps, too
    step = check_sequence(e, c, segment);
  }
  if (step.go_on && segment.flags.rst()) {
    step = check_reset(e, c, segment);
  }
  if (step.go_on && segment.flags.syn()) {
    //= rfc9293#A.1.2
    //# 9293:P-SEC-IGNORE step 3, security, is skipped
    //= rfc9293#A.1.1
    //# 9293:P-PRECEDENCE nor is there any check of precedence
    step = check_syn(e, c, arrival, segment);
  }
  if (step.go_on) {
    step = check_ack(e, c, arrival, segment);
  }
  if (!step.go_on) {
    return step.drop;
  }
  if (e.state->now.since(c.heard_at) > e.config.rto_min) {
    c.unbroken = {};  // the peer begins anew, with a small window
  }
  c.heard_at = e.state->now;
  heard_while_probing(e, c);
  if (segment.options.has_user_timeout) [[unlikely]] {
    process_user_timeout(e, c, segment);
  }
  if (segment.flags.urg()) [[unlikely]] {
    process_urgent(e, c, segment);
  }
  //= rfc3168#6.1.5
  //# 3168:ECN-20 of a packet outside of the window nothing is believed: it was dropped above
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
  //# 9293:MUST-62, 9293:MUST-31 the octet after the urgent data, however long that is
  Sequence const up = s.sequence + Bytes{s.urgent};
  //= rfc9293#3.8.5
  //# 9293:P-URG-NORECEDE a pointer into the past, or an older one, says nothing
  //= rfc9293#3.10.7.4
  //# 9293:P-URG-NOREPEAT nor does the same one twice
  if (!up.after(c.receive.read) || (c.receive_urgent && !up.after(e.active(c).receive_up))) {
    return;
  }
  // Without room for it nothing is told: each segment says it again until the peer has sent it all.
  InFlightState* const a = ensure_active(e, c);
  if (a == nullptr) {
    return;
  }
  //= rfc9293#3.10.7.4
  //# 9293:P-URG-EST RCV.UP = max(RCV.UP, SEG.UP), and the user is told
  //= rfc9293#3.10.3
  //# 9293:P-RECV-URGENT while it is ahead of what was read
  //= rfc9293#3.8.5
  //# 9293:MUST-30, 9293:MUST-32, 9293:MUST-33 on entering urgent mode and on each advance
  a->receive_up = up;
  c.receive_urgent = true;
  if (!on_syn) {
    notify(e, c, EventKind::urgent);
  }
}

//= rfc9293#3.10
//# 9293:P-EV-NOSTATE a step that names no state leaves it
//= rfc9293#3.10.7.4
//# 9293:P-SEQ-ORDER in the order of sequence numbers, old parts cut off
Drop arrives_other_states(Engine& e, Connection& c, const InboundSegment& arrival) {
  if (!is_same_syn(c, arrival.segment)) {
    return process_segment(e, c, arrival, arrival.segment);
  }
  ecn::process_syn_again(c, arrival.segment.flags);
  if (!acks_our_syn(c, arrival.segment)) {
    send_syn_again(e, c);
    return Drop::tcp_out_of_window;
  }
  //= rfc9293#A.2
  //# 9293:P-SEQVAL-A2 the SYN-ACK of a simultaneous open would fail the sequence test
  return process_segment(e, c, arrival, without_its_syn(c, arrival.segment));
}

}  // namespace lockstep::tcp
