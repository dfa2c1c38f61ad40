// Which of several stacks a flow belongs to: the hash by which a NIC steers its frames.
#pragma once

#include <cstdint>

#include "core/units/address.hpp"

namespace lockstep {

// Identifies a shard, from 0; everyone() is not a shard's number.
struct ShardId {
  std::uint32_t value = 0;
  static constexpr ShardId everyone() { return {0xffff'ffff}; }
  constexpr bool operator==(const ShardId&) const = default;
};

// How many shards there are behind the same addresses.
struct ShardCount {
  static constexpr std::uint32_t most = 256;
  std::uint32_t value = 1;  // 1 to `most`
};

// The multipliers of the sums. Both are odd, so that no information is lost.
struct SteeringKey {
  std::uint32_t ports = 0x85eb'ca6b;
  std::uint32_t all = 0x9e37'79b1;
};

// Symmetric, so that both directions of a flow, and an ICMP error that quotes it, have the same
// shard: sums the words of both addresses and the ports times a constant, multiplies, and uses the
// upper half. Each step can be done in classic BPF, as hw/steering does.
constexpr ShardId shard_of(const FourTuple& tuple, ShardCount count, SteeringKey key = {}) {
  std::uint32_t const ports = std::uint32_t{tuple.local.port.value} + tuple.remote.port.value;
  std::uint32_t sum = ports * key.ports;
  for (IpAddress const& each : {tuple.local.address, tuple.remote.address}) {
    if (each.is_v4()) {
      sum += each.as_v4().value;
    } else {
      sum += static_cast<std::uint32_t>(each.high >> 32) + static_cast<std::uint32_t>(each.high) +
             static_cast<std::uint32_t>(each.low >> 32) + static_cast<std::uint32_t>(each.low);
    }
  }
  return {((sum * key.all) >> 16) % count.value};
}

}  // namespace lockstep
