// A queue of fixed capacity.
#pragma once

#include <cstdint>
#include <vector>

#include "core/units/bytes.hpp"
#include "core/units/check.hpp"

namespace lockstep::load {

template <class T>
class Ring {
 public:
  explicit Ring(Count capacity) : slots_(capacity.value) {}

  bool empty() const { return count_ == 0; }
  bool full() const { return count_ == slots_.size(); }
  std::uint32_t size() const { return count_; }
  void push(T value) {
    CHECK(!full());
    slots_[(first_ + std::uint64_t{count_}) % slots_.size()] = value;
    ++count_;
  }
  const T& front() const {
    CHECK(!empty());
    return slots_[first_];
  }
  T pop() {
    CHECK(!empty());
    T const value = slots_[first_];
    first_ = (first_ + 1) % static_cast<std::uint32_t>(slots_.size());
    --count_;
    return value;
  }

 private:
  std::vector<T> slots_;
  std::uint32_t first_ = 0;
  std::uint32_t count_ = 0;
};

}  // namespace lockstep::load
