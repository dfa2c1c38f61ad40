// Delivery rate and round-trip time of each ACK, from marks on the segments in flight.
#pragma once

#include "core/tcp/engine.hpp"

namespace lockstep::tcp {

// Whether samples are used: by the controller, or by an observer (Config).
constexpr bool wants_marks(const Config& config) { return config.rate_samples || config.hystart; }

// New data has left, up to SND.NXT; `flight`: what was out before it. Marks the segment if the
// pool and the bound of a connection allow, about 32 times a window; O(1).
void mark_segment(Engine& e, Connection& c, Bytes flight);
// Something is sent again: an ACK of what is out now would not tell which copy it answers (Karn),
// nor when it was delivered. All marks go.
void drop_marks(Engine& e, InFlightState& a);
// SND.UNA advanced: removes the marks it covers and makes a sample of the newest.
RateSample sample_rate(Engine& e, Connection& c);

}  // namespace lockstep::tcp
