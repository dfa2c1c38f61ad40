// Delivery rate and round-trip time of each ACK, from marks on the segments in flight.
#pragma once

#include "core/tcp/engine.hpp"

namespace lockstep::tcp {

// Whether samples are used: by the controller, or by an observer (Config).
constexpr bool wants_marks(const Config& config) {
  return config.rate_samples || config.hystart || config.pacing;
}

// New data was sent, up to SND.NXT; `flight`: octets in flight before it. Marks the segment if the
// pool and the limit per connection allow, about 32 times a window. O(1).
void mark_segment(Engine& e, Connection& c, Bytes flight);
// Data is retransmitted: drops all marks, because an ACK of data now in flight no longer shows
// which transmission it answers (Karn) or when that was delivered.
void drop_marks(Engine& e, InFlightState& a);
// SND.UNA advanced: removes the marks it covers and makes a sample of the newest.
RateSample sample_rate(Engine& e, Connection& c);

}  // namespace lockstep::tcp
