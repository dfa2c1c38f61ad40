// The pool of equal-sized data blocks for bytes that are stored beyond a turn.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/memory/arena.hpp"

namespace lockstep::memory {

// What the holder of a block stores about it, separate from the data so that chains stay in cache.
struct BlockMeta {
  // Next in the holder's chain; in a free block, the next free one.
  Index next = nil;
  // For the holder: any value but BlockMeta::free.
  std::uint32_t number = 0;

  // In `number`: the block is free.
  static constexpr std::uint32_t free = 0xffff'ffff;
};

// The state of the pool, in the arena. Blocks taken minus blocks given are in use: the conservation
// check compares this with the chains that it can reach.
struct BlocksState {
  std::uint64_t takes = 0;
  std::uint64_t gives = 0;
  Index free_head = nil;
  // Blocks from here on were never taken and never touched.
  std::uint32_t fresh = 0;
  std::uint32_t used = 0;
  std::uint32_t written = 0;    // of the used ones, how many hold data to send
  std::uint32_t promised = 0;   // of the free ones, how many are promised to received data
  std::uint32_t receivers = 0;  // how many chains of received data there are
  std::uint32_t writers = 0;    // how many stores hold blocks of data to send
};

// What one use of the blocks leaves free for the other.
struct BlockShare {
  Count kept;   // this many blocks, as long as the other use holds fewer
  Count first;  // one for each of this many holders, as long as the other use has fewer
};

// A handle on the pool. Every function is O(1) and takes a few instructions.
class Blocks {
 public:
  static constexpr std::uint32_t block_bytes_min = 64;
  static constexpr std::uint32_t block_bytes_max = 1 << 20;

  Blocks() = default;

  // Allocates the pool in `layout`; call start() before the first use. `block_bytes` is a power of
  // two from block_bytes_min to block_bytes_max.
  static Blocks lay_out(Layout& layout, Count capacity, Bytes block_bytes) {
    CHECK(std::has_single_bit(block_bytes.count));
    CHECK(block_bytes.count >= block_bytes_min);
    CHECK(block_bytes.count <= block_bytes_max);
    Blocks blocks;
    blocks.shift_ = static_cast<std::uint32_t>(std::countr_zero(block_bytes.count));
    blocks.state_ = layout.place<BlocksState>(Count{1}).data();
    blocks.meta_ = layout.place<BlockMeta>(capacity);
    blocks.data_ = layout.place_bytes(std::uint64_t{capacity.value} << blocks.shift_);
    return blocks;
  }

  // Makes every block free and fresh and resets the counters.
  void start() { *state_ = BlocksState{}; }

  // A free block with next == nil and number == 0, or nil. Its bytes are undefined.
  Index take() {
    Index index = state_->free_head;
    if (index != nil) [[likely]] {
      state_->free_head = meta_.data()[index].next;
    } else if (state_->fresh < capacity()) {
      index = state_->fresh;
      ++state_->fresh;
    } else {
      return nil;
    }
    meta_.data()[index] = BlockMeta{};
    ++state_->used;
    ++state_->takes;
    return index;
  }

  // Returns a block, which must be in use. It is the next one taken, because it is still in cache.
  void give(Index index) {
    BlockMeta& own = meta_[index];
    CHECK(own.number != BlockMeta::free);
    own = {state_->free_head, BlockMeta::free};
    state_->free_head = index;
    --state_->used;
    ++state_->gives;
  }

  BlockMeta& meta(Index index) const { return meta_[index]; }
  std::span<std::byte> bytes(Index index) const {
    CHECK(index < meta_.count());
    return {data_ + (static_cast<std::size_t>(index) << shift_), std::size_t{1} << shift_};
  }

  Bytes block_bytes() const { return {std::uint32_t{1} << shift_}; }
  std::uint32_t block_shift() const { return shift_; }
  std::uint32_t capacity() const { return meta_.count(); }
  std::uint32_t used() const { return state_->used; }
  std::uint32_t available() const { return capacity() - used(); }
  // How many blocks hold data to send, and how many hold received data.
  std::uint32_t written() const { return state_->written; }
  std::uint32_t received() const { return used() - written(); }
  void note_written() { ++state_->written; }
  void note_unwritten() { --state_->written; }
  // How many receivers and how many writers hold blocks.
  std::uint32_t receivers() const { return state_->receivers; }
  void note_receiver() { ++state_->receivers; }
  void note_no_receiver() { --state_->receivers; }
  std::uint32_t writers() const { return state_->writers; }
  void note_writer() { ++state_->writers; }
  void note_no_writer() { --state_->writers; }
  // Promises `count` blocks, at most room_to_receive(), to lent data that may have to be stored.
  // They stay free but are not available to others.
  void promise(Count count) { state_->promised += count.value; }
  // Ends a promise: it is no longer needed, or the blocks were taken.
  void release(Count count) { state_->promised -= count.value; }
  std::uint32_t promised() const { return state_->promised; }
  // Reserves blocks for writing and for receiving; neither use can take the blocks of the other.
  // Call it once, before the first use; without it all blocks serve both.
  void keep(const BlockShare& for_writing, const BlockShare& for_receiving) {
    for_writing_ = for_writing;
    for_receiving_ = for_receiving;
  }
  std::uint32_t room_to_receive() const {
    return beyond(for_writing_, {written(), state_->writers});
  }
  std::uint32_t room_to_write() const {
    return beyond(for_receiving_, {received(), state_->receivers});
  }
  // The most that were ever in use at once; blocks from here on were never touched.
  std::uint32_t high_water() const { return state_->fresh; }
  std::uint64_t takes() const { return state_->takes; }
  std::uint64_t gives() const { return state_->gives; }

 private:
  struct Use {
    std::uint32_t blocks = 0;
    std::uint32_t holders = 0;
  };
  // Available blocks minus what the other use may still claim.
  std::uint32_t beyond(const BlockShare& other, const Use& now) const {
    std::uint32_t const kept = other.kept.value > now.blocks ? other.kept.value - now.blocks : 0;
    std::uint32_t const first =
        other.first.value > now.holders ? other.first.value - now.holders : 0;
    std::uint32_t const reserved = kept > first ? kept : first;
    std::uint32_t const free = available() - state_->promised;
    return free > reserved ? free - reserved : 0;
  }

  BlocksState* state_ = nullptr;
  View<BlockMeta> meta_;
  std::byte* data_ = nullptr;
  std::uint32_t shift_ = 0;
  BlockShare for_writing_;
  BlockShare for_receiving_;
};

}  // namespace lockstep::memory
