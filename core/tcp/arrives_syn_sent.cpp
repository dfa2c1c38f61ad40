// SEGMENT ARRIVES in SYN-SENT (RFC 9293 3.10.7.3).
#include <algorithm>

#include "core/tcp/accounts.hpp"
#include "core/tcp/acknowledgement.hpp"
#include "core/tcp/arrives.hpp"
#include "core/tcp/autotune.hpp"
#include "core/tcp/congestion/control.hpp"
#include "core/tcp/congestion/rate.hpp"
#include "core/tcp/ecn.hpp"
#include "core/tcp/expiry.hpp"
#include "core/tcp/lifecycle.hpp"
#include "core/tcp/opening/fast_open.hpp"
#include "core/tcp/output.hpp"
#include "core/tcp/path.hpp"
#include "core/tcp/pending_ack.hpp"
#include "core/tcp/reassembly.hpp"
#include "core/tcp/replies.hpp"
#include "core/tcp/rtt.hpp"
#include "core/tcp/segment_options.hpp"
#include "core/tcp/time_wait.hpp"
#include "core/tcp/timestamps.hpp"
#include "core/tcp/user_timeout.hpp"
#include "core/tcp/window_scale.hpp"
#include "core/units/check.hpp"

namespace lockstep::tcp {
namespace {

// The data and the FIN of a segment with SYN, cut at the right edge.
SegmentData data_after_syn(const Connection& c, const wire::Segment& s) {
  SegmentData data{s.sequence.next(), s.payload, s.flags.fin()};
  if (data.end().after(c.receive.edge)) {
    data.bytes = data.bytes.first(c.receive.edge.since(data.begin).count);
    data.fin = false;
  }
  return data;
}

// Processes everything but SYN and ACK.
//= rfc9293#3.10.7.3
//# 9293:P-SYNSENT-EST-CONT the rest of the segment is processed from URG on
Drop process_rest(Engine& e, Connection& c, const wire::Segment& s) {
  if (s.flags.urg()) [[unlikely]] {
    process_urgent(e, c, s);
  }
  //= rfc9293#3.10.7.3
  //# 9293:P-SYNSENT-SYNDATA data on a SYN is legal
  if (!e.config.syn_data) [[unlikely]] {
    return Drop::none;
  }
  SegmentData const data = data_after_syn(c, s);
  return data.bytes.empty() && !data.fin ? Drop::none : accept_data(e, c, data, s);
}

// After an unacceptable ACK: the stale connection of the peer, if there was one, is gone now. Not a
// SYN with Fast Open: sent again so soon it would seem that the path drops such SYNs.
void hasten_syn(Engine& e, Connection& c) {
  InFlightState& a = e.active(c);
  bool const first = c.retries == 0 && !a.retransmit_due.is_never();
  if (e.config.syn_after_bad_ack != Duration{} && first && !a.fast_open_used) {
    a.retransmit_due = earlier(a.retransmit_due, due_in(e, e.config.syn_after_bad_ack));
    arm(e, a);
  }
}

// As learn_syn().
void learn_answer(const Engine& e, Connection& c, const wire::Segment& segment) {
  // The window that our SYN advertised, if one was sent.
  Bytes const offered = c.receive.edge.since(c.receive.nxt);
  c.receive.irs = segment.sequence;
  //= rfc9293#3.1
  //# 9293:P-SYN-SEQ the first octet of data has the number after the SYN's
  c.receive.nxt = segment.sequence.next();
  c.receive.read = c.receive.nxt;
  //= rfc9293#3.7.1
  //# 9293:MUST-14, 9293:MUST-15 the peer's MSS, or 536 where it names none, of IPv6 1220
  std::uint32_t const unnamed = c.remote.is_v4() ? 536 : 1220;
  std::uint32_t const named = segment.options.has_mss ? segment.options.mss : unnamed;
  //= rfc9293#3.7.1
  //# 9293:MUST-16 the smaller of what the peer takes and what our link carries
  // A smaller MSS is raised to mss_least: segments would be mostly headers.
  std::uint32_t const floor = e.config.mss_least.count;
  std::uint32_t const usable = std::min(std::max(named, floor), e.link_mss(c.remote).count);
  if (e.config.receive_buffer_rounded && c.receive_buffer.count > usable) {
    c.receive_buffer = {(c.receive_buffer.count + usable - 1) / usable * usable};
  }
  c.receive.edge = c.receive.nxt + most(offered, least(c.receive_buffer, Bytes{0xffff}));
  agree_on_scale(e, c, segment);
  agree_on_timestamps(e, c, segment);
  c.mss = static_cast<std::uint16_t>(usable - steady_options_bytes(c).count);
  //= rfc8201#5.4
  //# 8201:PMTU-8 the peer's MSS stays the bound, whatever the path carries
  c.mss_max = static_cast<std::uint16_t>(usable);
  c.sack = e.config.sack && segment.options.has_sack_permitted;
  c.send.wnd = offered_window(c, segment);
  c.send.wnd_max = c.send.wnd;
  c.send.wl1 = segment.sequence;
  c.send.wl2 = segment.acknowledgment;
  ecn::process_syn(e.config, c, segment.flags);
}

}  // namespace

void learn_syn(const Engine& e, Connection& c, const wire::Segment& segment) {
  if (is_plain_syn(e, c)) [[unlikely]] {
    wire::Segment plain = segment;
    plain.options.has_window_scale = false;
    plain.options.has_sack_permitted = false;
    plain.options.has_timestamps = false;
    learn_answer(e, c, plain);
    return;
  }
  learn_answer(e, c, segment);
}

void process_syn(Engine& e, Connection& c, const wire::Segment& segment) {
  learn_syn(e, c, segment);
  if (accounts_kept(e)) [[unlikely]] {
    accounts::limit_mss(e, c);
  }
  e.active(c).last_ack_sent = c.receive.nxt;
  process_user_timeout(e, c, segment);
}

void establish(Engine& e, Connection& c) {
  InFlightState& a = e.active(c);
  enter(e, c, State::established);
  congestion::begin(e, c, Count{c.retries});
  begin_data(c.rtt, c.syn_lost, e.config);
  if (e.config.segment_half_window) [[unlikely]] {
    // The window of the handshake's last segment alone: that of a SYN may be one without a scale.
    c.send.wnd_max = c.send.wnd;
    c.mss = static_cast<std::uint16_t>(std::min<std::uint32_t>(c.mss, half_window_of(c)));
  }
  if (a.reused_time_wait != nil) {
    forget_time_wait(e, a.reused_time_wait);
    a.reused_time_wait = nil;
  }
  a.mode = RetransmitMode::idle;
  a.retransmit_due = Instant::never();
  a.give_up_due = Instant::never();
  c.retries = 0;
  c.heard_at = e.state->now;
  adopt_user_timeout_of_syn(e, c);
  announce_user_timeout(e, c);
  begin_keepalive(e, c);
  if (receive_buffer_grows(e, c)) {
    begin_tuning(e, c);
  }
  if (opened_fast(c)) [[unlikely]] {
    leave_fast_open(e, c, false);
    // The congestion controller starts now: it knows nothing of the data that this ACK covers.
    drop_marks(e, a);
  } else {
    complete_in_backlog(e, c);
    notify(e, c, c.passive ? EventKind::accepted : EventKind::connected);
    if (!unread_of(c).empty()) {
      notify(e, c, EventKind::received);
    }
  }
  if (c.receive_urgent) {
    notify(e, c, EventKind::urgent);
  }
  //= rfc9293#3.10.4
  //# 9293:P-EV-EQUIV an earlier CLOSE is carried out now, not before the handshake is complete
  if (c.fin_queued) {
    enter(e, c, State::fin_wait_1);
  }
  if (c.send.una != c.send.nxt) [[unlikely]] {
    resume_early_data(e, c);
  }
  make_ready(e, c);
}

// Not inlined: the path of the other states needs the registers.
[[gnu::noinline]] Drop arrives_syn_sent(Engine& e, Connection& c, const InboundSegment& arrival) {
  wire::Segment const& s = arrival.segment;
  if (drops_syn_fin(e.config, s.flags)) [[unlikely]] {
    return Drop::tcp_syn_fin;
  }
  //= rfc9293#3.10.7.3
  //# 9293:P-SYNSENT-ACK-RANGE SND.UNA < SEG.ACK =< SND.NXT
  bool const acks = s.flags.ack() && s.acknowledgment.after(c.send.una) &&
                    s.acknowledgment.at_or_before(c.send.nxt);
  if (s.flags.ack() && !acks) {
    //= rfc9293#3.10.7.3
    //# 9293:P-SYNSENT-ACK an ACK of what was never sent draws a reset, unless it is one
    //= rfc9293#3.5.1
    //# 9293:P-HALFOPEN figure 9: the ACK of a half-open connection is reset
    if (!s.flags.rst()) {
      reply_reset(e, arrival);
    }
    hasten_syn(e, c);
    return Drop::tcp_syn_sent_ack;
  }
  if (s.flags.rst()) {
    //= rfc9293#3.10.7.3
    //# 9293:P-SYNSENT-RST-NOACK a reset that does not acknowledge our SYN is dropped
    //= rfc5961#3.2
    //# 5961:BLIND-4 only a reset that acknowledges our SYN counts
    if (!acks) {
      return Drop::tcp_syn_sent_reset;
    }
    // A box on the path may reset every SYN with data, so that no later open could ever succeed.
    //= rfc7413#4.1.3.1
    //# 7413:TFO-7 the next open is plain
    if (c.send.nxt != c.send.iss.next()) {
      doubt_fast_open(e, c);
    }
    //= rfc9293#3.10.7.3
    //# 9293:P-SYNSENT-RST connection reset, CLOSED
    enter(e, c, State::closed);
    detach(e, c, Cause::refused);
    return Drop::none;
  }
  //= rfc9293#3.10.7.3
  //# 9293:P-SYNSENT-OTHER neither SYN nor RST: dropped
  //= rfc9293#3.10.7.4
  //# 9293:P-FIN-PRESYNC a FIN among them
  if (!s.flags.syn()) {
    return Drop::tcp_syn_sent_other;
  }
  //= rfc9293#3.10.7.3
  //# 9293:P-SYNSENT-SYN RCV.NXT and IRS from the SYN; its ACK moves SND.UNA
  process_syn(e, c, s);
  if (acks) {
    process_echo(e, c, s);
    advance_una(e, c, e.active(c), s.acknowledgment);
    //= rfc9293#3.10.7.3
    //# 9293:P-SYNSENT-EST our SYN is acknowledged: ESTABLISHED, and an ACK
    end_fast_open(e, c, s);
    establish(e, c);
    //= rfc9293#3.10.7.3
    //# 9293:P-SYNSENT-EST-DATA queued data may carry that ACK
    ack_now(e, c);
  } else {
    //= rfc9293#3.10.7.3
    //# 9293:P-SYNSENT-SIM, 9293:P-SYNSENT-SIM-VARS SYN-RECEIVED, and <SYN,ACK> for our own SYN
    //= rfc9293#3.5
    //# 9293:MUST-10, 9293:P-SIMOPEN-SEQ simultaneous open
    enter(e, c, State::syn_received);
    send_syn_again(e, c);
  }
  return process_rest(e, c, s);
}

}  // namespace lockstep::tcp
