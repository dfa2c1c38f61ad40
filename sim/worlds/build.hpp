// Small worlds in one line of code: for tests, the runner and the world generators.
#pragma once

#include <cstdint>

#include "sim/kernel/world.hpp"

namespace lockstep::sim {

// The profiles by number: rfc, linux, freebsd, default.
inline constexpr std::uint32_t profile_count = 4;
Config profile_at(std::uint32_t number);

// A host called `name` with the address 10.0.0.<last>/24, otherwise as in `config`.
HostSpec plain_host(Name name, std::uint8_t last, const Config& config = {});

// Two hosts `a` and `b` on the link `ab`, with identical lanes.
World two_hosts(const LaneSpec& lane);

// An application of `model` from hosts[0] to hosts[1] that sends `bytes`.
AppSpec app_of(Name model, std::uint64_t bytes);

// A fault on both lanes of link 0, always active.
LaneFaultSpec fault_of_link(Name name, const LaneFault& fault);

}  // namespace lockstep::sim
