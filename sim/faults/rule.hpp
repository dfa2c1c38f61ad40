// A fault rule of a lane: when it is active, what it does, and its own random stream.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <variant>

#include "core/units/random.hpp"
#include "sim/faults/burst_loss.hpp"
#include "sim/faults/corrupt.hpp"
#include "sim/faults/delay.hpp"
#include "sim/faults/duplicate.hpp"
#include "sim/faults/loss.hpp"
#include "sim/faults/mask.hpp"
#include "sim/faults/partition.hpp"
#include "sim/faults/reorder.hpp"
#include "sim/faults/ring_full.hpp"
#include "sim/faults/stall.hpp"
#include "sim/faults/substitute.hpp"
#include "sim/faults/verdict.hpp"

namespace lockstep::sim {

// In the order of FaultKind.
using LaneFault =
    std::variant<Loss, BurstLoss, Mask, Duplicate, Reorder, Corrupt, Substitute, Delay, Partition>;
using HostFault = std::variant<RingFull, Stall>;

enum class FaultKind : std::uint8_t {
  loss,
  burst_loss,
  mask,
  duplicate,
  reorder,
  corrupt,
  substitute,
  delay,
  partition,
  ring_full,
  stall,
};

inline constexpr std::uint32_t fault_kind_count = 11;
static_assert(std::variant_size_v<LaneFault> + std::variant_size_v<HostFault> == fault_kind_count);

constexpr std::string_view name_of(FaultKind kind) {
  constexpr std::array<std::string_view, fault_kind_count> names{
      "loss",       "burst_loss", "mask",      "duplicate", "reorder", "corrupt",
      "substitute", "delay",      "partition", "ring_full", "stall"};
  return names[static_cast<std::uint32_t>(kind)];
}

constexpr FaultKind kind_of(const LaneFault& fault) {
  return static_cast<FaultKind>(fault.index());
}
constexpr FaultKind kind_of(const HostFault& fault) {
  return static_cast<FaultKind>(std::variant_size_v<LaneFault> + fault.index());
}

// One rule on one lane. A plain value: a copy is a snapshot.
class Rule {
 public:
  Rule(const LaneFault& fault, const Active& active, Random random)
      : fault_(fault), active_(active), random_(random) {}

  Verdict judge(const Passing& passing) {
    if (!active_.at(passing.at)) {
      return Verdict::pass();
    }
    Verdict const verdict =
        std::visit([&](auto& rule) { return rule.judge(passing, random_); }, fault_);
    applied_ += verdict.act == Act::pass ? 0 : 1;
    return verdict;
  }

  FaultKind kind() const { return kind_of(fault_); }
  // The number of frames that it affected.
  std::uint64_t applied() const { return applied_; }

 private:
  LaneFault fault_;
  Active active_;
  Random random_;
  std::uint64_t applied_ = 0;
};

}  // namespace lockstep::sim
