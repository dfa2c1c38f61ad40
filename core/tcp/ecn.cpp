// Explicit congestion notification (RFC 3168): negotiation, CE, ECE and CWR, and DCTCP's receiver.
#include "core/tcp/ecn.hpp"

#include "core/tcp/accounts.hpp"
#include "core/tcp/ack_pace.hpp"
#include "core/tcp/acknowledgement.hpp"
#include "core/tcp/congestion/control.hpp"
#include "core/tcp/lifecycle.hpp"
#include "core/tcp/pending_ack.hpp"
#include "core/tcp/recovery/spurious.hpp"

namespace lockstep::tcp::ecn {
namespace {

//= rfc3168#6.1.1
//# 3168:ECN-1 an ECN-setup SYN has ECE and CWR, an ECN-setup SYN-ACK has ECE alone
//# 3168:ECN-25, 3168:ECN-24 all other combinations, both flags on a SYN-ACK too, negotiate nothing
bool is_setup(wire::Flags flags) { return flags.ece() && flags.cwr() != flags.ack(); }

}  // namespace

void process_syn(const Config& config, Connection& c, wire::Flags flags) {
  //= rfc3168#6.1.1
  //# 3168:ECN-23 a host without ECN clears both flags
  bool const ours = flags.ack() ? c.ecn.offered : config.ecn != EcnPolicy::off;
  //= rfc3168#6.1.1
  //# 3168:ECN-22 both sides agreed: process CE, whatever we send
  c.ecn.rx = ours && is_setup(flags);
  //= rfc3168#6.1.1
  //# 3168:ECN-3, 3168:ECN-16 send ECT only if neither side sent a SYN without the flags
  c.ecn.tx = c.ecn.rx && !c.ecn.plain;
}

void process_syn_again(Connection& c, wire::Flags flags) {
  if (!is_setup(flags)) {
    //= rfc3168#6.1.1
    //# 3168:ECN-2, 3168:ECN-16 answer a SYN without the flags without them; no ECN from then on
    c.ecn.rx = false;
    c.ecn.tx = false;
  }
}

//= rfc9293#3.8.2
//# 9293:SHLD-8 ECN is used if Config enables it
wire::Flags syn_flags(const Config& config, Connection& c, bool retransmitted) {
  if (c.state != State::syn_sent) {
    //= rfc3168#6.1.1
    //# 3168:ECN-1, 3168:ECN-2 a SYN-ACK has ECE only if it answers an ECN-setup SYN
    c.ecn.offered = c.ecn.offered || c.ecn.rx;
    return c.ecn.rx ? wire::flag::ece : wire::flag::none;
  }
  //= rfc3168#6.1.1.1
  //# 3168:ECN-5 retransmit an unanswered SYN without ECN, in case ECN was the reason
  // Config may allow it some retransmissions.
  if (config.ecn != EcnPolicy::on || (retransmitted && c.retries > config.ecn_syn_retries.value)) {
    //= rfc3168#6.1.1
    //# 3168:ECN-3 that is a SYN sent without the flags
    c.ecn.plain = true;
    return wire::flag::none;
  }
  c.ecn.offered = true;
  return wire::flag::ece | wire::flag::cwr;
}

wire::Flags cwr_flag(Connection& c, const SegmentPlan& plan) {
  //= rfc3168#6.1.2
  //# 3168:ECN-9 the first new data after a reduction carries CWR, once
  //# 3168:ECN-19 a retransmission does not
  //= rfc3168#6.1.6
  //# 3168:ECN-13 nor does a window probe
  if (!carries_new_data(plan)) {
    return wire::flag::none;
  }
  //= rfc3168#6.1.1
  //# 3168:ECN-21 set and cleared on every later packet as needed
  c.ecn.cwr_due = false;
  return wire::flag::cwr;
}

bool process_field(Engine& e, Connection& c, std::uint8_t field, wire::Flags flags) {
  bool const marked = field == ce;
  bool const by_packet = congestion_of(e, c) == Congestion::dctcp;
  bool echo = c.ecn.echo;
  if (by_packet) {
    //= rfc8257#3.2
    //# 8257:DCTCP-1, 8257:DCTCP-2 DCTCP.CE is the CE of the last packet
    //# 8257:DCTCP-4 so CWR is processed before CE and changes nothing
    echo = marked;
  } else {
    //= rfc3168#6.1.3
    //# 3168:ECN-28 CWR ends the echo, unless its own packet is marked
    //# 3168:ECN-10 from CE to CWR every ACK has ECE
    //= rfc3168#6.1.6
    //# 3168:ECN-29 a marked window probe starts the echo as well
    echo = marked || (echo && !flags.cwr());
  }
  if (echo == c.ecn.echo) {
    return false;
  }
  //= rfc3168#6.1.3
  //# 3168:ECN-27 ACKs already pending keep the previous ECE
  //= rfc8257#3.2
  //# 8257:DCTCP-3 an ACK for the older packets in the old state, and one for the newest
  cut_by_echo(e, c);
  c.ecn.echo = echo;
  if (ack_pace::is_on(e)) [[unlikely]] {
    // CE and CWR are acknowledged at once: the peer's window may be as small as one segment.
    if (echo) {
      ack_pace::hasten(e, c, {2});
    }
    return true;
  }
  return by_packet;
}

//= rfc8257#3.2
//# 8257:DCTCP-2 a change of DCTCP.CE is reported at once
void notify_ce(Engine& e, Connection& c) {
  // Out-of-order data already has an ACK of its own pending.
  if (!c.detached && c.active != nil && e.active(c).delayed_segments != 0) {
    ack_now(e, c);
  }
}

void process_ece(Engine& e, Connection& c, Bytes newly) {
  if (!c.ecn.tx || c.active == nil) {
    return;
  }
  if (Account* account = account_of(e, c)) {
    account->octets_marked += newly.count;
  }
  InFlightState& a = e.active(c);
  //= rfc3168#6.1.2
  //# 3168:ECN-18 a reduction for a loss answers the ECE of its window as well, even if the loss
  //# 3168:ECN-18 proves spurious
  spurious::keep_reduction(a);
  //= rfc3168#6.1.2
  //# 3168:ECN-18 one reduction per window, for losses and ECE together
  //= rfc8257#3.3
  //# 8257:DCTCP-9 at most one per window of data
  if (c.congestion.recovering || !c.send.una.after(a.reduced_to)) {
    return;
  }
  bool const smallest = c.congestion.cwnd.count <= c.mss;
  //= rfc3168#5
  //# 3168:ECN-7 the same reduction as for a loss, but nothing is retransmitted
  congestion::on_mark(e, c, newly);
  if (smallest) {
    //= rfc3168#6.1.2
    //# 3168:ECN-8 cwnd is at its minimum: restart the timer and hold new data until it expires
    //= rfc9438#4.6
    //# 9438:CUBIC-9 which reduces the rate below one segment per round trip
    a.pace_at = e.state->now + c.rtt.rto();
    if (a.mode == RetransmitMode::retransmit) {
      a.retransmit_due = a.pace_at;
      arm(e, c);
    }
  }
}

}  // namespace lockstep::tcp::ecn
