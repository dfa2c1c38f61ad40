// Layout of the arena, with and without memory.
#include "core/memory/arena.hpp"

#include <bit>

namespace lockstep::memory {
namespace {

constexpr std::uint64_t bytes_max = ~std::uint64_t{0} & ~std::uint64_t{arena_alignment - 1};

// At most bytes_max, as `bytes` is.
std::uint64_t rounded_up(std::uint64_t bytes, std::uint32_t alignment) {
  std::uint64_t const mask = alignment - 1;
  return (bytes + mask) & ~mask;
}

}  // namespace

Layout::Layout(std::span<std::byte> arena) : arena_(arena) {
  CHECK(arena.data() != nullptr);
  CHECK(reinterpret_cast<std::uintptr_t>(arena.data()) % arena_alignment == 0);
}

std::uint64_t Layout::reserve(Extent extent) {
  CHECK(std::has_single_bit(extent.alignment));
  CHECK(extent.alignment <= arena_alignment);
  std::uint64_t const offset = rounded_up(used_, extent.alignment);
  used_ = extent.bytes > bytes_max - offset ? bytes_max : offset + extent.bytes;
  CHECK(measures() || used_ <= arena_.size());
  return offset;
}

std::byte* Layout::place_bytes(std::uint64_t bytes) {
  std::uint64_t const offset = reserve({bytes, arena_alignment});
  return measures() ? nullptr : arena_.data() + static_cast<std::size_t>(offset);
}

std::uint64_t Layout::bytes() const { return rounded_up(used_, arena_alignment); }

}  // namespace lockstep::memory
