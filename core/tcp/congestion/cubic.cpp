// CUBIC (RFC 9438) in integers: cwnd follows a cubic function of the time since the last loss.
#include "core/tcp/congestion/cubic.hpp"

#include <algorithm>

#include "core/tcp/congestion/hystart.hpp"

namespace lockstep::tcp::cubic {
namespace {

using congestion::Acked;
using congestion::capped;
using congestion::Signal;
using congestion::Subject;

// Indices into `kept`, which lasts for the life of the connection.
constexpr std::uint32_t w_max = 0;       // octets; 0: none, the next stage uses its cwnd
constexpr std::uint32_t cwnd_prior = 1;  // octets; 0: none

// A congestion avoidance stage starts with this ACK.
void begin_stage(Subject& s) {
  Cubic& q = s.state.cubic;
  q = {};
  q.running = true;
  q.last = s.now;
  std::uint32_t& plateau = s.v.kept[w_max];
  if (plateau == 0) {
    //= rfc9438#4.8
    //# 9438:CUBIC-11 after a timeout K is 0 and W_max is cwnd at the start of the stage
    //= rfc9438#4.10
    //# 9438:CUBIC-22 also when slow start ended without a loss; cwnd_prior is then cwnd
    plateau = s.v.cwnd.count;
    s.v.kept[cwnd_prior] = std::max(s.v.kept[cwnd_prior], s.v.cwnd.count);
  }
  //= rfc9438#4.2
  //# 9438:CUBIC-19 K is the cube root of (W_max - cwnd_epoch) / C
  // After an idle period cwnd may be above the plateau: continue from cwnd.
  q.origin = most(Bytes{plateau}, s.v.cwnd);
  q.k = k_of(q.origin - s.v.cwnd, s.smss);
  //= rfc9438#4.3
  //# 9438:CUBIC-21, 9438:CUBIC-17 W_est starts at cwnd_epoch, also after a timeout
  q.estimate = std::uint64_t{s.v.cwnd.count} << 16;
  s.v.acked = {};
}

// Advances t, except while the application limited the flight or nothing was in flight.
//= rfc9438#4.2
//# 9438:CUBIC-1 application-limited periods do not count
void advance(Subject& s, const Acked& acked) {
  Cubic& q = s.state.cubic;
  Duration const gap = s.now.since(q.last);
  if (!acked.limited) {
    // After an idle period, the flight of this ACK has lasted about one round trip.
    q.elapsed = q.elapsed + (q.drained ? std::min(gap, acked.srtt) : gap);
  }
  q.last = s.now;
  q.drained = acked.una == acked.nxt;
}

// W_est, the window Reno would have: alpha segments per window.
void estimate(Subject& s, Bytes newly) {
  Cubic& q = s.state.cubic;
  std::uint64_t const whole = (std::uint64_t{newly.count} * s.smss.count << 16) / s.v.cwnd.count;
  //= rfc9438#4.3
  //# 9438:CUBIC-4 alpha is 1 once W_est has reached cwnd_prior
  bool const back = q.estimate >> 16 >= s.v.kept[cwnd_prior];
  //= rfc9438#4.3
  //# 9438:CUBIC-3 before that, 3 * (1 - beta) / (1 + beta) = 9/17
  q.estimate += back ? whole : whole * 9 / 17;
  q.estimate = std::min(q.estimate, std::uint64_t{congestion::cwnd_max} << 16);
}

void avoid(Subject& s, const Acked& acked) {
  Cubic& q = s.state.cubic;
  if (!q.running) {
    begin_stage(s);
  } else {
    advance(s, acked);
  }
  //= rfc9438#5.8
  //# 9438:CUBIC-24 no growth while the application is the limit
  if (acked.limited) {
    return;
  }
  //= rfc9438#4.2
  //# 9438:CUBIC-20 only ACKs of new data increase cwnd
  estimate(s, acked.newly);
  Bytes const friendly = capped(q.estimate >> 16);
  if (window_at(q, q.elapsed, s.smss) < friendly) {
    //= rfc9438#4.3
    //# 9438:CUBIC-3 in the Reno-friendly region cwnd is W_est
    s.v.cwnd = most(s.v.cwnd, friendly);
    s.v.acked = {};
    return;
  }
  //= rfc9438#4.2
  //# 9438:CUBIC-2 the target is W_cubic(t + RTT), between cwnd and 1.5 * cwnd
  Bytes const half_more = capped(std::uint64_t{s.v.cwnd.count} * 3 / 2);
  Bytes const target =
      most(s.v.cwnd, least(half_more, window_at(q, q.elapsed + acked.srtt, s.smss)));
  //= rfc9438#4.4
  //# 9438:CUBIC-5 concave region
  //= rfc9438#4.5
  //# 9438:CUBIC-6 convex region: (target - cwnd) / cwnd per acknowledged octet
  std::uint64_t const share =
      std::uint64_t{(target - s.v.cwnd).count} * least(acked.newly, s.v.cwnd).count +
      s.v.acked.count;
  std::uint32_t const cwnd = s.v.cwnd.count;
  s.v.cwnd = capped(cwnd + share / cwnd);
  s.v.acked = {static_cast<std::uint32_t>(share % cwnd)};
}

}  // namespace

Bytes w_max_of(const CongestionVariables& v) { return {v.kept[w_max]}; }

Bytes cwnd_prior_of(const CongestionVariables& v) { return {v.kept[cwnd_prior]}; }

std::uint32_t cube_root(std::uint64_t x) {
  std::uint64_t root = 0;
  // One bit of the root per step, from the highest; 2642245 is the largest integer whose cube fits
  // 64 bits.
  for (std::uint64_t bit = 1u << 21; bit != 0; bit >>= 1) {
    std::uint64_t const wider = root | bit;
    if (wider <= 2'642'245 && wider * wider * wider <= x) {
      root = wider;
    }
  }
  return static_cast<std::uint32_t>(root);
}

std::uint32_t k_of(Bytes rise, Bytes smss) {
  //= rfc9438#5.1
  //# 9438:CUBIC-14 C is 0.4, so its inverse is 5 / 2
  std::uint64_t const segments = (std::uint64_t{rise.count} * 5 << 16) / (2 * smss.count);
  return cube_root(segments << 20);
}

Bytes window_at(const Cubic& q, Duration t, Bytes smss) {
  constexpr std::uint64_t farthest = std::uint64_t{1} << 20;
  std::uint64_t const at = units_of(t);
  bool const before = at < q.k;
  std::uint64_t const away = std::min(before ? q.k - at : at - q.k, farthest);
  // A cubed unit is 2^-36 cubic seconds.
  std::uint64_t const segments = away * away * away * 2 / 5 >> 20;
  Bytes const rise = capped(segments * smss.count >> 16);
  return before ? most(q.origin - rise, smss) : capped(std::uint64_t{q.origin.count} + rise.count);
}

void on_ack(Subject& s, const Acked& acked) {
  //= rfc9438#4.10
  //# 9438:CUBIC-13 slow start up to ssthresh
  //= rfc9438#4.10
  //# 9438:CUBIC-18 HyStart++ where Config says so
  if (s.v.cwnd < s.v.ssthresh) {
    //= rfc9438#5.8
    //# 9438:CUBIC-24 in slow start cwnd may be half used before it has doubled
    bool const half = s.config.slow_start_below_twice ? s.state.peak.count > s.v.cwnd.count / 2
                                                      : s.state.peak.count >= s.v.cwnd.count / 2;
    if (!acked.limited || half) {
      hystart::slow_start(s, acked);
    }
    return;
  }
  avoid(s, acked);
}

Bytes reduced(Subject& s, Bytes flight, Signal signal) {
  s.state.cubic.running = false;
  s.v.acked = {};
  // In a recovery ended by a timeout cwnd is inflated.
  std::uint32_t const cwnd = s.v.recovering ? least(s.v.cwnd, s.v.ssthresh).count : s.v.cwnd.count;
  std::uint32_t& plateau = s.v.kept[w_max];
  if (signal == Signal::timeout) {
    //= rfc9438#4.8
    //# 9438:CUBIC-11 the next stage gets a new W_max
    plateau = 0;
  } else {
    //= rfc9438#4.7
    //# 9438:CUBIC-10 fast convergence: a W_max below the last one leaves bandwidth for new flows
    plateau = cwnd < plateau ? static_cast<std::uint32_t>(std::uint64_t{cwnd} * 17 / 20) : cwnd;
  }
  s.v.kept[cwnd_prior] = cwnd;
  //= rfc9438#4.6
  //# 9438:CUBIC-15, 9438:CUBIC-16 seven tenths of the flight
  //# 9438:CUBIC-7 at once, whichever recovery follows
  //# 9438:CUBIC-8 of the flight size, so that unused cwnd gives no advantage
  return {static_cast<std::uint32_t>(std::uint64_t{flight.count} * 7 / 10)};
}

}  // namespace lockstep::tcp::cubic
