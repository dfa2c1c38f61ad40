// Recoveries that were none: spurious timeouts (RFC 5682), and losses that arrived (RFC 2883).
#pragma once

#include "core/tcp/scoreboard.hpp"

namespace lockstep::tcp::spurious {

// A loss is about to be answered: what the window was before. `timeout`: the timer fired.
void remember(Engine& e, Connection& c, bool timeout);
// Octets leave again.
void note_again(Active& a, Bytes octets);
// Whether F-RTO watches the timeout: new text goes out in place of what was lost by it.
inline bool watches(const Active& a) { return a.watch == TimeoutWatch::news; }
// An ACK is on the board: whether it shows that the timeout, or the recovery, was for nothing.
struct Shown {
  bool advances = false;    // SND.UNA moved
  bool duplicate = false;   // it says nothing new at all
};
void on_ack(Engine& e, Connection& c, Board& board, const AckNews& news, Shown shown);

}  // namespace lockstep::tcp::spurious
