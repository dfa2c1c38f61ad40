// Tail loss probes (RFC 8985 section 7): one segment that makes the peer speak before a timeout.
#pragma once

#include "core/tcp/output.hpp"
#include "core/tcp/recovery/scoreboard.hpp"

namespace lockstep::tcp::tail_probe {

// New data has left, or an ACK of new data came: a probe is due if nothing more is heard.
void schedule(Engine& e, Connection& c);
// The timer of the probe fired.
void expire(Engine& e, Connection& c);
// The probe that is to leave, if there is something to probe with.
Plan plan(Engine& e, Connection& c);
// It leaves; SND.NXT is still the old one.
void note_departure(Connection& c, InFlightState& a, const Plan& plan, Sequence end);
// An ACK is on the board, SND.UNA moved: what it says of a probe in flight.
void on_ack(Engine& e, Connection& c, const wire::Segment& segment, const AckSample& news,
            bool duplicate);
// An ACK while nothing is in flight: it may still tell that the last probe came twice.
void on_idle_ack(Engine& e, Connection& c, const wire::Segment& segment);
// A recovery begins: the probe is forgotten.
void forget(InFlightState& a);

}  // namespace lockstep::tcp::tail_probe
