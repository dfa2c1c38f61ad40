// A bounded first-in first-out ring buffer.
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/memory/arena.hpp"

namespace lockstep::memory {

// The state of a queue, in the arena.
struct QueueState {
  Index first = 0;
  std::uint32_t count = 0;
};

// A handle on the ring. Every function is O(1).
template <class T>
class Queue {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Queue() = default;

  // Allocates the ring in `layout`; call start() before the first use.
  static Queue lay_out(Layout& layout, Count capacity) {
    CHECK(capacity.value <= nil / 2);
    Queue queue;
    queue.state_ = layout.place<QueueState>(Count{1}).data();
    queue.items_ = layout.place<T>(capacity);
    return queue;
  }

  // Empties the ring.
  void start() { *state_ = QueueState{}; }

  bool empty() const { return state_->count == 0; }
  bool full() const { return state_->count == items_.count(); }
  std::uint32_t count() const { return state_->count; }
  std::uint32_t capacity() const { return items_.count(); }

  // Appends; returns false and changes nothing if the ring is full.
  [[nodiscard]] bool push_back(const T& item) {
    if (full()) {
      return false;
    }
    items_[wrapped(state_->first + state_->count)] = item;
    ++state_->count;
    return true;
  }

  // The ring must not be empty. Valid until it is popped.
  T& front() const { return (*this)[0]; }
  // The element `behind` positions behind the front, which must exist.
  T& operator[](std::uint32_t behind) const {
    CHECK(behind < state_->count);
    return items_[wrapped(state_->first + behind)];
  }
  void pop_front() {
    CHECK(!empty());
    state_->first = wrapped(state_->first + 1);
    --state_->count;
  }

 private:
  Index wrapped(Index index) const {
    return index >= items_.count() ? index - items_.count() : index;
  }

  QueueState* state_ = nullptr;
  View<T> items_;
};

}  // namespace lockstep::memory
