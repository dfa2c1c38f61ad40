// The rings between all shards of a program, and how one wakes another.
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

// What one shard has of the mesh. Its own line it alone writes, and each sibling one.
class alignas(line_bytes) Seat {
 public:
  explicit Seat(ShardCount shards) : puts_(shards.value) {}

  // Readable once somebody has put a frame for a shard that rests.
  int descriptor() const { return bell_.number(); }
  // The shard is about to sleep: from here on a put rings. Look at the rings once more after it.
  void prepare_sleep() { resting_.store(true, std::memory_order_seq_cst); }
  // It is awake, and the doorbell is silent again.
  void rise();
  // How many frames were put for this shard so far, all rings together, modulo 2^32: while it is
  // what it was, no ring has to be looked at. Costs a load a shard.
  std::uint32_t puts() const {
    std::uint32_t sum = 0;
    for (const Puts& each : puts_) {
      sum += each.count.load(std::memory_order_acquire);
    }
    return sum;
  }

  // For the test that looks who writes what.
  std::span<const std::byte> siblings_lines() const { return std::as_bytes(std::span(puts_)); }

 private:
  friend class Mesh;
  struct alignas(line_bytes) Puts {
    std::atomic<std::uint32_t> count{0};
  };

  std::atomic<bool> resting_{false};
  std::atomic<bool> departed_{false};
  Descriptor bell_;
  std::vector<Puts> puts_;  // by each shard
};

static_assert(sizeof(Seat) == line_bytes);

// One ring from each shard to each other. Made before the threads are, and outlives them.
class Mesh {
 public:
  static constexpr Count ring_frames{64};

  // Frames of at most `frame_max` octets with their link headers.
  Mesh(ShardCount shards, Bytes frame_max);
  // The bells. Says why not.
  [[nodiscard]] Trouble open();

  ShardCount shards() const { return shards_; }
  Seat& seat(ShardId shard) { return *seats_[shard.value]; }
  // Of the threads of the two alone.
  FrameRing& ring(ShardId from, ShardId to) {
    return *rings_[std::size_t{from.value} * shards_.value + to.value];
  }
  // After each put into a ring: counts it, and wakes the shard it is for if that rests.
  void ring_bell(ShardId from, ShardId to);
  // This shard has nothing more to say; the last one wakes all others.
  void quiesce(ShardId self);
  bool all_departed() const;

 private:
  ShardCount shards_;
  std::vector<std::unique_ptr<Seat>> seats_;
  std::vector<std::unique_ptr<FrameRing>> rings_;  // of nobody to itself: none
};

}  // namespace lockstep::hw
