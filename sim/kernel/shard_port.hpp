// The Driver of one of several shards around any port: what is another shard's is handed to it.
#pragma once

#include <span>

#include "core/stack/driver.hpp"
#include "sim/kernel/port.hpp"

namespace lockstep::sim {

// What a shard does with the frames of its port, and with those that it was handed.
class Siblings {
 public:
  explicit Siblings(const PortTurn& turn) : turn_(turn) {}

  // Bursts of one frame are the port's and the other shards' in turns.
  bool theirs() const;
  // Of what the port gave: the shard's own, and what is everyone's; then what others have handed
  // over, up to a burst. Observers are told of each. The rest is on its way to its home.
  std::span<const Ingress> sort(std::span<const Ingress> from_port);
  void reclaim();

 private:
  void keep(const Ingress& frame);
  void hand(const Ingress& frame, ShardId to);

  PortTurn turn_;
};

template <Driver Port>
class ShardPort {
 public:
  ShardPort(Port& port, const PortTurn& turn) : port_(port), siblings_(turn) {}

  Instant now() { return port_.now(); }
  std::span<const Ingress> receive() {
    return siblings_.sort(siblings_.theirs() ? std::span<const Ingress>{} : port_.receive());
  }
  std::span<std::byte> claim() { return port_.claim(); }
  void commit(const Egress& egress) { port_.commit(egress); }
  void flush() { port_.flush(); }
  void reclaim() {
    port_.reclaim();
    siblings_.reclaim();
  }

 private:
  Port& port_;
  Siblings siblings_;
};

static_assert(Driver<ShardPort<SimPort>>);

}  // namespace lockstep::sim
