// Round-trip time and the retransmission timeout (RFC 6298), in integers.
#include "core/tcp/rtt.hpp"

#include <algorithm>

namespace lockstep::tcp {
namespace {

// At most an hour is measured, so that 8 times the value still fits.
constexpr std::uint64_t measured_max_ns = Duration::seconds(3600).ns;

Duration bounded(Duration rto, const Config& config) {
  //= rfc6298#2.4
  //# 6298:RTO-4 an RTO below the minimum is raised to it
  //= rfc6298#2.5
  //# 6298:RTO-5 and one above the maximum lowered to it
  return std::min(std::max(rto, config.rto_min), config.rto_max);
}

struct Smoothed {
  std::uint64_t srtt8_ns;
  std::uint64_t rttvar4_ns;
};

// With several samples per round trip, alpha and beta are divided by their number. Separate from
// the common case because of register use.
//= rfc7323#4.2
//# 7323:TS-40 as appendix G suggests
[[gnu::noinline]] Smoothed with_share(Smoothed was, std::uint64_t r, std::uint32_t samples) {
  std::uint64_t const srtt = was.srtt8_ns / 8;
  std::uint64_t const deviation = srtt > r ? srtt - r : r - srtt;
  std::uint64_t const variance = was.rttvar4_ns / 4;
  was.rttvar4_ns = deviation > variance ? was.rttvar4_ns + (deviation - variance) / samples
                                        : was.rttvar4_ns - (variance - deviation) / samples;
  was.srtt8_ns =
      r > srtt ? was.srtt8_ns + (r - srtt) / samples : was.srtt8_ns - (srtt - r) / samples;
  return was;
}

void settle_on(RttVariables& rtt, const Smoothed& s, const Config& config) {
  rtt.set_srtt8_ns(s.srtt8_ns);
  rtt.set_rttvar4_ns(s.rttvar4_ns);
  //= rfc6298#4
  //# 6298:RTO-8 the clock granularity replaces a variance of zero
  std::uint64_t const least = config.rto_min_added ? config.rto_min.ns : config.rto_granularity.ns;
  std::uint64_t const variance = std::max(s.rttvar4_ns, least);
  rtt.set_rto(bounded(Duration{s.srtt8_ns / 8 + variance}, config));
}

}  // namespace

//= rfc9293#3.8.1
//# 9293:MUST-18 the RTO follows RFC 6298
void add_rtt_sample(RttVariables& rtt, Duration measured, const Config& config, Count samples) {
  std::uint64_t const r = std::min(measured.ns, measured_max_ns);
  Smoothed s{rtt.srtt8_ns(), rtt.rttvar4_ns()};
  if (!rtt.sampled()) {
    //= rfc6298#2.2
    //# 6298:RTO-2 first sample: SRTT = R, RTTVAR = R / 2
    s = {r * 8, r * 2};
  } else if (samples.value > 1) {
    s = with_share(s, r, samples.value);
  } else {
    //= rfc6298#2.3
    //# 6298:RTO-3, 6298:RTO-18 first RTTVAR by 1/4 of the deviation, then SRTT by 1/8
    std::uint64_t const srtt = s.srtt8_ns / 8;
    std::uint64_t const deviation = srtt > r ? srtt - r : r - srtt;
    s.rttvar4_ns = s.rttvar4_ns - s.rttvar4_ns / 4 + deviation;
    s.srtt8_ns = s.srtt8_ns - srtt + r;
  }
  rtt.set_sampled();
  //= rfc6298#5
  //# 6298:RTO-21 a new sample ends the back-off
  //= rfc9293#3.8.2
  //# 9293:P-RTO-KEEP only such a sample does
  settle_on(rtt, s, config);
}

//= rfc4015#3.1
//# 4015:EIFR-6 SRTT is the larger of SRTT_prev and R, RTTVAR of RTTVAR_prev and R / 2
void set_aside(RttVariables& rtt, const RttBefore& before) {
  rtt.set_srtt8_ns(std::min(before.srtt8_ns, measured_max_ns * 8));
  rtt.set_rttvar4_ns(before.rttvar4_ns);
}

void restart_estimate(RttVariables& rtt, const RttBefore& before, Duration measured,
                      const Config& config) {
  std::uint64_t const r = std::min(measured.ns, measured_max_ns);
  std::uint64_t const former = std::min(before.srtt8_ns, measured_max_ns * 8);
  settle_on(rtt, {std::max(former, r * 8), std::max(before.rttvar4_ns, r * 2)}, config);
}

//= rfc6298#1
//# 6298:RTO-24 never a shorter RTO than these rules give
void back_off(RttVariables& rtt, const Config& config) {
  //= rfc6298#5.5
  //# 6298:RTO-14 the RTO doubles on expiry
  //= rfc6298#2.1
  //# 6298:RTO-20 also the first one, before any sample
  rtt.set_rto(std::min(rtt.rto() * 2, config.rto_max));
}

void begin_data(RttVariables& rtt, bool syn_lost, const Config& config) {
  //= rfc6298#5.7
  //# 6298:RTO-16 after a lost SYN data starts with three seconds, even with a timestamp sample
  if (syn_lost) {
    rtt.set_rto(bounded(config.rto_after_syn_loss, config));
  }
}

Duration srtt_of(const RttVariables& rtt) { return {rtt.srtt8_ns() / 8}; }

Duration rttvar_of(const RttVariables& rtt) { return {rtt.rttvar4_ns() / 4}; }

}  // namespace lockstep::tcp
