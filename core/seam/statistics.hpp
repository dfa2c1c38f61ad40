// The counters of a stack: what came, what left, what died of what, which edges were taken.
#pragma once

#include <array>
#include <cstdint>

#include "core/tcp/counters.hpp"
#include "core/units/drop.hpp"

namespace lockstep {

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
