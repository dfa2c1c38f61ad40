// The counters of a stack: frames in and out, drops, protocol events.
#pragma once

#include <array>
#include <cstdint>

#include "core/tcp/counters.hpp"
#include "core/units/drop.hpp"

namespace lockstep {

// How many elements of each pool are in use; each is limited by its Config field.
struct PoolUse {
  std::uint32_t connections = 0;
  std::uint32_t active = 0;
  std::uint32_t time_wait = 0;
  std::uint32_t blocks = 0;
  std::uint32_t pieces = 0;
  std::uint32_t extents = 0;
  std::uint32_t pending_acks = 0;
  std::uint32_t half_open = 0;  // in the SYN cache
};

// Counters of a stack since it was made. They never go back.
struct Statistics {
  std::uint64_t frames_received = 0;
  std::uint64_t frames_sent = 0;
  std::uint64_t bytes_received = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t echo_replies = 0;
  std::uint64_t arp_sent = 0;
  std::uint64_t discovery_sent = 0;
  std::uint64_t replies_sent = 0;
  DropCounters drops;
  tcp::Counters tcp;
};

}  // namespace lockstep
