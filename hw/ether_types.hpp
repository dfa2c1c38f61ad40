// EtherTypes as the drivers compare them, in host byte order.
#pragma once

#include <cstdint>

#include "core/wire/ethernet.hpp"

namespace lockstep::hw {

inline constexpr auto type_ipv4 = static_cast<std::uint16_t>(wire::EtherType::ipv4);
inline constexpr auto type_ipv6 = static_cast<std::uint16_t>(wire::EtherType::ipv6);
inline constexpr std::uint16_t type_tag = 0x8100;  // IEEE 802.1Q

}  // namespace lockstep::hw
