// A wire in memory: two rings of frames, and a port for turn() at each end.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/stack/driver.hpp"
#include "core/units/bytes.hpp"
#include "core/units/check.hpp"

namespace lockstep::tools::benchmark {

// Frames in flight in one direction, first in, first out. Nothing is copied: the sender writes into
// the slot that the receiver reads from.
class Ring {
 public:
  static constexpr std::uint32_t frames_max = 128;

  explicit Ring(Bytes frame_max)
      : slot_bytes_((frame_max.count + 63) / 64 * 64),
        memory_(std::size_t{slot_bytes_} * frames_max) {}

  std::uint32_t waiting() const { return tail_ - head_; }
  bool full() const { return waiting() == frames_max; }
  // The frame `behind` places after the first.
  std::span<const std::byte> frame(std::uint32_t behind) const {
    CHECK(behind < waiting());
    std::uint32_t const slot = (head_ + behind) % frames_max;
    return {memory_.data() + std::size_t{slot} * slot_bytes_, lengths_[slot]};
  }
  std::span<std::byte> room() {
    return {memory_.data() + std::size_t{tail_ % frames_max} * slot_bytes_, slot_bytes_};
  }
  void push(std::uint32_t length) {
    CHECK(!full());
    lengths_[tail_ % frames_max] = length;
    ++tail_;
  }
  void pop(Count frames) {
    CHECK(frames.value <= waiting());
    head_ += frames.value;
  }

 private:
  std::uint32_t slot_bytes_;
  std::uint32_t head_ = 0;
  std::uint32_t tail_ = 0;
  std::vector<std::byte> memory_;
  std::array<std::uint32_t, frames_max> lengths_{};
};

// One end of the wire. The sender computes checksums in software, and the receiver verifies them.
class Port {
 public:
  static constexpr std::uint32_t burst_max = 64;

  Port(Ring& in, Ring& out, const Instant& clock) : in_(in), out_(out), clock_(clock) {}

  Instant now() const { return clock_; }

  std::span<const Ingress> receive() {
    lent_ = in_.waiting() < burst_max ? in_.waiting() : burst_max;
    for (std::uint32_t i = 0; i < lent_; ++i) {
      burst_[i] = {in_.frame(i), Checksum::unknown, clock_};
    }
    return std::span(burst_).first(lent_);
  }

  std::span<std::byte> claim() { return out_.full() ? std::span<std::byte>{} : out_.room(); }

  void commit(const Egress& egress) {
    out_.push(egress.length);
    ++frames_sent;
    data_segments_out += egress.segment_bytes == 0 ? 0 : 1;
  }

  void reclaim() {
    in_.pop(Count{lent_});
    lent_ = 0;
  }

  void flush() {}

  std::uint64_t frames_sent = 0;
  std::uint64_t data_segments_out = 0;

 private:
  Ring& in_;
  Ring& out_;
  const Instant& clock_;
  std::uint32_t lent_ = 0;
  std::array<Ingress, burst_max> burst_{};
};

static_assert(Driver<Port>);

}  // namespace lockstep::tools::benchmark
