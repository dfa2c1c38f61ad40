// Finds the shard that a received frame belongs to.
#pragma once

#include <cstddef>
#include <span>

#include "core/stack/config.hpp"
#include "core/units/shard.hpp"

namespace lockstep {

// The shard whose stack receives this frame; everyone(): each shard receives a copy.
// A TCP segment goes by its four-tuple, an ICMP error by the four-tuple it quotes. Announcements
// (ARP replies, gratuitous ARP requests, neighbour and router advertisements, redirects) go to
// every shard, and so does a duplicate address probe for an IPv6 address, which shard 0 alone
// answers. Fragments go to every shard: each reassembles them, and only the shard of the flow
// accepts the datagram (Drop::wrong_shard elsewhere). All other frames without a flow go to shard
// 0, so that they are answered only once.
// Accepts any bytes. O(1); at most eight IPv6 extension headers are skipped.
ShardId home_of(LinkType link, std::span<const std::byte> frame, ShardCount count);

}  // namespace lockstep
