// Congestion control as the rest of TCP calls it: the events of a connection.
#pragma once

#include "core/tcp/congestion/controller.hpp"
#include "core/tcp/engine.hpp"

namespace lockstep::tcp::congestion {

// The functions of a controller.
const Controller& row_of(Congestion congestion);

// The handshake is complete; `syn_timeouts`: how often our SYN or SYN-ACK timed out.
void begin(Engine& e, Connection& c, Count syn_timeouts);
// Switches this connection to another controller, which starts with the current cwnd. Only if
// accounts are kept.
void choose(Engine& e, Connection& c, Congestion congestion);
// An ACK of `newly` octets of new data arrived, with ECE if `marked`; SND.UNA has advanced. In
// recovery cwnd is not changed.
void on_ack(Engine& e, Connection& c, Bytes newly, bool marked);
// A loss was detected and a recovery starts: sets ssthresh. The recovery sets cwnd.
void on_loss(Engine& e, Connection& c);
// The first ECE of this window arrived, on an ACK of `newly` octets: sets ssthresh and cwnd.
void on_mark(Engine& e, Connection& c, Bytes newly);
// The retransmission timer fired: sets cwnd, and ssthresh if `first` timeout of this segment.
void on_timeout(Engine& e, Connection& c, bool first);
// Data is to be sent after an idle period longer than the RTO.
void on_idle(Engine& e, Connection& c);
// The controller's pacing rate in octets per second; 0: pacing.hpp computes one.
std::uint64_t pacing_rate(Engine& e, Connection& c);

}  // namespace lockstep::tcp::congestion
