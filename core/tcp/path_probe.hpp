// Packetization-layer path MTU discovery (RFC 4821): probes with real data, black hole detection.
#pragma once

#include "core/tcp/engine.hpp"
#include "core/tcp/output.hpp"

namespace lockstep::tcp::path_probe {

// What a connection with a limited path does next: nothing, hold back new data until the window has
// space for a probe, or send a probe.
enum class Step : std::uint8_t { none, hold, probe };
// Fills `out` for a probe: one segment larger than the known path MTU. O(1).
Step plan(Engine& e, Connection& c, SegmentPlan& out);
// The planned probe is sent.
void note_sent(Engine& e, Connection& c, const SegmentPlan& plan);
// [begin, end) is retransmitted: a probe in that range can no longer prove anything.
void note_again(InFlightState& a, Sequence begin, Sequence end);

// SND.UNA advanced while a probe is in flight or a reported MTU is pending.
void on_advance(Engine& e, Connection& c, InFlightState& a);
// A recovery starts. True: only the probe was lost, which is no sign of congestion.
bool only_probe_lost(Engine& e, Connection& c);
// In such a recovery: other losses were found, or it is over without any.
void other_loss_found(Engine& e, Connection& c);
inline void end_suppression(Connection& c, InFlightState& a) {
  if (a.path_probe.suppressed) {
    a.path_probe.suppressed = false;
    // The MSS may have grown since.
    c.congestion.ssthresh = most(a.path_probe.ssthresh, Bytes{2u * c.mss});
  }
}
// Whether the scoreboard knows of a loss outside the probe.
bool other_losses_known(const Engine& e, const InFlightState& a);
// The retransmission timer fired; called before congestion control handles it.
void on_timeout(Engine& e, Connection& c);

}  // namespace lockstep::tcp::path_probe
