// Windows: 32-bit byte counts in the code, and the 16-bit field of a segment.
#pragma once

#include <compare>
#include <cstdint>

#include "core/units/bytes.hpp"

namespace lockstep {

// The window field of a segment, not scaled.
//= rfc9293#3.1
//# 9293:MUST-1 the field is unsigned: no negative windows
struct WireWindow {
  std::uint16_t value = 0;
  constexpr auto operator<=>(const WireWindow&) const = default;
};

// A shift count of RFC 7323, 0 to 14.
struct WindowScale {
  std::uint8_t shift = 0;
  constexpr auto operator<=>(const WindowScale&) const = default;
};

//= rfc9293#3.1
//# 9293:REC-1 windows are stored and computed in 32 bits
//# 9293:P-WIN-FIELD the field counts octets, scaled if scaling is in use
constexpr Bytes window_from_wire(WireWindow field, WindowScale scale) {
  return {static_cast<std::uint32_t>(field.value) << scale.shift};
}

// Rounds down, so that no more than `window` is advertised; saturates at 65,535 units.
constexpr WireWindow window_to_wire(Bytes window, WindowScale scale) {
  std::uint32_t const units = window.count >> scale.shift;
  return {static_cast<std::uint16_t>(units > 0xffff ? 0xffff : units)};
}

}  // namespace lockstep
