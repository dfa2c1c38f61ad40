// The controller of PIE: RFC 8033 appendix A.
#include "sim/queues/pie.hpp"

#include <algorithm>
#include <array>

#include "sim/draws/fixed_point.hpp"

namespace lockstep::sim {
namespace {

// alpha and beta, per second, as factors from nanoseconds to a probability with 48 fractional bits:
// 2^80 / 8 / 10^9 and 2^80 * 1.25 / 10^9.
constexpr Fixed32 alpha{151'115'727'451'829};
constexpr Fixed32 beta{1'511'157'274'518'287};

// Below each probability the change is divided by that power of two.
struct Step {
  std::uint64_t below;
  std::uint32_t shift;
};
constexpr std::array<Step, 6> steps{{{Pie::certain / 1'000'000, 11},
                                     {Pie::certain / 100'000, 9},
                                     {Pie::certain / 10'000, 7},
                                     {Pie::certain / 1'000, 5},
                                     {Pie::certain / 100, 3},
                                     {Pie::certain / 10, 1}}};

// What one difference of delays, positive or negative, adds.
std::int64_t part_of(Duration delay, Duration reference, Fixed32 factor) {  // NOLINT
  constexpr std::uint64_t most = std::uint64_t{1} << 60;
  std::uint64_t const more = scaled((delay - reference).ns, factor);
  std::uint64_t const less = scaled((reference - delay).ns, factor);
  return static_cast<std::int64_t>(std::min(more, most)) -
         static_cast<std::int64_t>(std::min(less, most));
}

}  // namespace

Pie::Pie(const PieSpec& spec, QueueLimits limits, Random random)
    : spec_(spec), limits_(limits), random_(random), burst_left_(spec.burst) {
  CHECK(spec.update.ns != 0);
}

void Pie::update() {
  std::int64_t change = part_of(delay_, spec_.target, alpha) + part_of(delay_, delay_old_, beta);
  for (const Step& step : steps) {
    if (probability_ < step.below) {
      change /= std::int64_t{1} << step.shift;
      break;
    }
  }
  std::int64_t next = static_cast<std::int64_t>(probability_) + change;
  if (delay_.ns == 0 && delay_old_.ns == 0) {
    next = next / 100 * 98;
  }
  constexpr auto most = static_cast<std::int64_t>(certain);
  probability_ = static_cast<std::uint64_t>(std::clamp<std::int64_t>(next, 0, most));
  delay_old_ = delay_;
  burst_left_ = burst_left_ - spec_.update;
}

void Pie::catch_up(Instant now) {
  while (now.since(updated_) >= spec_.update) {
    if (ring_.empty()) {
      delay_ = {};
    }
    // Nothing changes any more until a packet arrives.
    if (probability_ == 0 && delay_.ns == 0 && delay_old_.ns == 0 && burst_left_.ns == 0) {
      updated_ = updated_ + spec_.update * (now.since(updated_).ns / spec_.update.ns);
      return;
    }
    update();
    updated_ = updated_ + spec_.update;
  }
}

bool Pie::drops_early() {
  bool const calm = delay_old_ < spec_.target / 2 && probability_ < certain / 5;
  if (calm || ring_.bytes() <= std::uint64_t{2} * spec_.packet_bytes) {
    return false;
  }
  return random_.below(certain) < probability_;
}

void Pie::enqueue(Instant now, Packet packet, LostPackets& lost) {
  packet.entered = now;
  catch_up(now);
  Duration const half = spec_.target / 2;
  if (probability_ == 0 && delay_ < half && delay_old_ < half) {
    burst_left_ = spec_.burst;
  }
  if (ring_.is_full_for(packet, limits_)) {
    lost.push_back({packet, LinkDrop::queue_full});
    return;
  }
  if (burst_left_.ns == 0 && drops_early()) {
    std::uint64_t const limit =
        scaled(certain, {(std::uint64_t{spec_.mark_up_to.per_billion} << 32) / 1'000'000'000});
    if (!spec_.ecn || !packet.ect || probability_ >= limit) {
      lost.push_back({packet, LinkDrop::early_dropped});
      return;
    }
    packet.marked = true;
  }
  ring_.push(packet);
}

bool Pie::dequeue(Instant now, Packet& out, LostPackets&) {
  catch_up(now);
  if (ring_.empty()) {
    return false;
  }
  out = ring_.pop();
  delay_ = now.since(out.entered);
  return true;
}

}  // namespace lockstep::sim
