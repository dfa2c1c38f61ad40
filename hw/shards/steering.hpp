// The steering hash as programs that the kernel runs, so that each frame arrives at its flow's
// shard.
#pragma once

#include <linux/filter.h>

#include <vector>

#include "core/units/shard.hpp"
#include "hw/poll/descriptor.hpp"
#include "hw/trouble.hpp"

namespace lockstep::hw {

// A classic BPF program over a frame's network header: shard_of for TCP over IPv4, options
// included, and over IPv6 without extension headers; 0 for all other frames, which shard 0
// forwards.
std::vector<sock_filter> steering_filter(ShardCount shards);

// The same program, translated and loaded as an eBPF socket filter. On failure returns the kernel's
// reason.
[[nodiscard]] Trouble load_steering(ShardCount shards, Descriptor& into);

}  // namespace lockstep::hw
