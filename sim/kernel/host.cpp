// Creates a host, and computes when its faults end.
#include "sim/kernel/host.hpp"

#include <new>

namespace lockstep::sim {
namespace {

constexpr std::align_val_t arena_alignment{64};

}  // namespace

ArenaMemory::ArenaMemory(std::uint64_t bytes)
    : memory_(static_cast<std::byte*>(
          ::operator new(static_cast<std::size_t>(bytes), arena_alignment))),
      bytes_(bytes) {}

ArenaMemory::~ArenaMemory() { ::operator delete(memory_, arena_alignment); }

Host::Host(const HostSpec& spec, HostIndex index)
    : spec_(spec), index_(index), clock_(spec.clock), arena_(Stack::arena_bytes(spec.config)) {
  stack_.emplace(spec.config, arena_.span());
}

void Host::bind(const Pattern& pattern) {
  if (spec_.config.regions_max.value > pattern_region.value) {
    stack_->bind(pattern_region, pattern.memory());
    region_bound_ = true;
  }
}

// Rules may be active one directly after another: the loop is bounded by their number.
template <class Fault>
Instant Host::over(Instant now) const {
  Instant at = now;
  for (std::size_t round = 0; round <= rules_.size(); ++round) {
    bool held = false;
    for (const HostRule& rule : rules_) {
      if (std::holds_alternative<Fault>(rule.fault) && rule.active.at(at)) {
        at = rule.active.end_after(at);
        held = true;
      }
    }
    if (!held) {
      break;
    }
  }
  return at;
}

bool Host::ring_full(Instant now) const { return !rules_.empty() && over<RingFull>(now) != now; }

Instant Host::ring_full_until(Instant now) const { return over<RingFull>(now); }

Instant Host::stalled_until(Instant now) const { return rules_.empty() ? now : over<Stall>(now); }

}  // namespace lockstep::sim
