// The segment size that a sender may use even if the peer's MSS is smaller.
#pragma once

#include "core/units/bytes.hpp"

namespace lockstep::sim::referee {

// Every IPv4 link carries packets of 68 octets (RFC 791, 3.2), of which 40 are headers.
inline constexpr Bytes mss_floor_of_rfc{28};

// FreeBSD's minimum, the highest of a deployed stack (Linux: 48). It defends against attacks by
// many small packets (CVE-2019-11479). Includes TCP options.
inline constexpr Bytes mss_floor_deployed{216};

}  // namespace lockstep::sim::referee
