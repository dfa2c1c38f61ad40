// The rings between all shards of a program, and the doorbells that wake them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/units/shard.hpp"
#include "hw/poll/descriptor.hpp"
#include "hw/shards/frame_ring.hpp"
#include "hw/trouble.hpp"

namespace lockstep::hw {

// The part of the mesh of one shard. Its own cache line is written by it alone, and each sibling
// has a line to write.
class alignas(line_bytes) Seat {
 public:
  explicit Seat(ShardCount shards) : puts_(shards.value) {}

  // The doorbell: readable once a frame was put for this shard while it rested.
  int descriptor() const { return bell_.number(); }
  // Called before sleeping: from now on a put rings. The shard must check the rings once more after
  // it.
  void prepare_sleep() { resting_.store(true, std::memory_order_seq_cst); }
  // Called when awake: clears the doorbell.
  void rise();
  // The number of frames put for this shard so far, over all rings, modulo 2^32. While it is
  // unchanged, no ring needs to be checked. Costs one load for each shard.
  std::uint32_t puts() const {
    std::uint32_t sum = 0;
    for (const Puts& each : puts_) {
      sum += each.count.load(std::memory_order_acquire);
    }
    return sum;
  }

  // For the test that checks who writes which line.
  std::span<const std::byte> siblings_lines() const { return std::as_bytes(std::span(puts_)); }

 private:
  friend class Mesh;
  struct alignas(line_bytes) Puts {
    std::atomic<std::uint32_t> count{0};
  };

  std::atomic<bool> resting_{false};
  std::atomic<bool> departed_{false};
  Descriptor bell_;
  std::vector<Puts> puts_;  // indexed by the shard that puts
};

static_assert(sizeof(Seat) == line_bytes);

// One ring from each shard to each other. Must be made before the threads and outlive them.
class Mesh {
 public:
  static constexpr Count ring_frames{64};

  // Frames have at most `frame_max` octets, link header included.
  Mesh(ShardCount shards, Bytes frame_max);
  // Makes the doorbells; returns the reason on failure.
  [[nodiscard]] Trouble open();

  ShardCount shards() const { return shards_; }
  Seat& seat(ShardId shard) { return *seats_[shard.value]; }
  // Used by the threads of these two shards only.
  FrameRing& ring(ShardId from, ShardId to) {
    return *rings_[std::size_t{from.value} * shards_.value + to.value];
  }
  // Called after each put into a ring: counts it, and wakes the receiving shard if it rests.
  void ring_bell(ShardId from, ShardId to);
  // Called when this shard has nothing more to send; the last shard wakes all others.
  void quiesce(ShardId self);
  bool all_departed() const;

 private:
  ShardCount shards_;
  std::vector<std::unique_ptr<Seat>> seats_;
  std::vector<std::unique_ptr<FrameRing>> rings_;  // nullptr where both shards are the same
};

}  // namespace lockstep::hw
