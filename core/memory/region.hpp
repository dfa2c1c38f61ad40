// Memory of the application that is lent to the stack, identified by region and offset.
#pragma once

#include <compare>
#include <cstdint>

#include "core/units/bytes.hpp"

namespace lockstep {

// Identifies memory that the application has bound; the bytes are outside the arena.
struct RegionId {
  std::uint32_t value = 0;
  constexpr auto operator<=>(const RegionId&) const = default;
};

}  // namespace lockstep
