// The simulated port: the Driver that turn() runs on.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/stack/driver.hpp"
#include "sim/bus/bus.hpp"
#include "sim/kernel/host.hpp"

namespace lockstep::sim {

// The objects that a port uses during one turn.
struct PortTurn {
  Host& host;
  Bus& bus;
  Schedule& schedule;
  const Watch& watch;
  Instant now;                   // world time
  Instant local_now;             // host time
  std::vector<Ingress>& burst;   // scratch, kept by the kernel between turns
  std::vector<Ingress>& sorted;  // the same for a host with several shards
  std::uint64_t& frames_hash;
};

class SimPort {
 public:
  explicit SimPort(const PortTurn& turn) : turn_(turn) {}

  Instant now() const { return turn_.local_now; }
  std::span<const Ingress> receive();
  std::span<std::byte> claim();
  void commit(const Egress& egress);
  void reclaim();
  void flush() {}

 private:
  PortTurn turn_;
};

// Sends the first `length` octets of a host's frame buffer on its link; counts, hashes and reports
// the frame.
void put_on_link(const PortTurn& turn, FrameId frame, std::uint32_t length);

static_assert(Driver<SimPort>);

}  // namespace lockstep::sim
