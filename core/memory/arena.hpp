// The arena: one block of memory for the whole state of a stack, linked by indices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "core/units/bytes.hpp"
#include "core/units/check.hpp"

namespace lockstep::memory {

// A position in an array of the arena. Used instead of pointers, so that a copy of the arena works.
using Index = std::uint32_t;
inline constexpr Index nil = 0xffff'ffff;

// The first byte of the arena and of every array in it is aligned to this.
inline constexpr std::uint32_t arena_alignment = 64;

// An array inside an arena: a temporary handle that is never stored in the arena. Valid as long as
// the arena. A const handle still gives mutable elements.
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

// Allocates parts of the arena from its start. The same code runs twice, first without memory to
// compute the size, then with it, so both always agree.
class Layout {
 public:
  // A number of bytes and their alignment, a power of two of at most arena_alignment.
  struct Extent {
    std::uint64_t bytes;
    std::uint32_t alignment;
  };

  // Measures only: the views that it returns must not be used.
  constexpr Layout() = default;
  // Allocates from `arena`, which must be aligned to arena_alignment. CHECKs that it is large
  // enough.
  explicit Layout(std::span<std::byte> arena);

  // The offset of the next `extent` from the start of the arena. Saturates, see bytes().
  std::uint64_t reserve(Extent extent);

  // An array of `count` elements, uninitialized. T must not need a destructor.
  template <class T>
  View<T> place(Count count) {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= arena_alignment);
    return View<T>(reinterpret_cast<T*>(place_bytes(std::uint64_t{count.value} * sizeof(T))),
                   count);
  }
  // Raw bytes aligned to arena_alignment; null when only measuring.
  std::byte* place_bytes(std::uint64_t bytes);

  bool measures() const { return arena_.data() == nullptr; }
  // The bytes allocated so far, rounded up to arena_alignment; 2^64 - 64 if it is that much or
  // more.
  std::uint64_t bytes() const;

 private:
  std::span<std::byte> arena_;
  std::uint64_t used_ = 0;
};

}  // namespace lockstep::memory
