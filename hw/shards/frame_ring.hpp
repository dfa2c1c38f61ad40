// A ring of frames from one thread to another.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

#include "core/stack/frame.hpp"
#include "core/units/bytes.hpp"

namespace lockstep::hw {

// The size of a cache line; two threads must not write to the same one.
inline constexpr std::size_t line_bytes = 64;

// A lock-free ring with one producer and one consumer. Each writes only its own cache lines: the
// consumer its position, the producer its position and the frames.
class FrameRing {
 public:
  // Room for `frames`, a power of two (CHECK), each of at most `frame_max` octets. The producer
  // touches the memory first, so it is allocated on the producer's NUMA node.
  FrameRing(Count frames, Bytes frame_max);
  ~FrameRing();
  FrameRing(const FrameRing&) = delete;
  FrameRing& operator=(const FrameRing&) = delete;

  // Called by the producer: copies a frame in. False: the ring is full, or the frame is too long.
  bool put(std::span<const std::byte> frame, Checksum checksum);

  // Called by the consumer: a lower bound of the number of frames.
  std::uint32_t waiting() const {
    return put_.load(std::memory_order_acquire) - taken_.load(std::memory_order_relaxed);
  }
  // Frame `index` below waiting(), the oldest first; valid until it is popped.
  struct Entry {
    std::span<const std::byte> bytes;
    Checksum checksum = Checksum::unknown;
  };
  Entry at(std::uint32_t index) const;
  void pop(std::uint32_t frames);

  // For the test that checks cache lines.
  const void* putter_line() const { return &put_; }
  const void* taker_line() const { return &taken_; }
  std::span<const std::byte> memory() const { return {slots_, std::size_t{size_} * stride_}; }

 private:
  // Precedes a frame in its slot.
  struct Head {
    std::uint32_t length = 0;
    Checksum checksum = Checksum::unknown;
  };
  static constexpr std::size_t head_bytes = 16;  // aligns the IP header as elsewhere

  std::byte* slot(std::uint32_t position) const {
    return slots_ + std::size_t{position & (size_ - 1)} * stride_;
  }

  // Constant after construction; read by both threads.
  alignas(line_bytes) std::uint32_t size_;
  std::uint32_t frame_max_;
  std::uint32_t stride_;
  std::byte* slots_;
  // Both positions count frames since the start and wrap together.
  alignas(line_bytes) std::atomic<std::uint32_t> put_{0};
  std::uint32_t taken_seen_ = 0;  // the producer's copy of `taken_`
  alignas(line_bytes) std::atomic<std::uint32_t> taken_{0};
};

static_assert(alignof(FrameRing) == line_bytes);
static_assert(sizeof(FrameRing) == 3 * line_bytes);

}  // namespace lockstep::hw
