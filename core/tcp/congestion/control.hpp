// The events of a connection that its congestion controller answers: what the rest of TCP calls.
#pragma once

#include "core/tcp/congestion/controller.hpp"
#include "core/tcp/engine.hpp"

namespace lockstep::tcp::congestion {

// The row of a controller.
const Controller& row_of(Congestion congestion);

// The handshake is over; `syn_timeouts`: how often its timer fired for our SYN or SYN-ACK.
void begin(Engine& e, Connection& c, Count syn_timeouts);
// This connection's controller from here on; it begins with the window that there is. Only where
// accounts are kept.
void choose(Engine& e, Connection& c, Congestion congestion);
// An ACK of `newly` octets of new data came, with ECE if `marked`; SND.UNA is moved. In recovery
// cwnd is not touched.
void on_ack(Engine& e, Connection& c, Bytes newly, bool marked);
// A loss was found, and a recovery begins: sets ssthresh. cwnd is the recovery's to set.
void on_loss(Engine& e, Connection& c);
// The first echo of this window came, on an ACK of `newly` octets: sets ssthresh and cwnd.
void on_mark(Engine& e, Connection& c, Bytes newly);
// The retransmission timer fired: ssthresh, if `first` for this segment, and cwnd.
void on_timeout(Engine& e, Connection& c, bool first);
// Data is to be sent after more than a timeout of silence.
void on_idle(Engine& e, Connection& c);
// Octets per second at which the controller wants data to leave; 0: it leaves that to pacing.hpp.
std::uint64_t pacing_rate(Engine& e, Connection& c);

}  // namespace lockstep::tcp::congestion
