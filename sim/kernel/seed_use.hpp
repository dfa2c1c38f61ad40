// What of a world depends on its seed, apart from the hosts' keys.
#pragma once

#include <string_view>
#include <vector>

#include "sim/bus/name.hpp"
#include "sim/kernel/world.hpp"

namespace lockstep::sim {

// Something that draws from the seed: of which kind, and its name.
struct SeedUse {
  std::string_view kind;
  Name name;
};

// Everything that draws. Empty: the seed determines only keys, and with them initial sequence
// numbers and ports, so that every seed gives the same times and sizes.
std::vector<SeedUse> seed_uses(const World& world);

}  // namespace lockstep::sim
