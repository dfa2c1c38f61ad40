// Which shard an arriving frame is for.
#pragma once

#include <cstddef>
#include <span>

#include "core/stack/config.hpp"
#include "core/units/shard.hpp"

namespace lockstep {

// The shard whose stack is to receive this frame; everyone(): each of them a copy. By the
// four-tuple of a TCP segment, or by that which an ICMP error quotes. What announces (ARP replies
// and gratuitous requests, neighbour and router advertisements, redirects) is everyone's, and so is
// a test whether an IPv6 address is free, which shard 0 alone answers; whatever else has no flow,
// so that it may be answered once only, is shard 0's. Fragments are everyone's: each shard puts
// them together, and the datagram's home alone takes it (Drop::wrong_shard elsewhere).
// Any bytes; O(1), but for IPv6's extension headers, of which eight are stepped over.
ShardId home_of(LinkType link, std::span<const std::byte> frame, ShardCount count);

}  // namespace lockstep
