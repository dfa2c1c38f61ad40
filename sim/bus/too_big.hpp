// A router's ICMP error about a packet that exceeds the MTU of the next link.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/units/address.hpp"

namespace lockstep::sim {

// The largest error frame: IPv6's minimum MTU plus a tagged link header.
inline constexpr std::uint32_t too_big_bytes_max = 1'280 + 18;

// The frame that did not fit, and the link that refused it.
struct TooBig {
  std::span<const std::byte> frame;
  std::uint32_t link_header_bytes = 0;
  std::uint32_t mtu_bytes = 0;
  Mac router;  // source link address of the error, where frames have a link header
};

// Writes "fragmentation needed" (RFC 1191 4) or "packet too big" (RFC 4443 3.2), addressed to the
// sender of the frame, to `into`, which must hold too_big_bytes_max octets. Returns the length of
// the frame, or 0 where a router sends no error: the frame is not IP, has a group address as source
// or destination, is itself an error or a later fragment, or may be fragmented (which the simulator
// does not do).
std::uint32_t write_too_big(const TooBig& about, std::span<std::byte> into);

}  // namespace lockstep::sim
