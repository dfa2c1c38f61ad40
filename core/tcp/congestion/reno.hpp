// Congestion control by RFC 5681 with RFC 6582's NewReno: how cwnd and ssthresh answer events.
#pragma once

#include "core/tcp/config.hpp"
#include "core/tcp/connection.hpp"

namespace lockstep::tcp::reno {

// What a connection tells its controller besides the event: in octets.
struct Flight {
  Bytes size;  // sent and not acknowledged
  Bytes smss;  // largest segment that we send
};

// The handshake is over; `syn_timeouts`: how often its timer fired for our SYN or SYN-ACK.
void begin(CongestionVariables& c, Bytes smss, Count syn_timeouts, const Config& config);
Bytes initial_window(Bytes smss, InitialWindow rule);
// An ACK of `newly` octets of new data, outside of recovery.
void on_ack(CongestionVariables& c, Bytes newly, Bytes smss);
// The duplicate ACK that asks for fast retransmit: recovery begins.
void enter_recovery(CongestionVariables& c, Flight flight);
// A further duplicate ACK in recovery.
void inflate(CongestionVariables& c, Flight flight);
// An ACK of `newly` octets in recovery that does not cover `recover`.
void on_partial_ack(CongestionVariables& c, Bytes newly, Bytes smss);
// An ACK that covers `recover`; `flight` is what is still out after it.
void leave_recovery(CongestionVariables& c, Flight flight);
// The retransmission timer fired; `first`: for this segment for the first time.
void on_timeout(CongestionVariables& c, Flight flight, bool first);
// Nothing was sent for longer than the timeout.
void on_idle(CongestionVariables& c, Bytes smss, const Config& config);

}  // namespace lockstep::tcp::reno
