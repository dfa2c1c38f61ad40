// Tail drop: a packet that does not fit is dropped.
#pragma once

#include "sim/queues/packet.hpp"

namespace lockstep::sim {

class TailDrop {
 public:
  explicit TailDrop(QueueLimits limits = {}) : limits_(limits) {}

  void enqueue(Instant now, Packet packet, LostPackets& lost) {
    packet.entered = now;
    if (ring_.is_full_for(packet, limits_)) {
      lost.push_back({packet, LinkDrop::queue_full});
      return;
    }
    ring_.push(packet);
  }

  // False: there is none.
  bool dequeue(Instant, Packet& out, LostPackets&) {
    if (ring_.empty()) {
      return false;
    }
    out = ring_.pop();
    return true;
  }

  std::uint32_t packets() const { return ring_.size(); }

 private:
  QueueLimits limits_;
  PacketRing ring_;
};

}  // namespace lockstep::sim
