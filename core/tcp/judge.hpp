// The checks of RFC 9293 3.10.7.4, steps 1 to 5: what is to be done with a segment, without doing
// it.
#pragma once

#include <cstdint>

#include "core/tcp/acceptable.hpp"
#include "core/tcp/config.hpp"
#include "core/tcp/timestamps.hpp"
#include "core/units/bytes.hpp"
#include "core/units/drop.hpp"
#include "core/units/sequence.hpp"
#include "core/wire/tcp.hpp"

namespace lockstep::tcp {

// What judge() decides. Everything but the three kinds of acceptance is carried out by act().
enum class Action : std::uint8_t {
  accept,        // all checks passed: the ACK, the data and the FIN are processed
  accept_fin,    // TIME-WAIT: the peer's FIN, retransmitted
  accept_syn,    // TIME-WAIT: a new SYN, which a listener accepts
  drop,          // no answer
  acknowledge,   // <SEQ=SND.NXT><ACK=RCV.NXT><CTL=ACK>, limited if the segment is empty
  challenge,     // the same, within the limit on challenge ACKs
  reset,         // SYN-RECEIVED: <SEQ=SEG.ACK><CTL=RST>, unless the ACK may be that of a SYN cookie
  end_by_reset,  // the peer's reset ends the connection
  end_by_syn,    // SYN-RECEIVED: a second SYN ends a passive open
  reset_and_end,  // RFC 793: a reset, and the connection ends
};

struct Disposition {
  Action action = Action::accept;
  Drop drop = Drop::none;  // what to count; none if the segment had an effect
};

// What a segment is judged by. A connection, a half-open connection of the SYN cache and a
// TIME-WAIT record each fill in their own; they differ in nothing else.
struct ReceiverView {
  // As far as the peer knows: in SYN-RECEIVED it begins at IRS + 1, because only the SYN has been
  // acknowledged, even if data on the SYN is queued.
  ReceiveWindow window;
  Sequence receive_nxt;  // RCV.NXT: beyond window.nxt where data on the SYN is queued
  Sequence send_una;
  Sequence send_nxt;
  Bytes send_wnd_max;  // MAX.SND.WND
  std::uint32_t ts_recent = 0;
  bool ts_recent_outdated = false;   // no segment for 24 days: any timestamp is accepted
  bool timestamps = false;           // both sides negotiated them
  bool timestamps_required = false;  // Config's
  bool syn_received = false;         // the state; all others here are synchronized
  bool passive = false;              // opened by a listener
  ResetPolicy reset_policy = ResetPolicy::rfc5961;

  // TIME-WAIT differs in four ways. It accepts the peer's FIN again, although that lies before
  // RCV.NXT. A SYN was compared with TS.Recent by RFC 6191's rules, so PAWS does not apply to it,
  // and only its own sequence number has to lie in the window. As nothing is left to deliver, a
  // zero window gets no exceptions. And the record may ignore resets (RFC 1337).
  bool time_wait = false;
  bool syn_is_new = false;  // TIME-WAIT: RFC 6191 permits it to reopen, and a listener accepts it
  bool resets_ignored = false;  // TIME-WAIT: Config's
};

// Steps 1 and 2 for a segment with RST; step 4 for one with SYN. By value, so that the view of the
// common path stays in registers.
[[nodiscard]] Disposition judge_reset(ReceiverView view, const wire::Segment& s);
[[nodiscard]] Disposition judge_syn(ReceiverView view, const wire::Segment& s);

// PAWS. Drop::none, tcp_timestamp_missing or tcp_timestamp_old.
[[gnu::always_inline]] inline Drop judge_timestamp(const ReceiverView& view,
                                                   const wire::Segment& s) {
  //= rfc7323#5.2
  //# 7323:TS-18 a reset is not judged by its timestamp
  if (!view.timestamps || s.flags.rst() || (view.time_wait && s.flags.syn())) {
    return Drop::none;
  }
  if (!s.options.has_timestamps) {
    //= rfc7323#3.2
    //# 7323:TS-10 dropped in silence, unless Config is content without
    //# 7323:TS-27 but the connection goes on
    return view.timestamps_required ? Drop::tcp_timestamp_missing : Drop::none;
  }
  //= rfc9293#3.4.3
  //# 9293:P-PAWS-RATE sequence numbers that wrapped around within an MSL are told apart
  //= rfc7323#5.3
  //# 7323:TS-17 R1: older than TS.Recent, while that is valid
  //= rfc7323#5.5
  //# 7323:TS-49 after a long silence an older one is accepted
  bool const old = is_older({s.options.timestamp_value, view.ts_recent});
  return old && !view.ts_recent_outdated ? Drop::tcp_timestamp_old : Drop::none;
}

// Step 1, for a segment without RST: whether the next steps follow.
[[gnu::always_inline]] inline bool passes_sequence(const ReceiverView& view,
                                                   const wire::Segment& s) {
  if (view.time_wait && s.flags.syn()) {
    return s.sequence.inside(view.window.nxt, view.window.wnd);
  }
  if (acceptable(view.window, s.sequence, s.length())) [[likely]] {
    return true;
  }
  if (view.time_wait) {
    return false;
  }
  // What follows the data of the peer's SYN, mostly the ACK of our SYN, is accepted even if that
  // data has filled the whole window.
  if (view.syn_received && s.sequence == view.receive_nxt) {
    return true;
  }
  if (view.window.wnd.empty()) {
    //= rfc9293#3.10.7.4
    //# 9293:P-ZEROWND-ACCEPT at a zero window valid ACKs, URGs and RSTs are still accepted
    //= rfc9293#3.4
    //# 9293:MUST-66, 9293:P-ZEROWND-SEND so are those behind one octet of a probe
    std::int32_t const ahead = s.sequence.distance_from(view.window.nxt);
    return ahead == 0 || (ahead == 1 && s.length().empty());
  }
  return false;
}

// Step 5, of a segment without RST and SYN.
[[gnu::always_inline]] inline Disposition judge_ack(const ReceiverView& view,
                                                    const wire::Segment& s) {
  //= rfc9293#3.10.7.4
  //# 9293:P-ACK-OFF a segment without ACK is dropped
  if (!s.flags.ack()) {
    return {Action::drop, Drop::tcp_no_ack};
  }
  if (view.syn_received) {
    bool const acks_our_syn =
        s.acknowledgment.after(view.send_una) && s.acknowledgment.at_or_before(view.send_nxt);
    //= rfc9293#3.10.7.4
    //# 9293:P-SYNRCVD-ACK an ACK of what was never sent draws <SEQ=SEG.ACK><CTL=RST>
    //= rfc9293#3.5.2
    //# 9293:P-RST-GRP2 and the state stays
    return acks_our_syn ? Disposition{} : Disposition{Action::reset, Drop::tcp_syn_received_ack};
  }
  //= rfc9293#3.10.7.4
  //# 9293:P-ACK-FUTURE an ACK of what was never sent draws an ACK
  //= rfc9293#3.5.2
  //# 9293:P-RST-GRP3 in TIME-WAIT, too
  if (s.acknowledgment.after(view.send_nxt)) {
    return {Action::challenge, Drop::tcp_ack_of_unsent};
  }
  //= rfc9293#3.10.7.4
  //# 9293:P-ACK-5961, 9293:MAY-12, 9293:P-ACK-MAXWND one older than the largest window, too
  //= rfc5961#5.2
  //# 5961:BLIND-6, 5961:BLIND-9, 5961:BLIND-10 SND.UNA - MAX.SND.WND =< SEG.ACK =< SND.NXT
  if (view.reset_policy == ResetPolicy::rfc5961 &&
      s.acknowledgment.before(view.send_una - view.send_wnd_max)) {
    return {Action::challenge, Drop::tcp_ack_too_old};
  }
  return {};
}

// Judges a segment in SYN-RECEIVED or a later state, in the order of RFC 9293 3.10.7.4. Pure: it
// reads its arguments and changes nothing. O(1). In SYN-RECEIVED the peer's own SYN, retransmitted,
// must have been answered, or removed from `s`, before.
//= rfc4987#3.5
//# 4987:SYN-4 in the SYN cache no segment but the ACK of our SYN takes a full record
[[nodiscard, gnu::always_inline]] inline Disposition judge(const ReceiverView& view,
                                                           const wire::Segment& s) {
  //= rfc7323#5.3
  //# 7323:TS-32 PAWS comes before the test of the sequence number
  //# 7323:TS-17 and answers with an ACK
  //# 7323:TS-48 once, on arrival
  //= rfc7323#5.6
  //# 7323:TS-51 and before whatever else makes the common case short
  Drop const stamp = judge_timestamp(view, s);
  if (stamp != Drop::none) [[unlikely]] {
    return {stamp == Drop::tcp_timestamp_old ? Action::acknowledge : Action::drop, stamp};
  }
  // A reset is judged by its sequence number alone: judge_reset does step 1 as well.
  if (s.flags.rst()) [[unlikely]] {
    return judge_reset(view, s);
  }
  if (view.time_wait) {
    if (s.flags.syn() && view.syn_is_new) {
      return {Action::accept_syn, Drop::none};
    }
    //= rfc9293#3.10.7.4
    //# 9293:P-TIMEWAIT-ACK, 9293:P-FIN-TW the retransmitted FIN is acknowledged and restarts 2 MSL
    if (!s.flags.syn() && s.flags.all_of(wire::flag::fin | wire::flag::ack) &&
        s.end() == view.receive_nxt) {
      return {Action::accept_fin, Drop::none};
    }
  }
  //= rfc7323#5.3
  //# 7323:TS-45, 7323:TS-47 R2, R4 and R5 are what follows without timestamps, too
  if (!passes_sequence(view, s)) [[unlikely]] {
    //= rfc9293#3.10.7.4
    //# 9293:P-ACCEPT-REPLY an unacceptable segment draws an ACK, a reset draws nothing
    //# 9293:P-SYN-OUTWIN a SYN draws that ACK, too
    //= rfc9293#3.5.2
    //# 9293:P-RST-GRP3 and the state stays
    //= rfc9293#3.8.6.1
    //# 9293:P-ZWP-REPLY a probe draws an ACK with the next expected number and the window
    return {Action::acknowledge, Drop::tcp_out_of_window};
  }
  //= rfc9293#A.1.2
  //# 9293:P-SEC-IGNORE step 3, security, is skipped
  //= rfc9293#A.1.1
  //# 9293:P-PRECEDENCE nor is there any check of precedence
  if (s.flags.syn()) [[unlikely]] {
    return judge_syn(view, s);
  }
  return judge_ack(view, s);
}

}  // namespace lockstep::tcp
