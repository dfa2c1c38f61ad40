// The rings that an AF_XDP socket shares with the kernel: one end produces, the other consumes.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

#include "core/units/check.hpp"

namespace lockstep::hw {

// A view of a ring's memory. The two positions count without limit and wrap at 2^32; the entry of a
// position is at `position % size`.
template <class Entry>
struct RingMemory {
  std::uint32_t* producer = nullptr;
  std::uint32_t* consumer = nullptr;
  std::uint32_t* flags = nullptr;
  Entry* entries = nullptr;
  std::uint32_t size = 0;  // a power of two
};

// struct xdp_desc of the kernel: offset in the frames' memory, and length.
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

// The other end writes its position. A position that is impossible (a step back, or beyond what it
// was given) is ignored, and the last valid one is kept.

// Our end of a ring that we fill: the other end sees what was put after publish().
template <class Entry>
class ProducerRing {
 public:
  // Starts at the ring's current position. CHECKs that its size is a power of two.
  explicit ProducerRing(const RingMemory<Entry>& memory)
      : memory_(memory), next_(ring::seen(memory.producer)), published_(next_), consumed_(next_) {
    CHECK(std::has_single_bit(memory.size));
    std::uint32_t const waiting = next_ - ring::seen(memory.consumer);
    consumed_ -= waiting <= memory.size ? waiting : 0;
  }

  // How many entries can be put now. An entry is free only after the other end has consumed it.
  std::uint32_t room() const { return memory_.size - waiting(); }
  // CHECKs that there is room; ask room() first, because the other end may be slow.
  void put(const Entry& entry) {
    CHECK(next_ - consumed_ < memory_.size || room() != 0);
    memory_.entries[next_ & (memory_.size - 1)] = entry;
    ++next_;
  }
  void publish() {
    if (published_ != next_) {
      published_ = next_;
      ring::show(memory_.producer, next_);
    }
  }
  // Entries put that the other end has not taken; never more than the ring's size.
  std::uint32_t waiting() const {
    std::uint32_t const position = ring::seen(memory_.consumer);
    if (position - consumed_ <= published_ - consumed_) {
      consumed_ = position;
    }
    return next_ - consumed_;
  }
  bool needs_wakeup() const { return ring::needs_wakeup(memory_.flags); }

 private:
  RingMemory<Entry> memory_;
  std::uint32_t next_;
  std::uint32_t published_;
  mutable std::uint32_t consumed_;  // the other end's last position; at most size behind next_
};

// Our end of a ring that the other end fills: entries taken may be overwritten after release().
template <class Entry>
class ConsumerRing {
 public:
  explicit ConsumerRing(const RingMemory<Entry>& memory)
      : memory_(memory), next_(ring::seen(memory.consumer)), released_(next_), produced_(next_) {
    CHECK(std::has_single_bit(memory.size));
  }

  // How many entries can be taken now; never more than the ring's size.
  std::uint32_t ready() {
    std::uint32_t const position = ring::seen(memory_.producer);
    std::uint32_t const filled = position - released_;
    if (filled <= memory_.size && filled >= produced_ - released_) {
      produced_ = position;
    }
    return produced_ - next_;
  }
  // Takes one entry. CHECKs that one is ready.
  Entry take() {
    CHECK(next_ != produced_ || ready() != 0);
    Entry const entry = memory_.entries[next_ & (memory_.size - 1)];
    ++next_;
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
  std::uint32_t produced_;  // the other end's position; at most size ahead of released_
};

}  // namespace lockstep::hw
