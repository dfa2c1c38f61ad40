// A fixed pool of equal things, taken and given back by index, last given first taken.
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/memory/arena.hpp"

namespace lockstep::memory {

// The state of a pool, in the arena.
struct SlotsState {
  Index free_head = nil;
  // Slots from here on were never taken and their memory was never touched. As a fresh slot is
  // taken only when none was given back, this is also the most that were ever taken at once.
  std::uint32_t fresh = 0;
  std::uint32_t used = 0;
};

// A handle on the pool. Everything costs O(1) and a few instructions; nothing touches slots that
// were never taken, so a pool of 100,000s is there at once.
template <class T>
class Slots {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Slots() = default;

  // Takes the pool's place in `layout`; call start() before the first use.
  static Slots lay_out(Layout& layout, Count capacity) {
    CHECK(capacity.value < in_use);
    Slots slots;
    slots.state_ = layout.place<SlotsState>(Count{1}).data();
    slots.next_ = layout.place<Index>(capacity);
    slots.items_ = layout.place<T>(capacity);
    return slots;
  }

  // Makes every slot free and fresh.
  void start() { *state_ = SlotsState{}; }

  // A free slot, or nil. On its first use a slot is T{}; afterwards it holds what its last user
  // left (a generation, say).
  Index take() {
    Index const index = state_->free_head;
    if (index == nil) [[unlikely]] {
      return take_fresh();
    }
    state_->free_head = next_.data()[index];
    next_.data()[index] = in_use;
    ++state_->used;
    return index;
  }

  // The slot must be in use; its content stays as it is.
  void give(Index index) {
    CHECK(taken(index));
    next_.data()[index] = state_->free_head;
    state_->free_head = index;
    --state_->used;
  }

  // Valid for slots that were taken at least once.
  T& operator[](Index index) const { return items_[index]; }
  View<T> view() const { return items_; }

  // The slot, if it is in use; null for any index that is free, fresh or beyond the pool.
  T* find(Index index) const { return taken(index) ? items_.data() + index : nullptr; }

  // False for any index that is free, fresh or beyond the pool.
  bool taken(Index index) const { return index < state_->fresh && next_.data()[index] == in_use; }

  std::uint32_t capacity() const { return items_.count(); }
  std::uint32_t used() const { return state_->used; }
  std::uint32_t available() const { return capacity() - used(); }
  // The most that were ever in use at once; slots from here on were never touched.
  std::uint32_t high_water() const { return state_->fresh; }

 private:
  // In the `next_` of a slot that somebody holds.
  static constexpr Index in_use = nil - 1;

  Index take_fresh() {
    if (state_->fresh == capacity()) {
      return nil;
    }
    Index const index = state_->fresh;
    ++state_->fresh;
    ++state_->used;
    items_.data()[index] = T{};
    next_.data()[index] = in_use;
    return index;
  }

  SlotsState* state_ = nullptr;
  View<Index> next_;
  View<T> items_;
};

}  // namespace lockstep::memory
