// The checks of RST and SYN, RFC 9293 3.10.7.4, step 2 (with step 1) and step 4.
#include "core/tcp/judge.hpp"

namespace lockstep::tcp {

[[gnu::cold]] Disposition judge_reset(ReceiverView view, const wire::Segment& s) {
  bool const exact = s.sequence == view.window.nxt || s.sequence == view.receive_nxt;
  //= rfc9293#3.10.7.4
  //# 9293:P-RST-OUT, 9293:P-ACCEPT-REPLY outside of the window it is dropped in silence
  //= rfc9293#3.5.3
  //# 9293:P-RSTPROC-VALID its SEQ must lie in the window, whatever data it carries
  //= rfc5961#3.2
  //# 5961:BLIND-1 outside of the window
  if (!exact && !s.sequence.inside(view.window.nxt, view.window.wnd)) {
    return {Action::drop, Drop::tcp_reset_outside};
  }
  //= rfc1337#3
  //# 1337:TW-5 a reset does not assassinate TIME-WAIT
  //# 1337:TW-8 not even the one that our own ACK of an old duplicate has drawn
  //= rfc1337#2
  //# 1337:TW-9 so neither old data nor old ACKs ever find the next connection
  if (view.resets_ignored) {
    return {Action::drop, Drop::tcp_reset_time_wait};
  }
  //= rfc9293#3.10.7.4
  //# 9293:P-RST-SYNC a reset exactly at RCV.NXT resets the connection
  //= rfc5961#3.2
  //# 5961:BLIND-2 exactly at RCV.NXT
  //= rfc5961#4.2
  //# 5961:BLIND-13 so does the one that answers a challenge ACK
  if (exact || view.reset_policy == ResetPolicy::rfc793) {
    return {Action::end_by_reset, Drop::none};
  }
  //= rfc9293#3.10.7.4
  //# 9293:P-RST-CHALLENGE inside it, but not at its edge: a challenge ACK
  //= rfc5961#3.2
  //# 5961:BLIND-3, 5961:BLIND-14 a challenge ACK, and the segment is dropped
  return {Action::challenge, Drop::tcp_reset_challenged};
}

[[gnu::cold]] Disposition judge_syn(ReceiverView view, const wire::Segment&) {
  //= rfc9293#3.10.7.4
  //# 9293:P-SYN-SYNRCVD an in-window SYN ends a passive attempt
  if (view.syn_received && view.passive) {
    return {Action::end_by_syn, Drop::tcp_syn_received_syn};
  }
  //= rfc9293#3.10.7.4
  //# 9293:P-SYN-793 RFC 793: an in-window SYN draws a reset and ends the connection
  if (view.reset_policy == ResetPolicy::rfc793) {
    return {Action::reset_and_end, Drop::tcp_syn_in_window};
  }
  //= rfc9293#3.10.7.4
  //# 9293:P-SYN-INWIN, 9293:P-SYN-TW a challenge ACK, whatever its sequence number
  //= rfc5961#4.2
  //# 5961:BLIND-5 a challenge ACK
  return {Action::challenge, Drop::tcp_syn_challenged};
}

}  // namespace lockstep::tcp
