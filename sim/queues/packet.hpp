// What a queue discipline knows of a packet, and the ring that holds packets in order.
#pragma once

#include <cstdint>
#include <vector>

#include "core/units/check.hpp"
#include "core/units/time.hpp"
#include "sim/bus/frame_pool.hpp"
#include "sim/bus/link_drop.hpp"

namespace lockstep::sim {

struct Packet {
  FrameId frame;
  std::uint32_t bytes = 0;  // of the whole frame
  std::uint32_t flow = 0;   // a hash of addresses, protocol and ports
  bool ect = false;         // its IP header permits a mark
  bool marked = false;      // the discipline marks it CE
  Instant entered{0};
};

// A packet that a discipline dropped, and why.
struct LostPacket {
  Packet packet;
  LinkDrop why = LinkDrop::queue_full;
};
using LostPackets = std::vector<LostPacket>;

// How much a queue may hold; 0: unlimited.
struct QueueLimits {
  std::uint32_t packets = 0;
  std::uint64_t bytes = 0;
};

// First in, first out. A plain value.
class PacketRing {
 public:
  bool empty() const { return size_ == 0; }
  std::uint32_t size() const { return size_; }
  std::uint64_t bytes() const { return bytes_; }

  void push(const Packet& packet) {
    if (size_ == ring_.size()) {
      std::vector<Packet> grown(ring_.empty() ? 8 : ring_.size() * 2);
      for (std::uint32_t i = 0; i < size_; ++i) {
        grown[i] = ring_[(head_ + i) & (ring_.size() - 1)];
      }
      ring_ = grown;
      head_ = 0;
    }
    ring_[(head_ + size_) & (ring_.size() - 1)] = packet;
    ++size_;
    bytes_ += packet.bytes;
  }

  // The first packet. The ring must not be empty.
  Packet pop() {
    CHECK(size_ != 0);
    Packet const first = ring_[head_];
    head_ = static_cast<std::uint32_t>((head_ + 1) & (ring_.size() - 1));
    --size_;
    bytes_ -= first.bytes;
    return first;
  }

  // Whether one more packet exceeds the limits. An empty queue accepts any packet.
  bool is_full_for(const Packet& packet, const QueueLimits& limits) const {
    return size_ != 0 && ((limits.packets != 0 && size_ >= limits.packets) ||
                          (limits.bytes != 0 && bytes_ + packet.bytes > limits.bytes));
  }

 private:
  std::vector<Packet> ring_;  // the size is a power of two
  std::uint32_t head_ = 0;
  std::uint32_t size_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace lockstep::sim
