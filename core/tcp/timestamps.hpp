// Timestamps (RFC 7323 sections 3 to 5): the clock, which one to echo, round trips, and PAWS.
#pragma once

#include "core/tcp/engine.hpp"

namespace lockstep::tcp {

// What PAWS says of a segment on arrival.
enum class Paws : std::uint8_t { ok, missing, old };

// TSval of a segment that leaves now.
//= rfc7323#4.1
//# 7323:TS-13 one tick for each tick of the world's clock
//= rfc7323#5.4
//# 7323:TS-20 32 bits of at least a millisecond each: it takes 49 days to come round
//# 7323:TS-50 at 1 ms it ticks within any window of data up to 8 Tbit/s
inline std::uint32_t timestamp_at(const Engine& e, const OptionVariables& options,
                                  Instant instant) {
  return static_cast<std::uint32_t>(instant.ns / e.config.timestamp_tick.ns) + options.ts_offset;
}
// What is added to the clock for this four-tuple: the same in every life of it, so that what one
// life sends is never older than what the last one did, and unknown to whoever has not the key.
std::uint32_t timestamp_offset(const Config& config, const FourTuple& tuple);

struct StampPair {
  std::uint32_t value;
  std::uint32_t than;
};

// Whether `value` is older, on the circle of 2^32.
//= rfc7323#5.2
//# 7323:TS-42 s < t if 0 < (t - s) < 2^31
constexpr bool is_older(StampPair pair) {
  return static_cast<std::int32_t>(pair.value - pair.than) < 0;
}

// The peer's SYN has come: both have the option, or it is ignored from here on.
void agree_on_timestamps(const Engine& e, Connection& c, const wire::Segment& syn);

// Rule R1, for a segment without RST on a connection that speaks timestamps.
Paws stamp_of(const Engine& e, const Connection& c, const wire::Segment& segment);
// Rule R3, for an acceptable segment without RST.
void record_timestamp(const Engine& e, Connection& c, const wire::Segment& segment);

// TSecr of a segment that acknowledges something new gives a round-trip time, unless a segment
// timed by itself is about to give a finer one. Before SND.UNA moves.
void process_echo(Engine& e, Connection& c, const wire::Segment& segment);
// How many samples a round trip is expected to bring: what each counts for in the estimate.
Count samples_expected(const Connection& c);

}  // namespace lockstep::tcp
