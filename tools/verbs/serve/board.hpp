// One seqlock per shard: each shard publishes its counters, and readers copy them without locks.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>
#include <vector>

#include "core/units/shard.hpp"
#include "hw/shards/frame_ring.hpp"

namespace lockstep::tools {

/// One value per shard, written by that shard alone and read by any thread, never torn. Each value
/// has cache lines of its own. `Value` is copied word by word.
template <class Value>
class PublishedTotals {
 public:
  explicit PublishedTotals(ShardCount shards) {
    for (std::uint32_t i = 0; i < shards.value; ++i) {
      places_.push_back(std::make_unique<Place>());
    }
  }

  ShardCount shards() const { return {static_cast<std::uint32_t>(places_.size())}; }

  /// Call from the shard's own thread.
  void write(ShardId shard, const Value& value) {
    Place& place = *places_[shard.value];
    std::array<std::uint64_t, words> copy{};
    std::memcpy(copy.data(), &value, sizeof value);
    std::uint32_t const version = place.version.load(std::memory_order_relaxed);
    // An odd version means that a write is in progress. The release stores of the words keep the
    // odd version before them and the even one after them.
    place.version.store(version + 1, std::memory_order_relaxed);
    for (std::uint32_t i = 0; i < words; ++i) {
      place.cells[i].store(copy[i], std::memory_order_release);
    }
    place.version.store(version + 2, std::memory_order_release);
  }

  /// The last published value; a default one if there is none. Retries while a write is in
  /// progress.
  Value read(ShardId shard) const {
    const Place& place = *places_[shard.value];
    for (;;) {
      std::uint32_t const before = place.version.load(std::memory_order_acquire);
      std::array<std::uint64_t, words> copy;
      for (std::uint32_t i = 0; i < words; ++i) {
        copy[i] = place.cells[i].load(std::memory_order_acquire);
      }
      if (before % 2 == 0 && place.version.load(std::memory_order_relaxed) == before) {
        Value value{};
        if (before != 0) {
          std::memcpy(static_cast<void*>(&value), copy.data(), sizeof value);
        }
        return value;
      }
    }
  }

  const void* line(ShardId shard) const { return places_[shard.value].get(); }
  static constexpr std::size_t place_bytes() { return sizeof(Place); }

 private:
  static_assert(std::is_trivially_copyable_v<Value>);
  static constexpr std::uint32_t words = (sizeof(Value) + 7) / 8;

  struct alignas(hw::line_bytes) Place {
    std::atomic<std::uint32_t> version{0};
    std::array<std::atomic<std::uint64_t>, words> cells{};
  };
  static_assert(sizeof(Place) % hw::line_bytes == 0);

  std::vector<std::unique_ptr<Place>> places_;
};

}  // namespace lockstep::tools
