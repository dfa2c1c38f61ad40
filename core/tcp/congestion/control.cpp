// Congestion control as the rest of TCP calls it: the events of a connection.
#include "core/tcp/congestion/control.hpp"

#include "core/tcp/accounts.hpp"
#include "core/tcp/acknowledgement.hpp"
#include "core/tcp/congestion/adapter.hpp"
#include "core/tcp/congestion/added.hpp"
#include "core/tcp/congestion/cubic.hpp"
#include "core/tcp/congestion/dctcp.hpp"
#include "core/tcp/congestion/rate.hpp"
#include "core/tcp/congestion/reno.hpp"
#include "core/tcp/recovery/spurious.hpp"
#include "core/tcp/rtt.hpp"

namespace lockstep::tcp::congestion {
namespace {

constexpr Controller controllers[] = {
    {"reno", reno::on_ack, reno::reduced},
    {"cubic", cubic::on_ack, cubic::reduced},
    //= rfc8257#3.4
    //# 8257:DCTCP-14 cwnd grows as in RFC 5681
    {"dctcp", reno::on_ack, dctcp::reduced, dctcp::begin, dctcp::on_any_ack,
     //= rfc8257#3.5
     //# 8257:DCTCP-10 a loss halves cwnd, however little the marks of that window have reduced it
     /*mark_is_as_loss=*/false},
};
static_assert(std::size(controllers) == congestion_count);

// Added controllers are called by adapter.hpp, after recovery has seen the ACK.
constexpr Controller of_added{"added", [](Subject&, const Acked&) {}, reno::reduced};
static_assert(static_cast<int>(Signal::loss) == LOCKSTEP_LOSS &&
              static_cast<int>(Signal::mark) == LOCKSTEP_MARK &&
              static_cast<int>(Signal::timeout) == LOCKSTEP_TIMEOUT);

const Controller& row(const Engine& e, const Connection& c) { return row_of(congestion_of(e, c)); }

// What an added controller makes of a signal, or a built-in one.
Bytes reduced_by(Engine& e, Connection& c, Bytes flight, Signal signal) {
  if (is_added(congestion_of(e, c))) [[unlikely]] {
    return added::reduced(e, c, static_cast<lockstep_signal>(signal));
  }
  Subject subject{c.congestion, e.active(c).controller, e.config, Bytes{c.mss}, e.state->now};
  return row(e, c).reduced(subject, flight, signal);
}

Subject subject_of(Engine& e, Connection& c) {
  return {c.congestion, e.active(c).controller, e.config, Bytes{c.mss}, e.state->now};
}

// Tracks the most octets in flight in this round, which ends when its last octet is acknowledged:
// so a burst of ACKs processed before anything is sent does not look like an idle application.
//= rfc9438#5.8
//# 9438:CUBIC-24 less than the window for the whole round: cwnd is not the limit
bool is_limited(Connection& c, ControllerState& state, Bytes newly) {
  Bytes const before = flight_size(c) + newly;
  if (state.peak.empty() || c.send.una.after(state.round_end)) {
    state.peak = before;
    state.round_end = c.send.nxt;
  } else {
    state.peak = most(state.peak, before);
  }
  return state.peak + Bytes{c.mss} <= c.congestion.cwnd;
}

// Limits a flight size to cwnd. When a long recovery ends, data SACKed during it may still be above
// the next hole; counted as in flight it would let cwnd grow at each loss.
//= rfc5681#3.1
//# 5681:CC-11 at most half the flight size
Bytes within_window(const Connection& c, Bytes flight) { return least(flight, c.congestion.cwnd); }

// Sets ssthresh to `reduced`, and the end of the window that ECE must not reduce again.
void reduce_to(Engine& e, Connection& c, Bytes reduced) {
  //= rfc5681#3.1
  //# 5681:CC-47 at least two segments
  c.congestion.ssthresh = most(reduced, Bytes{2u * c.mss});
  e.active(c).reduced_to = c.send.nxt;
  //= rfc3168#6.1.2
  //# 3168:ECN-26 every reduction is followed by CWR, whatever its reason
  c.ecn.cwr_due = c.ecn.tx;
}

}  // namespace

const Controller& row_of(Congestion congestion) {
  return is_added(congestion) ? of_added : controllers[static_cast<std::uint32_t>(congestion)];
}

void begin(Engine& e, Connection& c, Count syn_timeouts) {
  reno::begin(c.congestion, Bytes{c.mss}, syn_timeouts, e.config);
  if (added::possible(e)) [[unlikely]] {
    added::begin(e, c);
  }
  if (row(e, c).begin != nullptr) {
    Subject subject = subject_of(e, c);
    row(e, c).begin(subject);
  }
}

void choose(Engine& e, Connection& c, Congestion congestion) {
  CHECK(accounts_kept(e));
  e.accounts[e.slot_of(c)].congestion = congestion;
  c.congestion.kept = {};
  // State of the previous controller is discarded; cwnd and ssthresh stay.
  ControllerState fresh;
  ControllerState& state = c.active == nil ? fresh : e.active(c).controller;
  state = ControllerState{};
  if (added::possible(e)) {
    added::change(e, c);
  }
  if (row(e, c).begin != nullptr) {
    Subject subject{c.congestion, state, e.config, Bytes{c.mss}, e.state->now};
    row(e, c).begin(subject);
  }
}

void on_ack(Engine& e, Connection& c, Bytes newly, bool marked) {
  //= rfc3168#6.1.2
  //# 3168:ECN-14 an ACK with ECE never grows cwnd
  bool const grows = !c.congestion.recovering && !(marked && c.ecn.tx);
  // Plain Reno skips the arguments that other controllers need.
  if (congestion_of(e, c) == Congestion::reno && !wants_marks(e.config)) [[likely]] {
    if (grows) {
      reno::grow(c.congestion, {newly, Bytes{c.mss}, reno::slow_start_most(c, newly, e.config)});
    }
    return;
  }
  InFlightState& a = e.active(c);
  Subject subject = subject_of(e, c);
  Acked acked;
  acked.newly = newly;
  acked.slow_start_most = reno::slow_start_most(c, newly, e.config);
  acked.una = c.send.una;
  acked.nxt = c.send.nxt;
  acked.marked = marked;
  if (wants_marks(e.config)) {
    acked.sample = sample_rate(e, c);
    a.sample = acked.sample.valid ? acked.sample : a.sample;
  }
  acked.srtt = srtt_of(c.rtt);
  acked.limited = is_limited(c, a.controller, newly);
  if (added::possible(e)) [[unlikely]] {
    e.added[e.slot_of(c)].limited = acked.limited;
  }
  if (row(e, c).on_any_ack != nullptr) {
    row(e, c).on_any_ack(subject, acked);
  }
  if (grows) {
    row(e, c).on_ack(subject, acked);
  }
}

void on_loss(Engine& e, Connection& c) {
  //= rfc3168#6.1.2
  //# 3168:ECN-18 an ECE of the same window has already reduced it
  // Lost data starts at SND.UNA; at or after `reduced_to` it was sent after the reduction. cwnd
  // becomes ssthresh now, which must not increase it.
  if (c.ecn.tx && row(e, c).mark_is_as_loss && c.send.una.before(e.active(c).reduced_to) &&
      c.congestion.ssthresh <= c.congestion.cwnd) [[unlikely]] {
    return;
  }
  //= rfc5681#3.2
  //# 5681:CC-20 octets sent by limited transmit do not count
  //= rfc5681#4.3
  //# 5681:CC-29, 5681:CC-31 one reduction per window with a loss
  Bytes const flight = within_window(c, flight_size(c) - e.active(c).limited);
  reduce_to(e, c, reduced_by(e, c, flight, Signal::loss));
}

void on_mark(Engine& e, Connection& c, Bytes newly) {
  Bytes const flight = within_window(c, flight_size(c) + newly);
  Bytes const reduced = reduced_by(e, c, flight, Signal::mark);
  reduce_to(e, c, reduced);
  //= rfc9438#4.6
  //# 9438:CUBIC-15, 9438:CUBIC-9 an ECE may reduce cwnd to one segment; ssthresh is at least two
  c.congestion.cwnd = least(c.congestion.cwnd, most(reduced, Bytes{c.mss}));
  c.congestion.acked = {};
  if (added::possible(e)) [[unlikely]] {
    added::restore(e, c);
  }
}

void on_timeout(Engine& e, Connection& c, bool first) {
  //= rfc5681#3.1
  //# 5681:CC-13 ssthresh is reduced once per segment, however often it is retransmitted
  if (first) {
    //= rfc5681#4.3
    //# 5681:CC-31 a lost retransmission reduces ssthresh again, whatever was sent since
    Bytes const flight =
        c.congestion.recovering ? least(flight_size(c), c.congestion.ssthresh) : flight_size(c);
    //= rfc3168#6.1.2
    //# 3168:ECN-33 a loss after a reduction is a new sign of congestion
    reduce_to(e, c, reduced_by(e, c, flight, Signal::timeout));
  }
  //= rfc8257#3.5
  //# 8257:DCTCP-10 cwnd of one segment, as in standard TCP
  reno::on_timeout(c.congestion, Bytes{c.mss});
  e.active(c).limited = {};
  if (added::possible(e)) [[unlikely]] {
    added::restore(e, c);
  }
}

void on_idle(Engine& e, Connection& c) {
  Bytes const before = c.congestion.cwnd;
  reno::on_idle(c.congestion, Bytes{c.mss}, e.config);
  if (added::possible(e)) [[unlikely]] {
    added::restore(e, c);
  }
  if (c.congestion.cwnd < before) {
    spurious::keep_reduction(e.active(c));
  }
}

std::uint64_t pacing_rate(Engine& e, Connection& c) {
  if (added::possible(e)) [[unlikely]] {
    return added::pacing_rate(e, c);
  }
  if (row(e, c).pacing_rate == nullptr) {
    return 0;
  }
  Subject const subject = subject_of(e, c);
  return row(e, c).pacing_rate(subject);
}

}  // namespace lockstep::tcp::congestion
