// The events of a connection that its congestion controller answers: what the rest of TCP calls.
#pragma once

#include "core/tcp/congestion/controller.hpp"
#include "core/tcp/engine.hpp"

namespace lockstep::tcp::congestion {

// The row of a controller.
const Controller& row_of(Congestion congestion);

// The handshake is over; `syn_timeouts`: how often its timer fired for our SYN or SYN-ACK.
void begin(Engine& e, Connection& c, Count syn_timeouts);
// An ACK of `newly` octets of new data came, SND.UNA is moved. Not in recovery: cwnd grows.
void on_ack(Engine& e, Connection& c, Bytes newly);
// A loss was found, and a recovery begins: sets ssthresh. cwnd is the recovery's to set.
void on_loss(Engine& e, Connection& c);
// The retransmission timer fired: ssthresh, if `first` for this segment, and cwnd.
void on_timeout(Engine& e, Connection& c, bool first);
// Text is to be sent after more than a timeout of silence.
void on_idle(Engine& e, Connection& c);

}  // namespace lockstep::tcp::congestion
