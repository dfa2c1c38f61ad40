// Calls of added controllers (controller.h), and the rate samples that they need.
#pragma once

#include "core/tcp/engine.hpp"
#include "core/tcp/inspect.hpp"

namespace lockstep::tcp::added {

// Whether added controllers can exist. This test is their whole cost if Config names none.
inline bool possible(const Engine& e) { return e.added.count() != 0; }
// The controller of this connection; null: a built-in one.
const lockstep_controller* controller_of(const Engine& e, const Connection& c);

// Call the following only if possible(): they are not on the normal path.

// The handshake is complete, cwnd is the initial window.
[[gnu::cold]] void begin(Engine& e, Connection& c);
// The connection has another controller from now on. What was delivered and lost stays counted,
// because the stamps of data in flight have the counts of when it was sent.
[[gnu::cold]] void change(Engine& e, Connection& c);

// One ACK that the scoreboard, if there is one, contains.
struct Delivery {
  Bytes newly;            // acknowledged cumulatively
  Bytes delivered;        // cumulatively or by SACK
  Bytes before;           // in the network before it
  bool marked = false;    // it has ECE
  bool held = false;      // a restored cwnd must not change
  bool by_board = false;  // the scoreboard has counted what is delivered
};
// Calls the controller. If it owns the window, cwnd is its own again.
[[gnu::cold]] void on_ack(Engine& e, Connection& c, const Delivery& delivery);
// The network is congested: returns the new ssthresh.
[[gnu::cold]] Bytes reduced(Engine& e, Connection& c, lockstep_signal signal);
// A part of TCP that sets cwnd itself has run: undoes that, if the controller owns the window.
[[gnu::cold]] void restore(Engine& e, Connection& c);
// Its pacing rate in octets per second; 0: pacing.hpp computes one.
std::uint64_t pacing_rate(const Engine& e, const Connection& c);

// Whether the connection's controller paces, retransmissions included.
[[gnu::cold]] bool paces(const Engine& e, const Connection& c);
// Whether SND.NXT lies within a quantum that has begun, so that the pace does not hold new data.
[[gnu::cold]] bool in_quantum(const Engine& e, const Connection& c);
// Whether new data waits for more `room` in the windows, as a paced controller sends in quanta:
// until there is room for a quantum, or a third of the window. Not in recovery.
[[gnu::cold]] bool gathers(Engine& e, Connection& c, Bytes room);
// New data was sent. `flight`: octets in flight before it.
[[gnu::cold]] void note_sent(Engine& e, Connection& c, Bytes flight);
// Octets on the scoreboard were found lost.
inline void note_lost(Engine& e, Index owner, Bytes lost) { e.added[owner].lost += lost.count; }
// A range of the scoreboard is sent now, or was before tracking began (`known` is false).
[[gnu::cold]] void stamp(Engine& e, Index owner, Index range, bool known);
// `octets` of a range are delivered.
[[gnu::cold]] void deliver(Engine& e, Index owner, Index range, Bytes octets);

// The fields that a connection has for its controller, for fingerprints.
void visit(const Engine& e, const Connection& c, FieldSink& sink);

}  // namespace lockstep::tcp::added
