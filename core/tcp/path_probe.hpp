// Packetization-layer path MTU discovery (RFC 4821): probes of real data, and black holes.
#pragma once

#include "core/tcp/engine.hpp"
#include "core/tcp/output.hpp"

namespace lockstep::tcp::path_probe {

// What a connection whose path is limited does next: nothing of it, hold new data back until the
// window has room for a probe, or send one.
enum class Step : std::uint8_t { none, hold, probe };
// Fills `out` for a probe: one segment that is larger than the path is known to carry. O(1).
Step plan(Engine& e, Connection& c, Plan& out);
// The planned probe leaves.
void note_sent(Engine& e, Connection& c, const Plan& plan);
// Octets up to `end` leave again: a probe among them would prove nothing any more.
void note_again(InFlightState& a, Sequence begin, Sequence end);

// SND.UNA has moved while a probe is out, or while a message about a packet is not believed yet.
void on_advance(Engine& e, Connection& c, InFlightState& a);
// A recovery begins. True: the probe alone was lost, which says nothing of congestion.
bool lost_alone(Engine& e, Connection& c);
// Of such a recovery: there are other losses after all, or none and it is over.
void lost_more(Engine& e, Connection& c);
inline void end_suppression(Connection& c, InFlightState& a) {
  if (a.path_probe.suppressed) {
    a.path_probe.suppressed = false;
    // The size of a segment may have grown since.
    c.congestion.ssthresh = most(a.path_probe.ssthresh, Bytes{2u * c.mss});
  }
}
// Whether the board knows of a loss outside of the probe.
bool knows_more(const Engine& e, const InFlightState& a);
// The retransmission timer fired, before congestion control answers it.
void on_timeout(Engine& e, Connection& c);

}  // namespace lockstep::tcp::path_probe
