// Timestamps (RFC 7323 sections 3 to 5): the clock, the value to echo, round trips, and PAWS.
#include "core/tcp/timestamps.hpp"

#include <algorithm>

#include "core/tcp/accounts.hpp"
#include "core/tcp/acknowledgement.hpp"
#include "core/tcp/opening/isn.hpp"
#include "core/tcp/recovery/spurious.hpp"
#include "core/tcp/rtt.hpp"

namespace lockstep::tcp {
//= rfc7323#7.1
//# 7323:TS-23 a separate offset per connection, with a separate key
std::uint32_t timestamp_offset(const Config& config, const FourTuple& tuple) {
  return tuple_hash(config.timestamp_key, tuple, tuple.local.port);
}

void agree_on_timestamps(const Engine& e, Connection& c, const wire::Segment& syn) {
  //= rfc7323#3.2
  //# 7323:TS-12 not agreed on: later timestamps are ignored
  //# 7323:TS-39 a SYN-ACK has it only if the SYN had it
  if (e.config.timestamps && syn.options.has_timestamps) {
    c.options.negotiated |= negotiated::timestamps;
    c.options.ts_recent = syn.options.timestamp_value;
  }
}

void record_timestamp(const Engine& e, Connection& c, const wire::Segment& segment) {
  if (!c.options.has(negotiated::timestamps) || !segment.options.has_timestamps) {
    return;
  }
  //= rfc7323#4.3
  //# 7323:TS-15 only from a segment that begins at or before Last.ACK.sent
  //# 7323:TS-30 so the earliest unacknowledged one is echoed
  //# 7323:TS-16 with data above a gap, that of the last segment that advanced RCV.NXT
  //# 7323:TS-31 and from then on that of the segment that fills the gap
  Sequence const last_ack = c.active != nil ? e.active(c).last_ack_sent : c.receive.nxt;
  if (segment.sequence.after(last_ack)) {
    return;
  }
  //= rfc7323#5.3
  //# 7323:TS-46 R3: never replaced by an older one
  //= rfc7323#5.2
  //# 7323:TS-41 so TS.Recent never decreases
  //= rfc7323#5.5
  //# 7323:TS-49 unless it was outdated
  std::uint32_t const value = segment.options.timestamp_value;
  if (!is_older({value, c.options.ts_recent}) || is_outdated(e, c)) {
    c.options.ts_recent = value;
  }
}

Count samples_expected(const Connection& c) {
  if (!c.options.has(negotiated::timestamps)) {
    return {1};
  }
  //= rfc7323#4.2
  //# 7323:TS-40 appendix G: ceil(FlightSize / (2 SMSS)) samples share the weight of one
  std::uint32_t const pair = 2u * c.mss;
  return {std::max((flight_size(c).count + pair - 1) / pair, 1u)};
}

void process_echo(Engine& e, Connection& c, const wire::Segment& segment) {
  wire::Options const& options = segment.options;
  //= rfc7323#3.2
  //# 7323:TS-29 TSecr is meaningless without ACK
  // Zero is ignored too, because broken peers send it.
  bool const echoes = c.options.has(negotiated::timestamps) && options.has_timestamps &&
                      segment.flags.ack() && options.timestamp_echo != 0;
  //= rfc7323#4.1
  //# 7323:TS-14 only if SND.UNA advances
  if (!echoes || !segment.acknowledgment.after(c.send.una)) {
    return;
  }
  InFlightState const& a = e.active(c);
  if (a.timing && segment.acknowledgment.at_or_after(a.timed)) {
    return;
  }
  std::uint32_t const clock = timestamp_at(e, c.options, e.state->arrived);
  std::uint32_t const ticks = clock - options.timestamp_echo;
  // An echo of a value that was never sent, or no time of arrival.
  if (is_older({clock, options.timestamp_echo}) || !is_timed(*e.state)) {
    return;
  }
  //= rfc6298#3
  //# 6298:RTO-23 it does not matter which transmission was received: the sample counts
  // Nor can it be the value of what this ACK covers if it is older than all that was in flight.
  Duration const tick = e.config.timestamp_tick;
  if (tick * ticks > e.state->arrived.since(a.unacked_since) + tick * 2) {
    return;
  }
  // A round trip takes more than zero time.
  Duration const measured = std::max(tick * ticks, Duration{1});
  add_rtt_sample(c.rtt, measured, e.config, samples_expected(c));
  if (accounts_kept(e)) [[unlikely]] {
    accounts::note_rtt(e, c, measured);
  }
  if (a.rto_suspect) [[unlikely]] {
    spurious::adapt_timeout(e, c, segment.acknowledgment, measured);
  }
}

}  // namespace lockstep::tcp
