// The pool of equal data blocks that hold bytes beyond the turn in which they came.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/memory/arena.hpp"

namespace lockstep::memory {

// What its holder notes about a block; kept apart from the data so that chains stay in the cache.
struct BlockMeta {
  // The holder's chain; in a free block, the next free one.
  Index next = nil;
  // The holder's own, any value but BlockMeta::free.
  std::uint32_t number = 0;

  // In `number`: nobody holds this block.
  static constexpr std::uint32_t free = 0xffff'ffff;
};

// The state of the pool, in the arena. Blocks ever taken minus blocks ever given are held by
// somebody: what a checker of conservation compares with the chains that it can reach.
struct BlocksState {
  std::uint64_t takes = 0;
  std::uint64_t gives = 0;
  Index free_head = nil;
  // Blocks from here on were never taken and never touched.
  std::uint32_t fresh = 0;
  std::uint32_t used = 0;
  std::uint32_t written = 0;   // of these, how many hold bytes to send
  std::uint32_t promised = 0;  // of those that are free, how many receiving may still come to need
};

// A handle on the pool. Everything costs O(1) and a few instructions.
class Blocks {
 public:
  static constexpr std::uint32_t block_bytes_min = 64;
  static constexpr std::uint32_t block_bytes_max = 1 << 20;

  Blocks() = default;

  // Takes the pool's place in `layout`; call start() before the first use. `block_bytes` is a
  // power of two from block_bytes_min to block_bytes_max.
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

  // Makes every block free and fresh, and begins to count anew.
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

  // The block must be held. The last one given is the next one taken: it is still in the cache.
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
  // How many hold bytes to send, and how many hold received ones.
  std::uint32_t written() const { return state_->written; }
  std::uint32_t received() const { return used() - written(); }
  void note_written() { ++state_->written; }
  void note_unwritten() { --state_->written; }
  // What is on loan, and may have to be kept, has the promise of `count` blocks: at most
  // room_to_receive(). They stay free, but are no room for others.
  void promise(Count count) { state_->promised += count.value; }
  // The promise is not needed any more, or the blocks are taken now.
  void release(Count count) { state_->promised -= count.value; }
  std::uint32_t promised() const { return state_->promised; }
  // So many blocks are for either use alone: what is received cannot take those of writing, nor
  // the other way round. Set once, before the first use; without it, all are for both.
  void keep(Count for_writing, Count for_receiving) {
    kept_for_writing_ = for_writing.value;
    kept_for_receiving_ = for_receiving.value;
  }
  std::uint32_t room_to_receive() const { return beyond({kept_for_writing_, written()}); }
  std::uint32_t room_to_write() const { return beyond({kept_for_receiving_, received()}); }
  // The most that were ever held at once; blocks from here on were never touched.
  std::uint32_t high_water() const { return state_->fresh; }
  std::uint64_t takes() const { return state_->takes; }
  std::uint64_t gives() const { return state_->gives; }

 private:
  struct Share {
    std::uint32_t kept = 0;
    std::uint32_t held = 0;
  };
  // What is available less what is kept for the other use and not in its hands yet.
  std::uint32_t beyond(Share other) const {
    std::uint32_t const owed = other.kept > other.held ? other.kept - other.held : 0;
    std::uint32_t const free = available() - state_->promised;
    return free > owed ? free - owed : 0;
  }

  BlocksState* state_ = nullptr;
  View<BlockMeta> meta_;
  std::byte* data_ = nullptr;
  std::uint32_t shift_ = 0;
  std::uint32_t kept_for_writing_ = 0;
  std::uint32_t kept_for_receiving_ = 0;
};

}  // namespace lockstep::memory
