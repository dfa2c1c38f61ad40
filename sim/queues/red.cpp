// The average and the probability of RED, with 32 fractional bits.
#include "sim/queues/red.hpp"

#include <algorithm>

namespace lockstep::sim {
namespace {

constexpr std::uint64_t one_32 = std::uint64_t{1} << 32;

Fixed32 fixed(Probability p) { return {(std::uint64_t{p.per_billion} << 32) / 1'000'000'000}; }

// `value` divided by 2^exponent.
Fixed32 halved(Fixed32 value, Fixed32 exponent) {
  std::uint64_t const whole = (exponent.value + one_32 - 1) >> 32;
  if (whole >= 63) {
    return {0};
  }
  return {scaled(value.value, power_of_two({(whole << 32) - exponent.value})) >> whole};
}

}  // namespace

Red::Red(const RedSpec& spec, QueueLimits limits, Random random)
    : spec_(spec), limits_(limits), random_(random) {
  CHECK(spec.min_packets < spec.max_packets);
  CHECK(spec.weight.per_billion != 0);
  CHECK(spec.weight.per_billion < Probability::certain);
  CHECK(spec.packet_time.ns != 0);
  decay_ = {32 * one_32 - log2_of(one_32 - fixed(spec.weight).value).value};
}

void Red::update_average(Instant now) {
  if (ring_.empty()) {
    // As if so many small packets had arrived at an empty queue.
    std::uint64_t const missed = now.since(idle_since_).ns / spec_.packet_time.ns;
    average_ = halved(average_, {scaled(std::min<std::uint64_t>(missed, one_32), decay_) >= 64
                                     ? 64 * one_32
                                     : missed * decay_.value});
    idle_since_ = now;
    return;
  }
  std::uint64_t const length = std::uint64_t{ring_.size()} << 32;
  Fixed32 const weight = fixed(spec_.weight);
  average_.value = length >= average_.value
                       ? average_.value + scaled(length - average_.value, weight)
                       : average_.value - scaled(average_.value - length, weight);
}

// p_b: grows from 0 to max_p between the thresholds, and to 1 beyond if RED is gentle.
std::uint64_t Red::base_probability() const {
  std::uint64_t const low = std::uint64_t{spec_.min_packets} << 32;
  std::uint64_t const high = std::uint64_t{spec_.max_packets} << 32;
  std::uint64_t const most = fixed(spec_.most).value;
  if (average_.value < high) {
    return scaled((average_.value - low) / (spec_.max_packets - spec_.min_packets), {most});
  }
  return most + scaled((average_.value - high) / spec_.max_packets, {one_32 - most});
}

Red::Judgement Red::judge() {
  std::uint64_t const low = std::uint64_t{spec_.min_packets} << 32;
  std::uint64_t const high = std::uint64_t{spec_.max_packets} << 32;
  if (average_.value < low) {
    since_ = -1;
    return Judgement::keep;
  }
  if (average_.value >= high * (spec_.gentle ? 2 : 1)) {
    since_ = 0;
    return Judgement::forced;
  }
  ++since_;
  // p_a = p_b / (1 - count p_b): the packets between two drops are uniformly distributed.
  std::uint64_t const base = base_probability();
  std::uint64_t const spent = scaled(base, {static_cast<std::uint64_t>(since_) << 32});
  bool const certain = spent >= one_32 || base >= one_32 - spent;
  std::uint64_t const rest = certain ? 1 : one_32 - spent;
  bool const hit = base != 0 && (certain || random_.below(rest) < base);
  if (hit) {
    since_ = 0;
  }
  return hit ? Judgement::early : Judgement::keep;
}

void Red::enqueue(Instant now, Packet packet, LostPackets& lost) {
  packet.entered = now;
  update_average(now);
  Judgement const judgement = judge();
  if (ring_.is_full_for(packet, limits_)) {
    since_ = 0;
    lost.push_back({packet, LinkDrop::queue_full});
    return;
  }
  if (judgement == Judgement::early && spec_.ecn && packet.ect) {
    packet.marked = true;
  } else if (judgement != Judgement::keep) {
    lost.push_back({packet, LinkDrop::early_dropped});
    return;
  }
  ring_.push(packet);
}

bool Red::dequeue(Instant now, Packet& out, LostPackets&) {
  if (ring_.empty()) {
    return false;
  }
  out = ring_.pop();
  if (ring_.empty()) {
    idle_since_ = now;
  }
  return true;
}

}  // namespace lockstep::sim
