// HyStart++ (RFC 9406): leaves slow start when the round-trip time grows, before a loss.
#include "core/tcp/congestion/hystart.hpp"

#include <algorithm>

#include "core/tcp/congestion/reno.hpp"

namespace lockstep::tcp::hystart {
namespace {

using congestion::Acked;
using congestion::Subject;

//= rfc9406#4.3
//# 9406:HSPP-9 the constants
constexpr Duration rtt_thresh_min = Duration::milliseconds(4);
constexpr Duration rtt_thresh_max = Duration::milliseconds(16);
constexpr std::uint64_t rtt_divisor = 8;
constexpr std::uint8_t samples_least = 8;
constexpr std::uint32_t growth_divisor = 4;
constexpr std::uint8_t css_rounds = 5;
constexpr std::uint32_t growth_limit = 8;  // L
//= rfc9406#4.3
//# 9406:HSPP-12 the divisor is at least two
static_assert(growth_divisor >= 2);

constexpr bool known(Duration rtt) { return rtt.ns != 0; }

//= rfc9406#4.2
//# 9406:HSPP-2 an eighth of the last round's minimum, between 4 ms and 16 ms
Duration threshold(const HyStart& h) {
  return std::clamp(h.last_min / rtt_divisor, rtt_thresh_min, rtt_thresh_max);
}

//= rfc9406#4.2
//# 9406:HSPP-5 RTTs are sampled in both phases
void process_rtt(HyStart& h, const RateSample& sample) {
  if (!sample.valid) {
    return;
  }
  Duration const rtt{std::max<std::uint64_t>(sample.rtt.ns, 1)};
  h.current_min = known(h.current_min) ? std::min(h.current_min, rtt) : rtt;
  h.samples = static_cast<std::uint8_t>(std::min(h.samples + 1, 255));
}

// Switches from slow start to conservative slow start, or back.
void choose_phase(HyStart& h) {
  //= rfc9406#4.2
  //# 9406:HSPP-13 needs minimum RTTs of this round and the last one
  bool const enough = h.samples >= samples_least && known(h.current_min);
  if (!enough) {
    return;
  }
  if (h.conservative) {
    //= rfc9406#4.2
    //# 9406:HSPP-6 the RTT shrank again: the exit was premature
    if (h.current_min < h.baseline) {
      h.conservative = false;
      h.rounds = 0;
      h.baseline = {};
    }
    return;
  }
  //= rfc9406#4.2
  //# 9406:HSPP-1 the RTT has grown by the threshold, with at least eight samples
  if (known(h.last_min) && h.current_min >= h.last_min + threshold(h)) {
    h.conservative = true;
    h.baseline = h.current_min;
    h.rounds = 0;
  }
}

// Ends the round if its end was acknowledged.
void end_round(Subject& s, const Acked& acked) {
  HyStart& h = s.state.slow;
  // An end above SND.NXT is stale: sequence numbers wrap while the window is never full.
  bool const known_end = h.window_end.at_or_before(acked.nxt);
  if (h.begun && known_end && acked.una.before(h.window_end)) {
    return;
  }
  //= rfc9406#4.2
  //# 9406:HSPP-3 the next one ends with the data sent so far
  if (h.begun) {
    h.last_min = h.current_min;
    h.current_min = {};
    h.samples = 0;
  }
  h.begun = true;
  h.window_end = acked.nxt;
  if (!h.conservative) {
    return;
  }
  //= rfc9406#4.2
  //# 9406:HSPP-7 after five rounds, of which the first may be partial: congestion avoidance
  ++h.rounds;
  if (h.rounds >= css_rounds) {
    s.v.ssthresh = s.v.cwnd;
  }
}

void grow(Subject& s, const Acked& acked) {
  //= rfc9406#4.3
  //# 9406:HSPP-10 at most eight segments per ACK; no limit if pacing spreads them
  std::uint32_t const most_octets =
      s.config.pacing ? acked.newly.count : growth_limit * s.smss.count;
  //= rfc9406#4.2
  //# 9406:HSPP-4 the octets acknowledged, up to that limit
  std::uint32_t step = std::min(acked.newly.count, most_octets);
  if (s.state.slow.conservative) {
    //= rfc9406#4.2
    //# 9406:HSPP-5 in conservative slow start a quarter of that
    step /= growth_divisor;
  }
  s.v.cwnd = congestion::capped(std::uint64_t{s.v.cwnd.count} + step);
}

}  // namespace

void slow_start(Subject& s, const Acked& acked) {
  //= rfc9406#4.3
  //# 9406:HSPP-11 only while ssthresh has its initial value
  //= rfc9406#4.2
  //# 9406:HSPP-8 so a loss or ECE ends it for good
  if (!s.config.hystart || s.v.ssthresh.count != congestion::cwnd_max) {
    reno::slow_start(s.v, {acked.newly, s.smss, acked.slow_start_most});
    return;
  }
  HyStart& h = s.state.slow;
  process_rtt(h, acked.sample);
  grow(s, acked);
  choose_phase(h);
  end_round(s, acked);
}

}  // namespace lockstep::tcp::hystart
