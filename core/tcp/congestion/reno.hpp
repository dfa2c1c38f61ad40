// Congestion control by RFC 5681 with RFC 6582's NewReno: how cwnd and ssthresh answer events.
#pragma once

#include "core/tcp/congestion/controller.hpp"

namespace lockstep::tcp::reno {

// The state of a connection that the functions need, in octets.
struct Flight {
  Bytes size;  // sent and not acknowledged
  Bytes smss;  // largest segment that we send
};
Flight flight_of(const Connection& c);

// The handshake is complete; `syn_timeouts`: how often our SYN or SYN-ACK timed out.
void begin(CongestionVariables& c, Bytes smss, Count syn_timeouts, const Config& config);
Bytes initial_window(Bytes smss, InitialWindow rule);
// An ACK of new data outside recovery.
struct Growth {
  Bytes newly;            // octets that it acknowledges
  Bytes smss;             // largest segment that we send
  Bytes slow_start_most;  // by how much it may increase cwnd in slow start
};

// `slow_start_most` of an ACK that has advanced SND.UNA by `newly` octets, by Config's
// slow_start_segments.
Bytes slow_start_most(const Connection& c, Bytes newly, const Config& config);
// The two growth phases.
void slow_start(CongestionVariables& c, Growth growth);
void avoid(CongestionVariables& c, Bytes newly, Bytes smss);
// slow_start() or avoid() by ssthresh: what on_ack does without HyStart++.
void grow(CongestionVariables& c, Growth growth);
// Functions of Controller.
void on_ack(congestion::Subject& s, const congestion::Acked& acked);
Bytes reduced(congestion::Subject& s, Bytes flight, congestion::Signal signal);

// Recovery without SACK, for every controller.
// The third duplicate ACK triggers fast retransmit: enters recovery; ssthresh is already set.
void enter_recovery(CongestionVariables& c, Bytes smss);
// A further duplicate ACK in recovery.
void inflate(CongestionVariables& c, Flight flight);
// An ACK of `newly` octets in recovery that does not cover `recover`.
void on_partial_ack(CongestionVariables& c, Bytes newly, Bytes smss);
// An ACK that covers `recover`; `flight` is what is still in flight after it.
void leave_recovery(CongestionVariables& c, Flight flight);
// The retransmission timer fired; ssthresh is already set.
void on_timeout(CongestionVariables& c, Bytes smss);
// Nothing was sent for longer than the RTO.
void on_idle(CongestionVariables& c, Bytes smss, const Config& config);

}  // namespace lockstep::tcp::reno
