// CUBIC (RFC 9438) in integers: cwnd follows a cubic function of the time since the last loss.
#pragma once

#include "core/tcp/congestion/controller.hpp"

namespace lockstep::tcp::cubic {

// Functions of Controller.
void on_ack(congestion::Subject& s, const congestion::Acked& acked);
Bytes reduced(congestion::Subject& s, Bytes flight, congestion::Signal signal);

// W_max and cwnd_prior; zero: none yet.
Bytes w_max_of(const CongestionVariables& v);
Bytes cwnd_prior_of(const CongestionVariables& v);

// The largest integer whose cube is at most `x`.
std::uint32_t cube_root(std::uint64_t x);

// Time in units of 1/4096 s, saturating above 2^49.
constexpr std::uint64_t units_of(Duration time) {
  constexpr std::uint64_t longest = std::uint64_t{1} << 50;
  return (time.ns < longest ? time.ns : longest) * 4096 / 1'000'000'000;
}

// K: the time in which the cubic function rises by `rise`, in units.
std::uint32_t k_of(Bytes rise, Bytes smss);

// W_cubic(t) = C * (t - K)^3 + W_max with C = 0.4, exact to an octet within 256 s of K, constant
// beyond. At least one segment.
Bytes window_at(const Cubic& q, Duration t, Bytes smss);

}  // namespace lockstep::tcp::cubic
