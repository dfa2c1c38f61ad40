// Field values of congestion control, for fingerprints and observers.
#include "core/tcp/congestion/visit.hpp"

#include "core/tcp/accounts.hpp"
#include "core/tcp/congestion/cubic.hpp"
#include "core/tcp/congestion/dctcp.hpp"
#include "core/tcp/congestion/pacing.hpp"
#include "core/units/check.hpp"

namespace lockstep::tcp::congestion {
namespace {

void visit_slow(const HyStart& h, FieldSink& sink) {
  sink.add(h.window_end);
  for (Duration value : {h.last_min, h.current_min, h.baseline}) {
    sink.add(value);
  }
  sink.add(std::uint64_t{h.samples} << 16 | std::uint64_t{h.rounds} << 8 | (h.begun ? 2u : 0u) |
           (h.conservative ? 1u : 0u));
}

void visit_state(Congestion congestion, const ControllerState& state, FieldSink& sink) {
  sink.add(state.round_end);
  sink.add(state.peak);
  visit_slow(state.slow, sink);
  if (congestion == Congestion::dctcp) {
    Dctcp const& d = state.dctcp;
    sink.add(d.window_end);
    sink.add(d.acked);
    sink.add(d.marked);
    sink.add(d.begun ? 1 : 0);
    return;
  }
  Cubic const& q = state.cubic;
  sink.add(q.estimate);
  sink.add(q.elapsed);
  sink.add(q.last);
  sink.add(q.origin);
  sink.add(std::uint64_t{q.k} << 2 | (q.running ? 2u : 0u) | (q.drained ? 1u : 0u));
}

}  // namespace

void visit(const Engine& e, const InFlightState& a, FieldSink& sink) {
  sink.add(a.reduced_to);
  sink.add(a.pace_at);
  sink.add(a.pace_due);
  visit_state(congestion_of(e, e.connections[a.owner]), a.controller, sink);
  sink.add(a.marks.limited_until);
  sink.add(a.marks.delivered_at);
  sink.add(a.marks.first_sent_at);
  for (Index i = a.marks.first; i != nil; i = e.marks[i].next) {
    TxStamp const& mark = e.marks[i];
    sink.add(mark.end);
    sink.add(mark.delivered);
    for (Instant value : {mark.sent_at, mark.delivered_at, mark.first_sent_at}) {
      sink.add(value);
    }
    sink.add(mark.limited ? 1 : 0);
  }
}

void fill(Engine& e, Connection& c, ConnectionInfo& info) {
  info.ecn = {c.ecn.rx, c.ecn.tx, c.ecn.echo, c.ecn.cwr_due};
  info.congestion = congestion_of(e, c);
  if (info.congestion == Congestion::cubic) {
    info.w_max = cubic::w_max_of(c.congestion);
    info.cwnd_prior = cubic::cwnd_prior_of(c.congestion);
  }
  if (info.congestion == Congestion::dctcp) {
    info.alpha = dctcp::alpha_of(c.congestion);
  }
  if (c.active != nil) {
    info.rate = e.active(c).sample;
    info.pacing_rate = e.config.pacing ? pacing::rate_of(e, c) : 0;
  }
}

void check_invariants(const Engine& e, const Connection& c, const InFlightState& a) {
  CHECK(c.ecn.rx || !c.ecn.tx);
  CHECK(c.ecn.rx || !c.ecn.echo);
  CHECK(c.ecn.tx || !c.ecn.cwr_due);
  CHECK(congestion_of(e, c) != Congestion::dctcp ||
        dctcp::alpha_of(c.congestion) <= dctcp::alpha_one);
  // Marks lie between SND.UNA and SND.NXT, in order.
  Sequence above = c.send.una;
  std::uint32_t count = 0;
  for (Index i = a.marks.first; i != nil; i = e.marks[i].next) {
    CHECK(e.marks[i].end.after(above));
    CHECK(e.marks[i].end.at_or_before(c.send.nxt));
    above = e.marks[i].end;
    ++count;
  }
  CHECK(count == a.marks.count);
}

}  // namespace lockstep::tcp::congestion
