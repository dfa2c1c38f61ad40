// The cards of the runner's hosts: the mPIPE driver on the model of the hardware.
#include "sim/runner/cards.hpp"
#include "tools/lib/sim_nic/mpipe_card.hpp"

namespace lockstep::sim {

Registry registry_with_cards() { return tools::with_cards(Registry::standard()); }

std::uint32_t give_cards(World& world, std::uint64_t seed) {
  std::uint32_t const given = tools::give_cards(world);
  tools::draw_errors(world, seed);
  return given;
}

std::uint32_t spread_over_workers(World& world, ShardCount workers) {
  return tools::spread_over_workers(world, workers);
}

}  // namespace lockstep::sim
