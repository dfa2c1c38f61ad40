// Memory of the application, lent to the stack and named by region and offset.
#pragma once

#include <compare>
#include <cstdint>

#include "core/units/bytes.hpp"

namespace lockstep {

// The name of memory that the application has bound; the bytes lie outside of the arena.
struct RegionId {
  std::uint32_t value = 0;
  constexpr auto operator<=>(const RegionId&) const = default;
};

}  // namespace lockstep
