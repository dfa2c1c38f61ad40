// Timers: a hierarchical wheel that keeps exact instants and orders them by (due, insertion).
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "core/memory/arena.hpp"
#include "core/units/time.hpp"

namespace lockstep::memory {

// Whom a timer belongs to: it is the timer's number. Who shares out the wheel's capacity knows
// which numbers are whose.
struct TimerOwner {
  std::uint32_t value = 0;
};

// One timer. Which slot of the wheel it hangs in lies in an array of its own, as two octets.
struct TimerNode {
  std::uint64_t due_ns;
  Index previous;
  Index next;
};
static_assert(sizeof(TimerNode) == 16);

// The wheel sees an instant as eleven digits of six bits. A timer hangs at the level of the highest
// digit in which it differs from `reached_ns`, in the slot of that digit. So every timer of a level
// is due before every timer of a higher one, slot 0 of level 0 means one exact instant, and moving
// a timer down (once a level at most) keeps the order in which equal ones were set. A timer that is
// set for an instant before `reached_ns` waits in the overdue list, which is sorted.
struct WheelState {
  static constexpr std::uint32_t levels = 11;
  static constexpr std::uint32_t digit_bits = 6;
  static constexpr std::uint32_t slots_per_level = 1 << digit_bits;
  static constexpr std::uint32_t overdue = levels * slots_per_level;
  static constexpr std::uint16_t unset = 0xffff;  // the place of a timer that hangs nowhere

  struct Slot {
    // Not later than the earliest timer of this list; exactly it unless that one was taken away.
    std::uint64_t earliest_ns;
    Index first;
    Index last;
  };

  // No timer that is not overdue is due before this.
  std::uint64_t reached_ns = 0;
  std::uint32_t armed = 0;
  // Which levels, and which slots of each, have a timer. Lists without one are never read.
  std::uint32_t level_bits = 0;
  bool any_overdue = false;
  std::array<std::uint64_t, levels> slot_bits{};
};

// A handle on the wheel. Costs are O(1) where nothing else is said: no timer costs anything while
// it waits, and a jump of the clock costs the timers that it passes, not the time.
class TimerWheel {
 public:
  TimerWheel() = default;

  // Takes the place for at most `capacity` timers in `layout`; call start() before the first use.
  static TimerWheel lay_out(Layout& layout, Count capacity) {
    TimerWheel wheel;
    wheel.state_ = layout.place<WheelState>(Count{1}).data();
    wheel.slots_ = layout.place<WheelState::Slot>(Count{WheelState::overdue + 1}).data();
    wheel.nodes_ = layout.place<TimerNode>(capacity);
    wheel.places_ = layout.place<std::uint16_t>(capacity);
    return wheel;
  }

  // Forgets all timers: each must be opened anew. The clock begins at the origin; it finds out the
  // time from pop_due.
  void start() { *state_ = WheelState{}; }

  // The owner's timer, not set. It must not be set now; before its first use it must be opened.
  Index open(TimerOwner owner) {
    places_[owner.value] = WheelState::unset;
    return owner.value;
  }

  // Sets the timer, or moves it: it now comes behind all that are due at the same instant. An
  // instant in the past is due at once; `never` is the same as cancel.
  void set(Index node, Instant due) {
    cancel(node);
    if (!due.is_never()) {
      nodes_.data()[node].due_ns = due.ns;  // cancel() has checked the bound
      ++state_->armed;
      link(node);
    }
  }

  // Nothing happens if the timer is not set.
  void cancel(Index node) {
    if (is_set(node)) {
      unlink(node);
      --state_->armed;
    }
  }

  // When pop_due must be called next: never if no timer is set; never late. Exact while the
  // earliest timers stay set, else perhaps early (pop_due then corrects it).
  Instant deadline() const {
    if (state_->any_overdue) [[unlikely]] {
      return {nodes_[slots_[WheelState::overdue].first].due_ns};
    }
    return state_->level_bits == 0 ? Instant::never() : Instant{slots_[front()].earliest_ns};
  }

  // Takes out the timer that is first by (due, insertion), if it is due at or before `now`; nil if
  // there is none. Amortized O(1): a timer moves down at most once a level on its way.
  Index pop_due(Instant now) {
    if (state_->any_overdue) [[unlikely]] {
      return find_due(now);
    }
    if (state_->level_bits == 0) {
      state_->reached_ns = now.ns;
      return nil;
    }
    std::uint32_t const place = front();
    if (slots_[place].earliest_ns > now.ns) [[likely]] {
      reach(now, place);
      return nil;
    }
    return find_due(now);
  }

  bool is_set(Index node) const { return places_[node] != WheelState::unset; }
  // When the timer is due; never if it is not set.
  Instant due(Index node) const {
    return is_set(node) ? Instant{nodes_.data()[node].due_ns} : Instant::never();
  }

  // How many timers are set, and how many there are.
  std::uint32_t size() const { return state_->armed; }
  std::uint32_t capacity() const { return nodes_.count(); }

  // Whether all lists, bits and bounds agree. For tests and checkers: O(timers).
  bool sound() const;

 private:
  // The place of the list that holds the earliest timer. Only when level_bits is not 0.
  std::uint32_t front() const {
    auto const level = static_cast<std::uint32_t>(std::countr_zero(state_->level_bits));
    return level * WheelState::slots_per_level +
           static_cast<std::uint32_t>(std::countr_zero(state_->slot_bits[level]));
  }

  // Where a timer hangs that is due at `due_ns`, which is not before reached_ns.
  std::uint32_t place_of(std::uint64_t due_ns) const {
    auto const highest_bit =
        static_cast<std::uint32_t>(std::bit_width((due_ns ^ state_->reached_ns) | 1)) - 1;
    std::uint32_t const level = highest_bit / WheelState::digit_bits;
    auto const digit = static_cast<std::uint32_t>(due_ns >> (level * WheelState::digit_bits));
    return level * WheelState::slots_per_level + digit % WheelState::slots_per_level;
  }

  void link(Index node) {
    TimerNode& own = nodes_.data()[node];
    if (own.due_ns < state_->reached_ns) [[unlikely]] {
      link_overdue(node);
      return;
    }
    std::uint32_t const place = place_of(own.due_ns);
    std::uint32_t const level = place / WheelState::slots_per_level;
    std::uint64_t const bit = std::uint64_t{1} << (place % WheelState::slots_per_level);
    WheelState::Slot& slot = slots_[place];
    places_.data()[node] = static_cast<std::uint16_t>(place);
    own.next = nil;
    if ((state_->slot_bits[level] & bit) == 0) {
      own.previous = nil;
      slot = {own.due_ns, node, node};
      state_->slot_bits[level] |= bit;
      state_->level_bits |= std::uint32_t{1} << level;
      return;
    }
    own.previous = slot.last;
    nodes_[slot.last].next = node;
    slot.last = node;
    slot.earliest_ns = own.due_ns < slot.earliest_ns ? own.due_ns : slot.earliest_ns;
  }

  void unlink(Index node) {
    TimerNode const& own = nodes_.data()[node];
    std::uint32_t const place = places_.data()[node];
    places_.data()[node] = WheelState::unset;
    WheelState::Slot& slot = slots_[place];
    if (slot.first == slot.last) {
      mark_empty(place);
      return;
    }
    (own.previous == nil ? slot.first : nodes_[own.previous].next) = own.next;
    (own.next == nil ? slot.last : nodes_[own.next].previous) = own.previous;
    if (slot.first == slot.last) {
      slot.earliest_ns = nodes_[slot.first].due_ns;
    }
  }

  void mark_empty(std::uint32_t place) {
    if (place == WheelState::overdue) [[unlikely]] {
      state_->any_overdue = false;
      return;
    }
    std::uint32_t const level = place / WheelState::slots_per_level;
    state_->slot_bits[level] &= ~(std::uint64_t{1} << (place % WheelState::slots_per_level));
    if (state_->slot_bits[level] == 0) {
      state_->level_bits &= ~(std::uint32_t{1} << level);
    }
  }

  void link_overdue(Index node);
  // Nothing is due yet: follows the clock as far as every timer may stay where it hangs, which is
  // up to the first instant of `place`, the earliest slot.
  void reach(Instant now, std::uint32_t place) {
    std::uint32_t const shift = place / WheelState::slots_per_level * WheelState::digit_bits;
    if (now.ns > state_->reached_ns && now.ns >> shift < slots_[place].earliest_ns >> shift) {
      state_->reached_ns = now.ns;
    }
  }
  Index find_due(Instant now);
  void cascade(std::uint32_t place);
  bool slot_sound(std::uint32_t place, std::uint32_t& seen) const;

  WheelState* state_ = nullptr;
  WheelState::Slot* slots_ = nullptr;
  View<TimerNode> nodes_;
  View<std::uint16_t> places_;
};

}  // namespace lockstep::memory
