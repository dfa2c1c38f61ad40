// Taking timers out of the wheel, and moving them down its levels.
#include "core/memory/timer_wheel.hpp"

namespace lockstep::memory {

Index TimerWheel::find_due(Instant now) {
  // Each round returns or moves the earliest timers to a lower level.
  for (std::uint32_t round = 0;; ++round) {
    CHECK(round <= WheelState::levels);
    if (state_->any_overdue) [[unlikely]] {
      Index const node = slots_[WheelState::overdue].first;
      if (nodes_[node].due_ns > now.ns) {
        return nil;
      }
      cancel(node);
      return node;
    }
    if (state_->level_bits == 0) {
      state_->reached_ns = now.ns;
      return nil;
    }
    std::uint32_t const place = front();
    if (slots_[place].earliest_ns > now.ns) {
      reach(now, place);
      return nil;
    }
    std::uint64_t const earliest_ns = slots_[place].earliest_ns;
    if (place < WheelState::slots_per_level) {
      Index const node = slots_[place].first;
      state_->reached_ns = earliest_ns;
      cancel(node);
      return node;
    }
    cascade(place);
  }
}

// Moves the timers of the earliest slot to lower levels, which are empty, keeping their order.
[[gnu::cold]] void TimerWheel::cascade(std::uint32_t place) {
  Index node = slots_[place].first;
  state_->reached_ns = slots_[place].earliest_ns;
  mark_empty(place);
  while (node != nil) {
    Index const next = nodes_[node].next;
    link(node);
    CHECK(places_[node] < place);
    node = next;
  }
}

// Sorted by (due, insertion), searched from the end: a timer set for the past is rarely far back.
[[gnu::cold]] void TimerWheel::link_overdue(Index node) {
  TimerNode& own = nodes_[node];
  WheelState::Slot& list = slots_[WheelState::overdue];
  places_[node] = WheelState::overdue;
  if (!state_->any_overdue) {
    state_->any_overdue = true;
    list = {0, nil, nil};
  }
  Index before = list.last;
  while (before != nil && nodes_[before].due_ns > own.due_ns) {
    before = nodes_[before].previous;
  }
  own.previous = before;
  own.next = before == nil ? list.first : nodes_[before].next;
  (own.previous == nil ? list.first : nodes_[own.previous].next) = node;
  (own.next == nil ? list.last : nodes_[own.next].previous) = node;
}

bool TimerWheel::slot_sound(std::uint32_t place, std::uint32_t& seen) const {
  Index before = nil;
  Index node = slots_[place].first;
  std::uint64_t latest_ns = 0;
  while (node != nil && seen <= state_->armed) {
    const TimerNode& own = nodes_[node];
    bool const is_overdue = place == WheelState::overdue;
    if (places_[node] != place || own.previous != before) {
      return false;
    }
    if (is_overdue ? own.due_ns >= state_->reached_ns || own.due_ns < latest_ns
                   : own.due_ns < slots_[place].earliest_ns || place_of(own.due_ns) != place) {
      return false;
    }
    latest_ns = own.due_ns;
    ++seen;
    before = node;
    node = own.next;
  }
  return before != nil && slots_[place].last == before;
}

bool TimerWheel::sound() const {
  std::uint32_t seen = 0;
  for (std::uint32_t place = 0; place < WheelState::overdue; ++place) {
    std::uint32_t const level = place / WheelState::slots_per_level;
    std::uint64_t const bits = state_->slot_bits[level];
    if ((bits != 0) != ((state_->level_bits >> level & 1) != 0)) {
      return false;
    }
    if ((bits >> (place % WheelState::slots_per_level) & 1) != 0 && !slot_sound(place, seen)) {
      return false;
    }
  }
  if (state_->any_overdue && !slot_sound(WheelState::overdue, seen)) {
    return false;
  }
  return seen == state_->armed;
}

}  // namespace lockstep::memory
