// Timestamps (RFC 7323 sections 3 to 5): the clock, the value to echo, round trips, and PAWS.
#pragma once

#include "core/tcp/engine.hpp"

namespace lockstep::tcp {

// TSval of a segment that leaves now.
//= rfc7323#4.1
//# 7323:TS-13 one tick for each tick of the caller's clock
//= rfc7323#5.4
//# 7323:TS-20 32 bits of at least a millisecond each: it wraps after 49 days
//# 7323:TS-50 at 1 ms it ticks within any window of data up to 8 Tbit/s
inline std::uint32_t timestamp_at(const Engine& e, const OptionVariables& options,
                                  Instant instant) {
  return static_cast<std::uint32_t>(instant.ns / e.config.timestamp_tick.ns) + options.ts_offset;
}
// The clock offset of this four-tuple: the same for every connection with it, so that timestamps of
// a new connection are never older than those of the last; unpredictable without the key.
std::uint32_t timestamp_offset(const Config& config, const FourTuple& tuple);

struct StampPair {
  std::uint32_t value;
  std::uint32_t than;
};

// Whether `value` is older than `than`, modulo 2^32.
//= rfc7323#5.2
//# 7323:TS-42 s < t if 0 < (t - s) < 2^31
constexpr bool is_older(StampPair pair) {
  return static_cast<std::int32_t>(pair.value - pair.than) < 0;
}

// The peer's SYN arrived: timestamps are used if both sides have the option, otherwise ignored.
void agree_on_timestamps(const Engine& e, Connection& c, const wire::Segment& syn);

// Whether TS.Recent is too old for rule R1 (PAWS): no segment was accepted for 24 days.
//= rfc7323#5.5
//# 7323:TS-21 after 24 days TS.Recent is invalid
inline bool is_outdated(const Engine& e, const Connection& c) {
  constexpr Duration idle_max = Duration::seconds(24 * 86'400);
  return e.state->now.since(c.heard_at) > idle_max;
}
// Rule R3, for an acceptable segment without RST.
void record_timestamp(const Engine& e, Connection& c, const wire::Segment& segment);

// Takes an RTT sample from the TSecr of a segment that acknowledges new data, unless a timed
// segment is about to give a more precise one. Call it before SND.UNA advances.
void process_echo(Engine& e, Connection& c, const wire::Segment& segment);
// Expected RTT samples per round trip: the inverse weight of each in the estimate.
Count samples_expected(const Connection& c);

}  // namespace lockstep::tcp
