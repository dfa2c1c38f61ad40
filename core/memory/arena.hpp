// The arena: one block of memory in which everything of a stack lives, linked by indices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "core/units/bytes.hpp"
#include "core/units/check.hpp"

namespace lockstep::memory {

// A place in an array of the arena. Stored in place of pointers, so that a copy of the arena works.
using Index = std::uint32_t;
inline constexpr Index nil = 0xffff'ffff;

// The arena's first byte must be a multiple of this; every array in it begins at a multiple too.
inline constexpr std::uint32_t arena_alignment = 64;

// An array inside an arena: a transient handle, held outside of the arena and never stored in it.
// It is as good as the arena is, and const means that the handle is constant, not the elements.
template <class T>
class View {
 public:
  constexpr View() = default;
  constexpr View(T* base, Count count) : base_(base), count_(count.value) {}

  constexpr T& operator[](Index index) const {
    CHECK(index < count_);
    return base_[index];
  }
  constexpr T* data() const { return base_; }
  constexpr std::uint32_t count() const { return count_; }
  constexpr std::span<T> all() const { return {base_, count_}; }

 private:
  T* base_ = nullptr;
  std::uint32_t count_ = 0;
};

// Hands out the arena from its begin to its end. The same code lays out twice: once without memory,
// to learn how many bytes are needed, and once with it; so both always agree.
class Layout {
 public:
  // A number of bytes and where they may begin; `alignment` is a power of two, arena_alignment at
  // most.
  struct Extent {
    std::uint64_t bytes;
    std::uint32_t alignment;
  };

  // Only measures: the views that it returns must not be used.
  constexpr Layout() = default;
  // Places into `arena`, which begins at a multiple of arena_alignment. CHECKs that it suffices.
  explicit Layout(std::span<std::byte> arena);

  // The offset from the arena's begin of the next `extent`. Saturates, see bytes().
  std::uint64_t reserve(Extent extent);

  // An array of `count` elements, neither constructed nor touched. T needs no destructor.
  template <class T>
  View<T> place(Count count) {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= arena_alignment);
    return View<T>(reinterpret_cast<T*>(place_bytes(std::uint64_t{count.value} * sizeof(T))),
                   count);
  }
  // Raw bytes at a multiple of arena_alignment; null when only measuring.
  std::byte* place_bytes(std::uint64_t bytes);

  bool measures() const { return arena_.data() == nullptr; }
  // What was laid out so far, rounded up to arena_alignment; 2^64 - 64 if it is that much or more.
  std::uint64_t bytes() const;

 private:
  std::span<std::byte> arena_;
  std::uint64_t used_ = 0;
};

}  // namespace lockstep::memory
