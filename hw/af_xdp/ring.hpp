// The rings that an AF_XDP socket shares with the kernel: one end produces, the other consumes.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>

#include "core/units/check.hpp"

namespace lockstep::hw {

// Where a ring lies. The two positions count for ever and wrap at 2^32; entry `position % size` is
// the one meant. Nothing here belongs to the view.
template <class Entry>
struct RingMemory {
  std::uint32_t* producer = nullptr;
  std::uint32_t* consumer = nullptr;
  std::uint32_t* flags = nullptr;
  Entry* entries = nullptr;
  std::uint32_t size = 0;  // a power of two
};

// struct xdp_desc of the kernel: where in the frames' memory, and how long.
struct XdpFrame {
  std::uint64_t address = 0;
  std::uint32_t length = 0;
  std::uint32_t options = 0;
};

namespace ring {

inline constexpr std::uint32_t flag_need_wakeup = 1;

inline std::uint32_t seen(std::uint32_t* position) {
  return std::atomic_ref(*position).load(std::memory_order_acquire);
}
inline void show(std::uint32_t* position, std::uint32_t value) {
  std::atomic_ref(*position).store(value, std::memory_order_release);
}
inline bool needs_wakeup(std::uint32_t* flags) {
  return (std::atomic_ref(*flags).load(std::memory_order_relaxed) & flag_need_wakeup) != 0;
}

}  // namespace ring

// Our end of a ring that we fill: what is put is seen by the other end after publish().
template <class Entry>
class ProducerRing {
 public:
  // Begins where the ring stands. CHECKs that its size is a power of two.
  explicit ProducerRing(const RingMemory<Entry>& memory)
      : memory_(memory), next_(ring::seen(memory.producer)), published_(next_) {
    CHECK(std::has_single_bit(memory.size));
  }

  // How many more can be put now. An entry is ours again only after the other end has said so.
  std::uint32_t room() const { return memory_.size - (next_ - consumed()); }
  // CHECKs that there is room.
  void put(const Entry& entry) {
    if (known_room_ == 0) {
      known_room_ = room();
      CHECK(known_room_ != 0);
    }
    memory_.entries[next_ & (memory_.size - 1)] = entry;
    ++next_;
    --known_room_;
  }
  void publish() {
    if (published_ != next_) {
      published_ = next_;
      ring::show(memory_.producer, next_);
    }
  }
  // How many have been put that the other end has not taken.
  std::uint32_t waiting() const { return next_ - consumed(); }
  bool needs_wakeup() const { return ring::needs_wakeup(memory_.flags); }

 private:
  std::uint32_t consumed() const {
    std::uint32_t const position = ring::seen(memory_.consumer);
    CHECK(next_ - position <= memory_.size);
    return position;
  }

  RingMemory<Entry> memory_;
  std::uint32_t next_;
  std::uint32_t published_;
  std::uint32_t known_room_ = 0;  // at least so much: the other end only makes more
};

// Our end of a ring that the other end fills: what is taken may be overwritten after release().
template <class Entry>
class ConsumerRing {
 public:
  explicit ConsumerRing(const RingMemory<Entry>& memory)
      : memory_(memory), next_(ring::seen(memory.consumer)), released_(next_) {
    CHECK(std::has_single_bit(memory.size));
  }

  // How many can be taken now.
  std::uint32_t ready() const {
    std::uint32_t const filled = ring::seen(memory_.producer) - next_;
    CHECK(filled <= memory_.size);
    return filled;
  }
  // CHECKs that one is ready.
  Entry take() {
    if (known_ready_ == 0) {
      known_ready_ = ready();
      CHECK(known_ready_ != 0);
    }
    Entry const entry = memory_.entries[next_ & (memory_.size - 1)];
    ++next_;
    --known_ready_;
    return entry;
  }
  void release() {
    if (released_ != next_) {
      released_ = next_;
      ring::show(memory_.consumer, next_);
    }
  }

 private:
  RingMemory<Entry> memory_;
  std::uint32_t next_;
  std::uint32_t released_;
  std::uint32_t known_ready_ = 0;
};

}  // namespace lockstep::hw
