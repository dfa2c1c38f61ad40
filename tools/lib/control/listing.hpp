// The connections of running shards, copied in small portions for another thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/stack/stack.hpp"
#include "core/units/shard.hpp"
#include "hw/poll/descriptor.hpp"
#include "hw/trouble.hpp"

namespace lockstep::control {

/// How many records a shard copies at once, which bounds the pause of its loop.
inline constexpr std::uint32_t portion_records = 64;

/// One portion: the records that are in use among up to `portion_records` numbers.
struct Portion {
  std::array<ConnectionInfo, portion_records> records;
  std::uint32_t count = 0;
  std::uint32_t next = 0;  ///< the number at which the next portion begins
  bool last = false;
  Instant now;  ///< the shard's time
};

/// One reader, in a thread of its own, asks a shard for a portion at a time. Nothing waits for a
/// lock, and nothing is allocated after open().
class Listing {
 public:
  hw::Trouble open(ShardCount shards);

  /// For the reader. Asks for the records from number `from` on; the shard must be idle.
  void ask(ShardId shard, std::uint32_t from);
  /// The answer, once it is there; nullptr until then.
  const Portion* answer(ShardId shard) const;
  /// Readable when an answer has come; take_news() makes it unreadable.
  int news() const { return news_.number(); }
  void take_news() const;

  /// For the shard's own thread: whether a portion is wanted. Costs one load.
  bool is_wanted(ShardId shard) const {
    return places_[shard.value]->state.load(std::memory_order_acquire) == State::asked;
  }
  /// Copies the portion that is wanted.
  void give(ShardId shard, const Stack& stack);
  /// Readable while a portion is wanted, and shortly before, so that the shard wakes.
  int descriptor(ShardId shard) const { return places_[shard.value]->event.number(); }

 private:
  enum class State : std::uint32_t { idle, asked, answered };
  struct alignas(64) Place {
    std::atomic<State> state{State::idle};
    hw::Descriptor event;
    Portion portion;
  };

  std::vector<std::unique_ptr<Place>> places_;
  hw::Descriptor news_;
};

}  // namespace lockstep::control
