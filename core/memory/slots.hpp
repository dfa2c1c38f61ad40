// A fixed pool of equal objects, taken and given by index; last given, first taken.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "core/memory/arena.hpp"

namespace lockstep::memory {

// The state of a pool, in the arena.
struct SlotsState {
  Index free_head = nil;
  // Slots from here on were never taken and their memory never touched. A fresh slot is only taken
  // if no free one is left, so this is also the highest number ever in use at once.
  std::uint32_t fresh = 0;
  std::uint32_t used = 0;
};

// A type with a generation, which is odd while the object is in use, and with storage for the index
// of the next free one while it is not.
template <class T>
concept HasGeneration = requires(T& thing) {
  { thing.generation } -> std::same_as<std::uint32_t&>;
  { T::next_free(thing) } -> std::same_as<Index&>;
};

// A handle on the pool. Every function is O(1) and takes a few instructions; slots never taken are
// not touched, so even a large pool starts instantly. The pool keeps one index per object: inside
// objects that have a generation, otherwise beside them. The generation counts how often a slot was
// taken and given.
template <class T>
class Slots {
  static_assert(std::is_trivially_copyable_v<T>);
  static constexpr bool inside = HasGeneration<T>;

 public:
  Slots() = default;

  // Allocates the pool in `layout`; call start() before the first use.
  static Slots lay_out(Layout& layout, Count capacity) {
    CHECK(capacity.value < in_use);
    Slots slots;
    slots.state_ = layout.place<SlotsState>(Count{1}).data();
    if constexpr (!inside) {
      slots.next_ = layout.place<Index>(capacity);
    }
    slots.items_ = layout.place<T>(capacity);
    return slots;
  }

  // Makes every slot free and fresh.
  void start() { *state_ = SlotsState{}; }

  // A free slot, or nil. On first use it is T{}; later it holds what its last user left.
  Index take() {
    Index const index = state_->free_head;
    if (index == nil) [[unlikely]] {
      return alloc_fresh();
    }
    state_->free_head = next(index);
    mark(index);
    ++state_->used;
    return index;
  }

  // Returns a slot, which must be in use; its content is not changed.
  void give(Index index) {
    CHECK(taken(index));
    if constexpr (inside) {
      ++items_.data()[index].generation;
    }
    next(index) = state_->free_head;
    state_->free_head = index;
    --state_->used;
  }

  // Valid for slots that were taken at least once.
  T& operator[](Index index) const { return items_[index]; }
  View<T> view() const { return items_; }

  // The slot if it is in use; null for an index that is free, fresh or out of range.
  T* find(Index index) const { return taken(index) ? items_.data() + index : nullptr; }

  // False for an index that is free, fresh or out of range.
  bool taken(Index index) const {
    if constexpr (inside) {
      return index < state_->fresh && (items_.data()[index].generation & 1) != 0;
    } else {
      return index < state_->fresh && next_.data()[index] == in_use;
    }
  }

  std::uint32_t capacity() const { return items_.count(); }
  std::uint32_t used() const { return state_->used; }
  std::uint32_t available() const { return capacity() - used(); }
  // The most that were ever in use at once; slots from here on were never touched.
  std::uint32_t high_water() const { return state_->fresh; }

 private:
  // Value in `next_` of a slot in use.
  static constexpr Index in_use = nil - 1;

  Index& next(Index index) const {
    if constexpr (inside) {
      return T::next_free(items_.data()[index]);
    } else {
      return next_.data()[index];
    }
  }
  // Marks a slot as in use.
  void mark(Index index) {
    if constexpr (inside) {
      ++items_.data()[index].generation;
    } else {
      next_.data()[index] = in_use;
    }
  }

  Index alloc_fresh() {
    if (state_->fresh == capacity()) {
      return nil;
    }
    Index const index = state_->fresh;
    ++state_->fresh;
    ++state_->used;
    items_.data()[index] = T{};
    mark(index);
    return index;
  }

  SlotsState* state_ = nullptr;
  View<Index> next_;  // only if not `inside`
  View<T> items_;
};

}  // namespace lockstep::memory
