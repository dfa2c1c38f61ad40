// Copies frames in at one end, lends them at the other.
#include "hw/shards/frame_ring.hpp"

#include <bit>
#include <cstring>

#include "core/units/check.hpp"

namespace lockstep::hw {
namespace {

constexpr std::align_val_t alignment{line_bytes};

}  // namespace

FrameRing::FrameRing(Count frames, Bytes frame_max)
    : size_(frames.value),
      frame_max_(frame_max.count),
      stride_(static_cast<std::uint32_t>((head_bytes + frame_max.count + line_bytes - 1) /
                                         line_bytes * line_bytes)),
      slots_(
          static_cast<std::byte*>(::operator new(std::size_t{frames.value} * stride_, alignment))) {
  CHECK(std::has_single_bit(frames.value));
}

FrameRing::~FrameRing() { ::operator delete(slots_, alignment); }

bool FrameRing::put(std::span<const std::byte> frame, Checksum checksum) {
  std::uint32_t const position = put_.load(std::memory_order_relaxed);
  if (position - taken_seen_ == size_) {
    taken_seen_ = taken_.load(std::memory_order_acquire);
  }
  if (position - taken_seen_ == size_ || frame.size() > frame_max_) {
    return false;
  }
  Head const head{static_cast<std::uint32_t>(frame.size()), checksum};
  std::memcpy(slot(position), &head, sizeof head);
  std::memcpy(slot(position) + head_bytes, frame.data(), frame.size());
  put_.store(position + 1, std::memory_order_release);
  return true;
}

FrameRing::Entry FrameRing::at(std::uint32_t index) const {
  std::byte const* const from = slot(taken_.load(std::memory_order_relaxed) + index);
  Head head;
  std::memcpy(&head, from, sizeof head);
  return {{from + head_bytes, head.length}, head.checksum};
}

void FrameRing::pop(std::uint32_t frames) {
  taken_.store(taken_.load(std::memory_order_relaxed) + frames, std::memory_order_release);
}

}  // namespace lockstep::hw
