// Names that no interface may have: every driver refuses them with a reason, without root.
#include <cstdio>
#include <vector>

#include "hw/af_packet/setup.hpp"
#include "hw/af_xdp/setup.hpp"
#include "hw/poll/clock.hpp"
#include "hw/poll/stop.hpp"
#include "hw/tap/setup.hpp"

int main() {
  using namespace lockstep;
  hw::TapInterface tap;
  std::puts(tap.open({.name = "no/name"}).text.c_str());
  hw::Descriptor socket;
  hw::InterfaceFacts facts;
  std::puts(hw::open_packet_socket({.name = "none0"}, socket, facts).text.c_str());
  std::vector<hw::XdpDevice> devices;
  std::puts(hw::open_xdp_queues({.name = "none0"}, Count{1}, {}, devices, facts).text.c_str());
  hw::StopSignals signals;
  bool const listens = !signals.open() && hw::MonotonicClock().now() > Instant{};
  return listens ? 0 : 1;
}
