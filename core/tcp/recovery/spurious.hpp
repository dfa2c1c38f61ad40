// Losses that were none, found out by new data (RFC 5682), D-SACK (2883) or timestamps (3522).
#pragma once

#include "core/tcp/output.hpp"
#include "core/tcp/recovery/scoreboard.hpp"

namespace lockstep::tcp::spurious {

// A loss is about to be answered: what the window was before. `timeout`: the timer fired.
void remember(Engine& e, Connection& c, bool timeout);
// Octets leave again.
void note_again(InFlightState& a, Bytes octets);
// So do these, while an echo is awaited.
void note_departure(const Engine& e, const Connection& c, InFlightState& a, const Plan& plan);
// Whether F-RTO watches the timeout: new data goes out in place of what was lost by it.
inline bool watches(const InFlightState& a) { return a.watch == TimeoutWatch::news; }

// An ACK is on the board: whether it shows that the timeout, or the recovery, was for nothing.
struct Shown {
  bool advances = false;   // SND.UNA moved
  bool duplicate = false;  // it says nothing new at all
  bool marked = false;     // it has ECE
};
// Returns whether cwnd was restored in a way that this ACK must not change any further.
bool on_ack(Engine& e, Connection& c, Board& board, AckSample& news, const wire::Segment& segment,
            Shown shown);
// The same without a board: SND.UNA has moved by `newly`, or the ACK is a duplicate.
void on_plain_ack(Engine& e, Connection& c, const wire::Segment& segment, Bytes newly);
void on_plain_duplicate(Engine& e, Connection& c);

// The active part goes, and comes again: what the estimate was before a timeout that was none waits
// in its place for the first sample of new data.
void rest_estimate(Connection& c, const InFlightState& a);
void resume_estimate(Connection& c, InFlightState& a);
// A round trip was measured by an ACK of all before `ack`, after a timeout that was none.
void adapt_timeout(const Engine& e, Connection& c, Sequence ack, Duration measured);

}  // namespace lockstep::tcp::spurious
