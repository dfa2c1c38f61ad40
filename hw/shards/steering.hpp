// The steering hash as programs that the kernel runs, so that a frame arrives where its flow lives.
#pragma once

#include <linux/filter.h>

#include <vector>

#include "core/units/shard.hpp"
#include "hw/poll/descriptor.hpp"
#include "hw/trouble.hpp"

namespace lockstep::hw {

// Classic BPF over a frame's network header: shard_of for TCP over IPv4, options included, and over
// IPv6 without extension headers; 0 for all else, which its shard passes on.
std::vector<sock_filter> steering_filter(ShardCount shards);

// The same, translated and loaded as an eBPF program of sockets. Says why the kernel refuses it.
[[nodiscard]] Trouble load_steering(ShardCount shards, Descriptor& into);

}  // namespace lockstep::hw
