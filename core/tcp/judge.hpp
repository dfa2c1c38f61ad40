// The checks of RFC 9293 3.10.7.4, steps 1 to 5: decides what is to be done with a segment.
#pragma once

#include <concepts>
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

// What a segment is judged by. Connections, also the half-open ones of the SYN cache, and TIME-WAIT
// records each have such a view, which reads a variable only when it is asked for. Their answers
// are all in which the callers of judge() differ.
template <class View>
concept ReceiverView = requires(const View& view) {
  // As far as the peer knows: in SYN-RECEIVED it begins at IRS + 1, because only the SYN has been
  // acknowledged, even if data on the SYN is queued.
  { view.window() } -> std::same_as<ReceiveWindow>;
  // RCV.NXT: beyond window().nxt if data on the SYN is queued.
  { view.receive_nxt() } -> std::same_as<Sequence>;
  { view.send_una() } -> std::same_as<Sequence>;
  { view.send_nxt() } -> std::same_as<Sequence>;
  { view.send_wnd_max() } -> std::same_as<Bytes>;  // MAX.SND.WND
  { view.ts_recent() } -> std::same_as<std::uint32_t>;
  { view.ts_recent_outdated() } -> std::same_as<bool>;  // any timestamp is accepted
  { view.timestamps() } -> std::same_as<bool>;          // both sides negotiated them
  { view.timestamps_required() } -> std::same_as<bool>;
  { view.timestamps_behind() } -> std::same_as<std::uint32_t>;  // ticks below TS.Recent that pass
  { view.syn_received() } -> std::same_as<bool>;  // the state; all others are synchronized
  { view.passive() } -> std::same_as<bool>;       // opened by a listener
  { view.reset_policy() } -> std::same_as<ResetPolicy>;
  // TIME-WAIT differs in four ways. It accepts the peer's FIN again, although that lies before
  // RCV.NXT. A SYN was compared with TS.Recent by RFC 6191's rules, so PAWS does not apply to it,
  // and only its own sequence number has to lie in the window. As nothing is left to deliver, a
  // zero window gets no exceptions. And the record may ignore resets (RFC 1337).
  { view.time_wait() } -> std::same_as<bool>;
  {
    view.syn_is_new()
  } -> std::same_as<bool>;  // RFC 6191 lets it reopen, and a listener accepts it
  { view.resets_ignored() } -> std::same_as<bool>;
  // ACKs exactly at the right edge are processed, which the four-case test refuses.
  { view.acks_at_edge() } -> std::same_as<bool>;
  { view.unsent_answered() } -> std::same_as<bool>;  // an ACK of what was never sent draws one
};

// PAWS. Drop::none, tcp_timestamp_missing or tcp_timestamp_old.
template <ReceiverView View>
[[gnu::always_inline]] inline Drop judge_timestamp(const View& view, const wire::Segment& s) {
  //= rfc7323#5.2
  //# 7323:TS-18 a reset is not judged by its timestamp
  if (!view.timestamps() || s.flags.rst() || (view.time_wait() && s.flags.syn())) {
    return Drop::none;
  }
  if (!s.options.has_timestamps) {
    //= rfc7323#3.2
    //# 7323:TS-10 dropped in silence, unless Config is content without
    //# 7323:TS-27 but the connection goes on
    return view.timestamps_required() ? Drop::tcp_timestamp_missing : Drop::none;
  }
  //= rfc9293#3.4.3
  //# 9293:P-PAWS-RATE sequence numbers that wrapped around within an MSL are told apart
  //= rfc7323#5.3
  //# 7323:TS-17 R1: older than TS.Recent, while that is valid
  //= rfc7323#5.5
  //# 7323:TS-49 after a long silence an older one is accepted
  std::uint32_t const stamp = s.options.timestamp_value;
  if (!is_older({stamp, view.ts_recent()})) [[likely]] {
    return Drop::none;
  }
  bool const old = is_older({stamp + view.timestamps_behind(), view.ts_recent()});
  return old && !view.ts_recent_outdated() ? Drop::tcp_timestamp_old : Drop::none;
}

// Step 1, for a segment without RST: whether the next steps follow.
template <ReceiverView View>
[[gnu::always_inline]] inline bool passes_sequence(const View& view, const wire::Segment& s) {
  if (view.time_wait() && s.flags.syn()) {
    return s.sequence.inside(view.window().nxt, view.window().wnd);
  }
  if (acceptable(view.window(), s.sequence, s.length())) [[likely]] {
    return true;
  }
  if (view.time_wait()) {
    return false;
  }
  // What follows the data of the peer's SYN, mostly the ACK of our SYN, is accepted even if that
  // data has filled the whole window.
  if (view.syn_received() && s.sequence == view.receive_nxt()) {
    return true;
  }
  if (view.window().wnd.empty()) {
    //= rfc9293#3.10.7.4
    //# 9293:P-ZEROWND-ACCEPT at a zero window valid ACKs, URGs and RSTs are still accepted
    //= rfc9293#3.4
    //# 9293:MUST-66, 9293:P-ZEROWND-SEND so are those behind one octet of a probe
    std::int32_t const ahead = s.sequence.distance_from(view.window().nxt);
    return ahead == 0 || (ahead == 1 && s.length().empty());
  }
  //= rfc9293#A.2
  //# 9293:P-SEQVAL-A2 ACKs follow a flight that fills our window, although its begin was lost
  return s.length().empty() && s.sequence == view.window().nxt + view.window().wnd &&
         view.acks_at_edge();
}

// Step 5, of a segment without RST and SYN.
template <ReceiverView View>
[[gnu::always_inline]] inline Disposition judge_ack(const View& view, const wire::Segment& s) {
  //= rfc9293#3.10.7.4
  //# 9293:P-ACK-OFF a segment without ACK is dropped
  if (!s.flags.ack()) {
    return {Action::drop, Drop::tcp_no_ack};
  }
  if (view.syn_received()) {
    bool const acks_our_syn =
        s.acknowledgment.after(view.send_una()) && s.acknowledgment.at_or_before(view.send_nxt());
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
  if (s.acknowledgment.after(view.send_nxt())) {
    return {view.unsent_answered() ? Action::challenge : Action::drop, Drop::tcp_ack_of_unsent};
  }
  //= rfc9293#3.10.7.4
  //# 9293:P-ACK-5961, 9293:MAY-12, 9293:P-ACK-MAXWND one older than the largest window, too
  //= rfc5961#5.2
  //# 5961:BLIND-6, 5961:BLIND-9, 5961:BLIND-10 SND.UNA - MAX.SND.WND =< SEG.ACK =< SND.NXT
  if (view.reset_policy() != ResetPolicy::rfc793 &&
      s.acknowledgment.before(view.send_una() - view.send_wnd_max())) {
    return {Action::challenge, Drop::tcp_ack_too_old};
  }
  return {};
}

// Steps 1 and 2 for a segment with RST. By value, so that the view of the common path stays in
// registers.
template <ReceiverView View>
[[gnu::cold, gnu::noinline]] Disposition judge_reset(View view, const wire::Segment& s) {
  bool const exact = s.sequence == view.window().nxt || s.sequence == view.receive_nxt();
  //= rfc9293#3.10.7.4
  //# 9293:P-RST-OUT, 9293:P-ACCEPT-REPLY outside of the window it is dropped in silence
  //= rfc9293#3.5.3
  //# 9293:P-RSTPROC-VALID its SEQ must lie in the window, whatever data it carries
  //= rfc5961#3.2
  //# 5961:BLIND-1 outside of the window
  if (!exact && !s.sequence.inside(view.window().nxt, view.window().wnd)) {
    return {Action::drop, Drop::tcp_reset_outside};
  }
  //= rfc1337#3
  //# 1337:TW-5 a reset does not assassinate TIME-WAIT
  //# 1337:TW-8 not even the one that our own ACK of an old duplicate has drawn
  //= rfc1337#2
  //# 1337:TW-9 so neither old data nor old ACKs ever find the next connection
  if (view.resets_ignored()) {
    return {Action::drop, Drop::tcp_reset_time_wait};
  }
  //= rfc9293#3.10.7.4
  //# 9293:P-RST-SYNC a reset exactly at RCV.NXT resets the connection
  //= rfc5961#3.2
  //# 5961:BLIND-2 exactly at RCV.NXT
  //= rfc5961#4.2
  //# 5961:BLIND-13 so does the one that answers a challenge ACK
  if (exact || !challenges_resets(view.reset_policy())) {
    return {Action::end_by_reset, Drop::none};
  }
  //= rfc9293#3.10.7.4
  //# 9293:P-RST-CHALLENGE inside it, but not at its edge: a challenge ACK
  //= rfc5961#3.2
  //# 5961:BLIND-3, 5961:BLIND-14 a challenge ACK, and the segment is dropped
  return {Action::challenge, Drop::tcp_reset_challenged};
}

// Step 4 for a segment with SYN.
template <ReceiverView View>
[[gnu::cold, gnu::noinline]] Disposition judge_syn(View view) {
  //= rfc9293#3.10.7.4
  //# 9293:P-SYN-SYNRCVD an in-window SYN ends a passive attempt
  if (view.syn_received() && view.passive()) {
    return {Action::end_by_syn, Drop::tcp_syn_received_syn};
  }
  //= rfc9293#3.10.7.4
  //# 9293:P-SYN-793 RFC 793: an in-window SYN draws a reset and ends the connection
  if (!challenges_syns(view.reset_policy())) {
    return {Action::reset_and_end, Drop::tcp_syn_in_window};
  }
  //= rfc9293#3.10.7.4
  //# 9293:P-SYN-INWIN, 9293:P-SYN-TW a challenge ACK, whatever its sequence number
  //= rfc5961#4.2
  //# 5961:BLIND-5 a challenge ACK
  return {Action::challenge, Drop::tcp_syn_challenged};
}

// Judges a segment in SYN-RECEIVED or a later state, in the order of RFC 9293 3.10.7.4. Pure: it
// reads its arguments and changes nothing. O(1). In SYN-RECEIVED the peer's own SYN, retransmitted,
// must have been answered, or removed from `s`, before.
//= rfc4987#3.5
//# 4987:SYN-4 in the SYN cache no segment but the ACK of our SYN takes a full record
template <ReceiverView View>
[[nodiscard, gnu::always_inline]] inline Disposition judge(const View& view,
                                                           const wire::Segment& s) {
  //= rfc7323#5.3
  //# 7323:TS-32 PAWS comes before the test of the sequence number
  //# 7323:TS-17 and answers with an ACK
  //# 7323:TS-48 once, on arrival
  //= rfc7323#5.6
  //# 7323:TS-51 and before whatever else makes the common case short
  Drop const stamp = judge_timestamp(view, s);
  if (stamp != Drop::none) [[unlikely]] {
    if (stamp == Drop::tcp_timestamp_old) {
      return {Action::acknowledge, stamp};
    }
    if (!s.flags.syn()) {
      return {Action::drop, stamp};
    }
    //= rfc5961#4.2
    //# 5961:BLIND-5 a SYN without them draws its challenge ACK, by which a host that has started
    // again finds the half-open connection (RFC 9293 3.5.1). By RFC 793 it is judged as with them.
    if (challenges_syns(view.reset_policy())) {
      return {Action::challenge, stamp};
    }
  }
  // A reset is judged by its sequence number alone: judge_reset does step 1 as well.
  if (s.flags.rst()) [[unlikely]] {
    return judge_reset(view, s);
  }
  if (view.time_wait()) {
    if (s.flags.syn() && view.syn_is_new()) {
      return {Action::accept_syn, Drop::none};
    }
    //= rfc9293#3.10.7.4
    //# 9293:P-TIMEWAIT-ACK, 9293:P-FIN-TW the retransmitted FIN is acknowledged and restarts 2 MSL
    if (!s.flags.syn() && s.flags.all_of(wire::flag::fin | wire::flag::ack) &&
        s.end() == view.receive_nxt()) {
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
    return judge_syn(view);
  }
  return judge_ack(view, s);
}

}  // namespace lockstep::tcp
