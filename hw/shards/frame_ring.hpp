// A ring of frames from one thread to one other.
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

// What two threads must not write to side by side.
inline constexpr std::size_t line_bytes = 64;

// One thread puts, one takes; neither waits for the other. What each writes lies on lines of its
// own: the taker's position, the putter's, and the frames, which the putter alone writes.
class FrameRing {
 public:
  // Room for `frames`, a power of two (CHECK), each of at most `frame_max` octets. Memory is
  // touched by the putter first, so that it lies where that one runs.
  FrameRing(Count frames, Bytes frame_max);
  ~FrameRing();
  FrameRing(const FrameRing&) = delete;
  FrameRing& operator=(const FrameRing&) = delete;

  // The putter: copies a frame in. False: full, or the frame is longer than any may be.
  bool put(std::span<const std::byte> frame, Checksum checksum);

  // The taker: how many frames there are, at least.
  std::uint32_t waiting() const {
    return put_.load(std::memory_order_acquire) - taken_.load(std::memory_order_relaxed);
  }
  // Frame `index` below waiting(), the oldest first; stays until it is popped.
  struct Entry {
    std::span<const std::byte> bytes;
    Checksum checksum = Checksum::unknown;
  };
  Entry at(std::uint32_t index) const;
  void pop(std::uint32_t frames);

  // For the test that looks where everything lies.
  const void* putter_line() const { return &put_; }
  const void* taker_line() const { return &taken_; }
  std::span<const std::byte> memory() const { return {slots_, std::size_t{size_} * stride_}; }

 private:
  // Before a frame in its slot.
  struct Head {
    std::uint32_t length = 0;
    Checksum checksum = Checksum::unknown;
  };
  static constexpr std::size_t head_bytes = 16;  // so that IP's header is aligned as elsewhere

  std::byte* slot(std::uint32_t position) const {
    return slots_ + std::size_t{position & (size_ - 1)} * stride_;
  }

  // Written once, read by both.
  alignas(line_bytes) std::uint32_t size_;
  std::uint32_t frame_max_;
  std::uint32_t stride_;
  std::byte* slots_;
  // Both count frames since the begin and run over together.
  alignas(line_bytes) std::atomic<std::uint32_t> put_{0};
  std::uint32_t taken_seen_ = 0;  // the putter's memory of `taken_`
  alignas(line_bytes) std::atomic<std::uint32_t> taken_{0};
};

static_assert(alignof(FrameRing) == line_bytes);
static_assert(sizeof(FrameRing) == 3 * line_bytes);

}  // namespace lockstep::hw
