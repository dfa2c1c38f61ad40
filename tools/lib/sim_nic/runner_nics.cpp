// The NICs of the runner's hosts: the mPIPE driver on the model of the hardware.
#include "sim/runner/nics.hpp"
#include "tools/lib/sim_nic/mpipe_nic.hpp"

namespace lockstep::sim {

Registry registry_with_nics() { return tools::with_nics(Registry::standard()); }

std::uint32_t give_nics(World& world, std::uint64_t seed) {
  std::uint32_t const given = tools::give_nics(world);
  tools::draw_errors(world, seed);
  return given;
}

std::uint32_t spread_over_workers(World& world, ShardCount workers) {
  return tools::spread_over_workers(world, workers);
}

}  // namespace lockstep::sim
