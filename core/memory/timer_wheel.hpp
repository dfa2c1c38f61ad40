// Timers: a hierarchical wheel with exact instants, ordered by (due, insertion).
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "core/memory/arena.hpp"
#include "core/units/time.hpp"

namespace lockstep::memory {

// The owner of a timer, which is the timer's number. The code that divides the wheel's capacity
// assigns the numbers.
struct TimerOwner {
  std::uint32_t value = 0;
};

// One timer. Its slot in the wheel is stored in a separate array, in two octets.
struct TimerNode {
  std::uint64_t due_ns;
  Index previous;
  Index next;
};
static_assert(sizeof(TimerNode) == 16);

// The wheel treats an instant as eleven digits of six bits. A timer is placed at the level of the
// highest digit in which it differs from `reached_ns`, in the slot of that digit. So every timer of
// a level is due before those of higher levels, slot 0 of level 0 is one exact instant, and moving
// a timer down (at most once per level) keeps the order of equal ones. A timer set for an instant
// before `reached_ns` goes into the overdue list, which is sorted.
struct WheelState {
  static constexpr std::uint32_t levels = 11;
  static constexpr std::uint32_t digit_bits = 6;
  static constexpr std::uint32_t slots_per_level = 1 << digit_bits;
  static constexpr std::uint32_t overdue = levels * slots_per_level;
  static constexpr std::uint16_t unset = 0xffff;  // the place of a timer that is not set

  struct Slot {
    // Not later than the earliest timer of this list; exact unless that one was cancelled.
    std::uint64_t earliest_ns;
    Index first;
    Index last;
  };

  // No timer outside the overdue list is due before this.
  std::uint64_t reached_ns = 0;
  std::uint32_t armed = 0;
  // Which levels, and which slots of each, have timers. Lists without timers are never read.
  std::uint32_t level_bits = 0;
  bool any_overdue = false;
  std::array<std::uint64_t, levels> slot_bits{};
};

// A handle on the wheel. Functions are O(1) unless noted: a waiting timer costs nothing, and the
// cost of a clock jump depends on the timers passed, not on the time.
class TimerWheel {
 public:
  TimerWheel() = default;

  // Allocates at most `capacity` timers in `layout`; call start() before the first use.
  static TimerWheel lay_out(Layout& layout, Count capacity) {
    TimerWheel wheel;
    wheel.state_ = layout.place<WheelState>(Count{1}).data();
    wheel.slots_ = layout.place<WheelState::Slot>(Count{WheelState::overdue + 1}).data();
    wheel.nodes_ = layout.place<TimerNode>(capacity);
    wheel.places_ = layout.place<std::uint16_t>(capacity);
    return wheel;
  }

  // Discards all timers: each must be opened again. The clock starts at the origin and follows
  // pop_due().
  void start() { *state_ = WheelState{}; }

  // The owner's timer, not set. Call it before the first use, and not while the timer is set.
  Index open(TimerOwner owner) {
    places_[owner.value] = WheelState::unset;
    return owner.value;
  }

  // Sets or moves the timer, behind all timers that are due at the same instant. An instant in the
  // past is due at once; `never` cancels.
  void set(Index node, Instant due) {
    cancel(node);
    if (!due.is_never()) {
      nodes_.data()[node].due_ns = due.ns;  // cancel() has checked the bound
      ++state_->armed;
      link(node);
    }
  }

  // No effect if the timer is not set.
  void cancel(Index node) {
    if (is_set(node)) {
      unlink(node);
      --state_->armed;
    }
  }

  // When pop_due() must be called next: never if no timer is set; never too late. Exact unless the
  // earliest timers were cancelled, then perhaps too early (pop_due() corrects it).
  Instant deadline() const {
    if (state_->any_overdue) [[unlikely]] {
      return {nodes_[slots_[WheelState::overdue].first].due_ns};
    }
    return state_->level_bits == 0 ? Instant::never() : Instant{slots_[front()].earliest_ns};
  }

  // Removes and returns the timer that is first by (due, insertion) if it is due by `now`; nil if
  // there is none. Amortized O(1): a timer moves down at most once per level.
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

  // How many timers are set, and the capacity.
  std::uint32_t size() const { return state_->armed; }
  std::uint32_t capacity() const { return nodes_.count(); }

  // Whether all lists, bits and bounds are consistent. For tests and checks: O(timers).
  bool sound() const;

 private:
  // The place of the list with the earliest timer. Only if level_bits is not 0.
  std::uint32_t front() const {
    auto const level = static_cast<std::uint32_t>(std::countr_zero(state_->level_bits));
    return level * WheelState::slots_per_level +
           static_cast<std::uint32_t>(std::countr_zero(state_->slot_bits[level]));
  }

  // The place for a timer due at `due_ns`, which is not before reached_ns.
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
  // Nothing is due yet: advances `reached_ns` as far as no timer has to move, up to the first
  // instant of `place`, the earliest slot.
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
