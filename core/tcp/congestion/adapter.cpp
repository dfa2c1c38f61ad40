// Calls of added controllers (controller.h), and the rate samples that they need.
#include "core/tcp/congestion/adapter.hpp"

#include <algorithm>

#include "core/tcp/accounts.hpp"
#include "core/tcp/acknowledgement.hpp"
#include "core/tcp/congestion/added.hpp"
#include "core/tcp/congestion/controller.hpp"
#include "core/tcp/congestion/pacing.hpp"
#include "core/tcp/output.hpp"
#include "core/tcp/recovery/sack.hpp"
#include "core/tcp/rtt.hpp"

namespace lockstep::tcp::added {
namespace {

AddedState& state_of(const Engine& e, const Connection& c) { return e.added[e.slot_of(c)]; }

bool owns_window(const lockstep_controller& controller) {
  return (controller.flags & LOCKSTEP_CONTROLLER_OWNS_WINDOW) != 0;
}

lockstep_recovery recovery_of(const Engine& e, const Connection& c) {
  if (c.congestion.recovering) {
    return LOCKSTEP_RECOVERY;
  }
  bool const repairing = c.active != nil && e.active(c).after_timeout;
  return repairing ? LOCKSTEP_AFTER_TIMEOUT : LOCKSTEP_OPEN;
}

// The same for the life of a connection, and different for each, as far as the seed draws ports and
// initial sequence numbers.
std::uint64_t entropy_of(const Connection& c) {
  Fingerprint print;
  print.add(c.hash);
  print.add(c.send.iss.value);
  return print.value();
}

lockstep_connection view_of(Engine& e, Connection& c, const lockstep_controller& controller) {
  AddedState& state = state_of(e, c);
  lockstep_connection out{};
  out.state = state.words.data();
  out.cwnd = owns_window(controller) ? state.cwnd.count : c.congestion.cwnd.count;
  out.ssthresh = c.congestion.ssthresh.count;
  out.pacing_rate = state.pacing_rate;
  out.now = e.state->now.ns;
  out.mss = c.mss;
  out.in_flight = c.active == nil ? 0 : outstanding(e, c).count;
  out.srtt = srtt_of(c.rtt).ns;
  out.delivered = state.delivered;
  out.lost = state.lost;
  out.entropy = entropy_of(c);
  out.recovery = recovery_of(e, c);
  return out;
}

// A window in the possible range; records the first one that is not.
Bytes checked(Engine& e, std::uint64_t cwnd, Bytes mss) {
  bool const possible = cwnd != 0 && cwnd <= congestion::cwnd_max;
  ControllerFault& fault = e.state->controller_fault;
  if (!possible && !fault.found) {
    fault = {cwnd, e.state->now, true};
  }
  return most(congestion::capped(cwnd), mss);
}

// Takes over what the controller has changed; `sets`: cwnd, too.
void take(Engine& e, Connection& c, const lockstep_connection& view, bool sets) {
  AddedState& state = state_of(e, c);
  state.pacing_rate = view.pacing_rate;
  c.congestion.ssthresh = congestion::capped(view.ssthresh);
  if (sets) {
    c.congestion.cwnd = checked(e, view.cwnd, Bytes{c.mss});
    state.cwnd = c.congestion.cwnd;
  }
}

// The longer of the two intervals, as in rate.cpp. Not less than the RTT can be: otherwise the ACK
// answers an earlier transmission.
void fill_sample(const Engine& e, const Connection& c, AddedState& state, lockstep_ack& out) {
  SentStamp const& sent = state.newest;
  Instant const now = e.state->arrived;
  if (!state.sampled || !is_timed(*e.state)) {
    return;
  }
  Duration const rtt = now.since(sent.sent_at);
  out.sample_rtt = state.newest_again ? 0 : rtt.ns;
  out.sample_prior = sent.delivered;
  out.sample_in_flight = sent.in_flight.count;
  out.sample_lost = state.lost - sent.lost;
  out.sample_limited = sent.limited ? 1 : 0;
  Duration const sending = sent.sent_at.since(sent.first_sent_at);
  Duration const acknowledging = now.since(sent.delivered_at);
  Duration const interval = std::max(sending, acknowledging);
  Duration const least = c.active == nil ? Duration{} : e.active(c).rack.least_now;
  if (sent.delivered != 0 && interval >= least && interval.ns != 0) {
    out.sample_delivered = state.delivered - sent.delivered;
    out.sample_interval = interval.ns;
  }
  state.first_sent_at = sent.sent_at;
}

// Without a scoreboard: the sample of rate.hpp, if this ACK has one.
void fill_plain_sample(const Engine& e, const Connection& c, const AddedState& state,
                       lockstep_ack& out) {
  RateSample const& sample = e.active(c).sample;
  bool const fresh = sample.valid && e.active(c).marks.delivered_at == e.state->arrived;
  if (fresh && sample.interval.ns != 0) {
    out.sample_rtt = sample.rtt.ns;
    out.sample_delivered = sample.delivered.count;
    out.sample_interval = sample.interval.ns;
    out.sample_prior =
        state.delivered - std::min<std::uint64_t>(state.delivered - 1, sample.delivered.count);
    out.sample_in_flight = sample.delivered.count;
    out.sample_limited = sample.limited ? 1 : 0;
  }
}

// The controller of the connection begins, with the window as it is.
void start(Engine& e, Connection& c) {
  state_of(e, c).cwnd = c.congestion.cwnd;
  state_of(e, c).quantum_end = c.send.nxt;
  lockstep_controller const* const controller = controller_of(e, c);
  if (controller != nullptr && controller->begin != nullptr) {
    lockstep_connection view = view_of(e, c, *controller);
    controller->begin(&view);
    take(e, c, view, true);
  }
}

}  // namespace

const lockstep_controller* controller_of(const Engine& e, const Connection& c) {
  return added_controller(congestion_of(e, c));
}

void begin(Engine& e, Connection& c) {
  state_of(e, c) = AddedState{};
  start(e, c);
}

void change(Engine& e, Connection& c) {
  AddedState& state = state_of(e, c);
  state.words = {};
  state.pacing_rate = 0;
  state.lost_told = state.lost;
  start(e, c);
}

void on_ack(Engine& e, Connection& c, const Delivery& delivery) {
  AddedState& state = state_of(e, c);
  lockstep_controller const* const controller = controller_of(e, c);
  if (!delivery.by_board) {
    state.delivered += delivery.delivered.count;
  }
  if (state.delivered > state.limited_until) {
    state.limited_until = 0;
  }
  bool const marked = delivery.marked && c.ecn.tx;
  if (controller != nullptr && !delivery.delivered.empty()) {
    lockstep_ack ack{};
    ack.newly = delivery.newly.count;
    ack.delivered = delivery.delivered.count;
    ack.lost = state.lost - state.lost_told;
    ack.before = delivery.before.count;
    ack.limited = state.limited ? 1 : 0;
    ack.marked = marked ? 1 : 0;
    fill_sample(e, c, state, ack);
    if (!delivery.by_board && c.active != nil) {
      fill_plain_sample(e, c, state, ack);
    }
    state.lost_told = state.lost;
    bool const owns = owns_window(*controller);
    bool const grows = !c.congestion.recovering && !marked && !delivery.held;
    lockstep_connection view = view_of(e, c, *controller);
    controller->on_ack(&view, &ack);
    take(e, c, view, owns || grows);
  }
  state.sampled = false;
  state.limited = false;
  restore(e, c);
}

Bytes reduced(Engine& e, Connection& c, lockstep_signal signal) {
  lockstep_controller const& controller = *controller_of(e, c);
  lockstep_connection view = view_of(e, c, controller);
  std::uint64_t const ssthresh = controller.reduced(&view, signal);
  view.ssthresh = ssthresh;
  take(e, c, view, owns_window(controller));
  return congestion::capped(ssthresh);
}

void restore(Engine& e, Connection& c) {
  lockstep_controller const* const controller = controller_of(e, c);
  if (controller != nullptr && owns_window(*controller)) {
    c.congestion.cwnd = most(state_of(e, c).cwnd, Bytes{c.mss});
  }
}

std::uint64_t pacing_rate(const Engine& e, const Connection& c) {
  return controller_of(e, c) == nullptr ? 0 : state_of(e, c).pacing_rate;
}

bool paces(const Engine& e, const Connection& c) {
  lockstep_controller const* const controller = controller_of(e, c);
  return controller != nullptr && (controller->flags & LOCKSTEP_CONTROLLER_PACES) != 0;
}

bool in_quantum(const Engine& e, const Connection& c) {
  return paces(e, c) && c.send.nxt.before(state_of(e, c).quantum_end);
}

bool gathers(Engine& e, Connection& c, Bytes room) {
  InFlightState const& a = e.active(c);
  if (!paces(e, c) || in_quantum(e, c) || recovery_of(e, c) != LOCKSTEP_OPEN ||
      a.board.order.first == nil) {
    return false;
  }
  Bytes const quantum = pacing::quantum_of(e, c, pacing::rate_of(e, c));
  Bytes const third{least(c.send.wnd, c.congestion.cwnd).count / 3};
  // If the next ACK is far, the link must not be idle until then.
  Duration const age = e.state->now.since(e.sent[a.board.order.first].sent_at);
  return room < least(quantum, third) && age >= Duration{srtt_of(c.rtt).ns / 2};
}

void note_sent(Engine& e, Connection& c, Bytes flight) {
  AddedState& state = state_of(e, c);
  InFlightState const& a = e.active(c);
  Bytes const pipe = outstanding(e, c);
  Bytes const sent = flight_size(c) - flight;
  if (paces(e, c) && !(c.send.nxt - sent).before(state.quantum_end)) {
    // A quantum begins, as far as there is room for it.
    Bytes const room = least((c.send.una + c.send.wnd).since(c.send.nxt), c.congestion.cwnd - pipe);
    Bytes const quantum = pacing::quantum_of(e, c, pacing::rate_of(e, c));
    state.quantum_end = c.send.nxt + least(room, quantum - sent);
  }
  state.quantum_end = last_of(state.quantum_end, c.send.nxt);
  // All queued data is sent, and the window has space for more.
  bool const all_sent = c.send.nxt.at_or_after(queue_begin(c) + a.send.length());
  if (all_sent && pipe + Bytes{c.mss} <= c.congestion.cwnd) {
    state.limited_until = state.delivered + pipe.count;
  }
  lockstep_controller const* const controller = controller_of(e, c);
  if (flight.empty() && controller != nullptr && controller->on_resume != nullptr) {
    lockstep_connection view = view_of(e, c, *controller);
    controller->on_resume(&view);
    take(e, c, view, owns_window(*controller));
  }
}

void stamp(Engine& e, Index owner, Index range, bool known) {
  AddedState& state = e.added[owner];
  ScoreboardState const& board = e.actives[e.connections[owner].active].board;
  Sent const& sent = e.sent[range];
  Instant const now = e.state->now;
  if (board.order.first == range && board.order.last == range && !sent.ever) {
    // Nothing else is in flight: a rate must not include the idle time.
    state.first_sent_at = now;
    state.delivered_at = now;
  }
  e.stamps[range] = {known ? state.delivered : 0, state.lost,          sent.sent_at,
                     state.delivered_at,          state.first_sent_at, board.pipe,
                     state.limited_until != 0};
}

void deliver(Engine& e, Index owner, Index range, Bytes octets) {
  AddedState& state = e.added[owner];
  SentStamp const& sent = e.stamps[range];
  state.delivered += octets.count;
  state.delivered_at = e.state->arrived;
  bool const newer =
      !state.sampled || sent.delivered > state.newest.delivered ||
      (sent.delivered == state.newest.delivered && sent.sent_at >= state.newest.sent_at);
  if (newer && sent.delivered != 0) {
    state.newest = sent;
    state.newest_again = e.sent[range].ever;
    state.sampled = true;
  }
}

void visit(const Engine& e, const Connection& c, FieldSink& sink) {
  AddedState const& state = state_of(e, c);
  for (std::uint64_t const word : state.words) {
    sink.add(word);
  }
  for (std::uint64_t const value :
       {state.pacing_rate, state.delivered, state.lost, state.lost_told, state.limited_until}) {
    sink.add(value);
  }
  sink.add(state.cwnd);
  sink.add(state.quantum_end);
  sink.add(state.delivered_at);
  sink.add(state.first_sent_at);
  if (c.active == nil) {
    return;
  }
  for (Index i = e.active(c).board.order.first; i != nil; i = e.sent[i].order.next) {
    SentStamp const& sent = e.stamps[i];
    sink.add(sent.delivered);
    sink.add(sent.lost);
    for (Instant const at : {sent.sent_at, sent.delivered_at, sent.first_sent_at}) {
      sink.add(at);
    }
    sink.add(sent.in_flight);
    sink.add(sent.limited ? 1 : 0);
  }
}

}  // namespace lockstep::tcp::added
