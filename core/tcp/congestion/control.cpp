// The events of a connection that its congestion controller answers: what the rest of TCP calls.
#include "core/tcp/congestion/control.hpp"

#include "core/tcp/acknowledgement.hpp"
#include "core/tcp/congestion/reno.hpp"

namespace lockstep::tcp::congestion {
namespace {

constexpr Controller controllers[] = {
    {"reno", reno::on_ack, reno::reduced},
};

Subject subject_of(Engine& e, Connection& c) {
  return {c.congestion, e.config, Bytes{c.mss}, e.state->now};
}

}  // namespace

const Controller& row_of(Congestion congestion) {
  return controllers[static_cast<std::uint32_t>(congestion)];
}

void begin(Engine& e, Connection& c, Count syn_timeouts) {
  reno::begin(c.congestion, Bytes{c.mss}, syn_timeouts, e.config);
}

void on_ack(Engine& e, Connection& c, Bytes newly) {
  Subject subject = subject_of(e, c);
  Acked acked;
  acked.newly = newly;
  row_of(e.config.congestion).on_ack(subject, acked);
}

void on_loss(Engine& e, Connection& c) {
  Subject subject = subject_of(e, c);
  //= rfc5681#3.2
  //# 5681:CC-20 octets of limited transmit do not count
  //= rfc5681#4.3
  //# 5681:CC-29, 5681:CC-31 each window with a loss halves once
  c.congestion.ssthresh = row_of(e.config.congestion)
                              .reduced(subject, flight_size(c) - c.congestion.limited,
                                       Signal::loss);
}

void on_timeout(Engine& e, Connection& c, bool first) {
  //= rfc5681#3.1
  //# 5681:CC-13 ssthresh is lowered once for a segment, however often it is repeated
  if (first) {
    Subject subject = subject_of(e, c);
    c.congestion.ssthresh =
        row_of(e.config.congestion).reduced(subject, flight_size(c), Signal::timeout);
  }
  reno::on_timeout(c.congestion, Bytes{c.mss});
}

void on_idle(Engine& e, Connection& c) {
  reno::on_idle(c.congestion, Bytes{c.mss}, e.config);
}

}  // namespace lockstep::tcp::congestion
