// Small worlds made by a line of code: for tests, the runner and whoever draws worlds.
#pragma once

#include <cstdint>

#include "sim/kernel/world.hpp"

namespace lockstep::sim {

// The profiles by number: rfc, linux, freebsd, default.
inline constexpr std::uint32_t profile_count = 4;
Config profile_at(std::uint32_t number);

// A host called `name` at 10.0.0.<last>/24 with all else as in `config`.
HostSpec plain_host(Name name, std::uint8_t last, const Config& config = {});

// Two hosts `a` and `b` on the link `ab`, both lanes alike.
World two_hosts(const LaneSpec& lane);

// An application of `model` from hosts[0] to hosts[1] that sends `bytes`.
AppSpec app_of(Name model, std::uint64_t bytes);

// A fault on both lanes of link 0, at all times.
LaneFaultSpec fault_of_link(Name name, const LaneFault& fault);

}  // namespace lockstep::sim
