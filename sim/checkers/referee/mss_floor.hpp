// Below which size of a segment nobody goes, however small an MSS the peer names.
#pragma once

#include "core/units/bytes.hpp"

namespace lockstep::sim::referee {

// Every link of IPv4 carries 68 octets (RFC 791, 3.2), of which 40 are headers.
inline constexpr Bytes mss_floor_of_rfc{28};

// The highest floor of a stack that is deployed is FreeBSD's, Linux has 48: a smaller MSS is an
// attack by many packets (CVE-2019-11479). Options lie within it.
inline constexpr Bytes mss_floor_deployed{216};

}  // namespace lockstep::sim::referee
