// What a router answers to a packet that is larger than the next link carries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/units/address.hpp"

namespace lockstep::sim {

// The largest answer: what the smallest MTU of IPv6 holds, behind a link header with a tag.
inline constexpr std::uint32_t too_big_bytes_max = 1'280 + 18;

// The frame that did not fit, and the link that did not take it.
struct TooBig {
  std::span<const std::byte> frame;
  std::uint32_t link_header_bytes = 0;
  std::uint32_t mtu_bytes = 0;
  Mac router;  // of the answer, where frames have a link header
};

// Writes "fragmentation needed" (RFC 1191 4) or "packet too big" (RFC 4443 3.2) to its sender into
// `into`, which holds too_big_bytes_max octets; gives the length of the frame. 0: no router would
// answer, because the frame is no IP, is sent to or by a group, is an error or a later fragment
// itself, or may be cut up on the way, which is done nowhere here.
std::uint32_t write_too_big(const TooBig& about, std::span<std::byte> into);

}  // namespace lockstep::sim
