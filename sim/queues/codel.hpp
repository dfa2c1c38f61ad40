// CoDel: controlled delay, RFC 8289.
#pragma once

#include "sim/queues/packet.hpp"

namespace lockstep::sim {

struct CoDelSpec {
  Duration target = Duration::milliseconds(5);
  Duration interval = Duration::milliseconds(100);
  std::uint32_t packet_bytes = 1'514;  // no drop while no more than one such packet is queued
  bool ecn = false;
};

// The square root, rounded down.
constexpr std::uint64_t root_of(std::uint64_t number) {
  std::uint64_t root = 0;
  for (std::uint64_t bit = std::uint64_t{1} << 62; bit != 0; bit >>= 2) {
    bool const fits = number >= root + bit;
    number -= fits ? root + bit : 0;
    root = (root >> 1) + (fits ? bit : 0);
  }
  return root;
}

// The state machine of one queue: RFC 8289 5.5 and 5.6.
class CoDelControl {
 public:
  // Takes the next packet of `ring` and drops those before it. False: none is left.
  bool dequeue(const CoDelSpec& spec, Instant now, PacketRing& ring, Packet& out,
               LostPackets& lost);
  std::uint32_t count() const { return count_; }
  bool dropping() const { return dropping_; }
  Instant next_drop() const { return drop_next_; }

 private:
  struct Taken {
    bool any = false;
    bool may_drop = false;
    Packet packet;
  };
  Taken take(const CoDelSpec& spec, Instant now, PacketRing& ring);
  Instant law(const CoDelSpec& spec, Instant from) const;

  Instant first_above_{0};
  Instant drop_next_{0};
  std::uint32_t count_ = 0;
  std::uint32_t last_count_ = 0;
  bool dropping_ = false;
};

class CoDel {
 public:
  CoDel(const CoDelSpec& spec, QueueLimits limits) : spec_(spec), limits_(limits) {}

  void enqueue(Instant now, Packet packet, LostPackets& lost) {
    packet.entered = now;
    if (ring_.is_full_for(packet, limits_)) {
      lost.push_back({packet, LinkDrop::queue_full});
      return;
    }
    ring_.push(packet);
  }
  bool dequeue(Instant now, Packet& out, LostPackets& lost) {
    return control_.dequeue(spec_, now, ring_, out, lost);
  }
  std::uint32_t packets() const { return ring_.size(); }
  const CoDelControl& control() const { return control_; }

 private:
  CoDelSpec spec_;
  QueueLimits limits_;
  PacketRing ring_;
  CoDelControl control_;
};

}  // namespace lockstep::sim
