// The Ethernet header around bare IP packets on an mPIPE, which carries only Ethernet.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/units/address.hpp"

namespace lockstep::tools {

inline constexpr std::size_t coat_bytes = 14;
inline constexpr Mac near_mac{{0x02, 0, 0, 0, 0, 1}};
inline constexpr Mac far_mac{{0x02, 0, 0, 0, 0, 2}};

/// Writes `packet` into `frame` with the header that the far end would send.
inline void put_coat_on(std::span<const std::byte> packet, std::vector<std::byte>& frame) {
  frame.resize(coat_bytes + packet.size());
  bool const six = !packet.empty() && std::to_integer<std::uint32_t>(packet[0]) >> 4 == 6;
  for (std::size_t i = 0; i < 6; ++i) {
    frame[i] = std::byte{near_mac.octets[i]};
    frame[6 + i] = std::byte{far_mac.octets[i]};
  }
  frame[12] = six ? std::byte{0x86} : std::byte{0x08};
  frame[13] = six ? std::byte{0xdd} : std::byte{0x00};
  std::copy(packet.begin(), packet.end(), frame.begin() + coat_bytes);
}

}  // namespace lockstep::tools
