// A megabyte over a lossy link between two simulated hosts.
#include <cstdio>

#include "sim/kernel/kernel.hpp"
#include "sim/worlds/build.hpp"

int main() {
  using namespace lockstep;
  sim::LaneSpec lane;
  lane.rate_bits_per_second = 100'000'000;
  lane.delay = Duration::milliseconds(5);
  sim::World world = sim::two_hosts(lane);
  world.apps = {sim::app_of("bulk", 1'000'000)};
  world.lane_faults = {sim::fault_of_link("lossy", sim::Loss{{20'000'000}})};
  sim::Kernel kernel(world, 1);
  bool const completed = kernel.run() == sim::Ending::completed;
  auto const& reader = kernel.ledger().flows().front().end(sim::Side::acceptor);
  std::printf("%llu octets%s\n", static_cast<unsigned long long>(reader.read),
              completed && reader.intact ? "" : ", damaged");
  return completed ? 0 : 1;
}
