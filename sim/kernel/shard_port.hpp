// The Driver of one of several shards, over any port: forwards frames of other shards to them.
#pragma once

#include <span>

#include "core/stack/driver.hpp"
#include "sim/kernel/port.hpp"

namespace lockstep::sim {

// How a shard handles the frames of its port and those that other shards forwarded to it.
class Siblings {
 public:
  explicit Siblings(const PortTurn& turn) : turn_(turn) {}

  // Where a burst is one frame, bursts alternate between the port and the other shards: whether
  // this one is theirs.
  bool theirs() const;
  // Returns the shard's own frames and the frames for all shards out of `from_port`, then frames
  // that other shards forwarded, up to one burst. Reports each to the observers. Forwards the rest
  // to the shards that own them.
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
