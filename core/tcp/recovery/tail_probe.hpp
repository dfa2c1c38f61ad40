// Tail loss probes (RFC 8985 section 7): one segment that elicits an ACK before a timeout.
#pragma once

#include "core/tcp/output.hpp"
#include "core/tcp/recovery/scoreboard.hpp"

namespace lockstep::tcp::tail_probe {

// New data was sent, or an ACK of new data arrived: schedules a probe in case no ACK follows.
void schedule(Engine& e, Connection& c);
// The probe timer fired.
void expire(Engine& e, Connection& c);
// The probe to send, if there is data for one.
SegmentPlan plan(Engine& e, Connection& c);
// The probe is sent; SND.NXT still has its old value.
void note_departure(Connection& c, InFlightState& a, const SegmentPlan& plan, Sequence end);
// The scoreboard contains an ACK and SND.UNA has advanced: processes it for a probe in flight.
void on_ack(Engine& e, Connection& c, const wire::Segment& segment, const AckSample& news,
            bool duplicate);
// An ACK while nothing is in flight: it may report that the last probe was a duplicate.
void on_idle_ack(Engine& e, Connection& c, const wire::Segment& segment);
// A recovery starts: the probe is no longer tracked.
void forget(InFlightState& a);

}  // namespace lockstep::tcp::tail_probe
