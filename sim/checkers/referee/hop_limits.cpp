// Compares a packet with those that passed just before it.
#include "sim/checkers/referee/hop_limits.hpp"

#include <algorithm>

namespace lockstep::sim::referee {
namespace {

constexpr Duration a_moment = Duration::milliseconds(10);
// Where a NIC splits a packet, the identifications of the parts follow one another ...
constexpr std::uint16_t parts_most = 128;
// ... and only some of the parts have these flags: FIN, PSH, CWR.
constexpr std::uint8_t flags_of_some = 0x01 | 0x08 | 0x80;
// Routers on one machine.
constexpr std::uint8_t routers_most = 2;

// Whether `later` may be `packet`, or a part of it, as another interface sent or received it.
bool is_same(const Passed& packet, const Passed& later) {
  std::int32_t const length = packet.end.distance_from(packet.begin);
  std::int32_t const at = later.begin.distance_from(packet.begin);
  std::int32_t const end = later.end.distance_from(packet.begin);
  auto const hops = static_cast<std::uint8_t>(std::max(packet.hop_limit, later.hop_limit) -
                                              std::min(packet.hop_limit, later.hop_limit));
  auto const part = static_cast<std::uint16_t>(later.identification - packet.identification);
  return later.at.since(packet.at) <= a_moment && 0 <= at && at <= end && end <= length &&
         packet.acknowledgment == later.acknowledgment && packet.window == later.window &&
         ((packet.flags ^ later.flags) & ~flags_of_some) == 0 && part <= parts_most &&
         hops <= routers_most;
}

}  // namespace

bool HopLimits::repeats(const Passed& packet) const {
  return std::any_of(recent_.begin(), recent_.begin() + std::min(count_, kept),
                     [&](const Passed& earlier) { return is_same(earlier, packet); });
}

void HopLimits::take(const Passed& packet) {
  if (repeats(packet)) {
    return;
  }
  differ_ = differ_ || (first_ != 0 && first_ != packet.hop_limit);
  first_ = first_ == 0 ? packet.hop_limit : first_;
  recent_[count_++ % kept] = packet;
}

}  // namespace lockstep::sim::referee
