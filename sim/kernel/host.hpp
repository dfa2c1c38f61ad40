// A simulated host: a Stack in its arena, a port with two rings, a clock, and applications.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/stack/stack.hpp"
#include "sim/bus/bus.hpp"
#include "sim/clock/host_clock.hpp"
#include "sim/kernel/nic.hpp"
#include "sim/kernel/registry.hpp"
#include "sim/kernel/world.hpp"
#include "sim/models/model.hpp"

namespace lockstep::sim {

// Memory for an arena, aligned as Stack requires.
class ArenaMemory {
 public:
  explicit ArenaMemory(std::uint64_t bytes);
  ~ArenaMemory();
  ArenaMemory(const ArenaMemory&) = delete;
  ArenaMemory& operator=(const ArenaMemory&) = delete;
  std::span<std::byte> span() { return {memory_, static_cast<std::size_t>(bytes_)}; }

 private:
  std::byte* memory_;
  std::uint64_t bytes_;
};

// A fault of one host and when it is active.
struct HostRule {
  Active active;
  HostFault fault;
};

// The part of a host that is a plain value. Times are world time.
struct HostState {
  std::vector<FrameId> received;  // waiting for a turn; those before `taken` are lent to the stack
  std::uint32_t taken = 0;
  std::vector<FrameId> given;  // forwarded by other shards; those before `given_taken` are lent
  std::uint32_t given_taken = 0;
  bool given_next = false;              // where a burst is one frame: the next comes from `given`
  FrameId claimed;                      // buffer for the next frame to send
  Instant timer_at = Instant::never();  // the valid timer entry of the schedule; others are stale
  Instant turn_at = Instant::never();   // a turn is scheduled for then
  Instant last_turn{0};
  bool turned = false;
  bool blocked = false;  // the last turn ended because there was no room to send
  std::uint64_t turns = 0;
  std::uint32_t idle_turns = 0;  // consecutive, at one instant, without progress
  std::uint64_t blocked_turns = 0;
  std::uint64_t stalled_turns = 0;  // turns postponed by a stall
  std::uint64_t frames_sent = 0;
  std::uint64_t frames_received = 0;
  std::uint64_t frames_forwarded = 0;  // belonged to another shard
  std::uint64_t frames_announced = 0;  // copies to other shards of frames that are for all of them
  Routes routes;
  // Frames of the bus that this host holds.
  std::uint64_t frames_held() const {
    return received.size() + given.size() + (claimed == FrameId{} ? 0u : 1u);
  }
};

class Host {
 public:
  Host(const HostSpec& spec, HostIndex index);

  // The stack. Valid as long as the host: arena and stack never move.
  Stack& stack() { return *stack_; }
  const Stack& stack() const { return *stack_; }
  const HostSpec& spec() const { return spec_; }
  const HostClock& clock() const { return clock_; }
  HostIndex index() const { return index_; }
  HostState& state() { return state_; }
  const HostState& state() const { return state_; }
  std::vector<std::unique_ptr<Model>>& models() { return models_; }
  const std::vector<std::unique_ptr<Model>>& models() const { return models_; }

  // nullptr if the host has the plain port.
  Nic* nic() { return nic_.get(); }
  const Nic* nic() const { return nic_.get(); }
  void set_nic(std::unique_ptr<Nic> nic) { nic_ = std::move(nic); }
  // Frames that require a turn.
  std::uint32_t frames_waiting() const {
    std::uint32_t const given = static_cast<std::uint32_t>(state_.given.size());
    return given +
           (nic_ == nullptr ? static_cast<std::uint32_t>(state_.received.size()) : nic_->waiting());
  }

  // The model that receives events of connections that no model owns; by default none does.
  ModelIndex otherwise() const { return otherwise_; }
  void set_otherwise(ModelIndex model) { otherwise_ = model; }

  void bind(const Pattern& pattern);
  bool region_bound() const { return region_bound_; }
  void add(const HostRule& rule) { rules_.push_back(rule); }
  bool ring_full(Instant now) const;
  // When the stall that is active at `now` ends; `now` if none is active.
  Instant stalled_until(Instant now) const;
  // When the ring-full fault that is active at `now` ends; `now` if none is active.
  Instant ring_full_until(Instant now) const;

 private:
  template <class Fault>
  Instant over(Instant now) const;

  HostSpec spec_;
  HostIndex index_;
  HostClock clock_;
  ArenaMemory arena_;
  std::optional<Stack> stack_;
  HostState state_;
  std::unique_ptr<Nic> nic_;
  std::vector<std::unique_ptr<Model>> models_;
  std::vector<HostRule> rules_;
  ModelIndex otherwise_;
  bool region_bound_ = false;
};

}  // namespace lockstep::sim
