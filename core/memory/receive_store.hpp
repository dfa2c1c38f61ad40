// Received bytes stored beyond their frame: sparse, addressed by their position in the stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/memory/blocks.hpp"
#include "core/units/sequence.hpp"

namespace lockstep::memory {

// The byte at position p is in the block with number (p - offset) / block_bytes, at the remainder,
// so holes of whole blocks cost nothing and bytes are never moved. Blocks are chained in stream
// order. Positions wrap at 2^32; those stored at once must be within 2^31 - 1 of each other. The
// owner knows which bytes of a block were written.
//
// A plain value, part of a connection; it holds blocks of the pool until clear(). Always pass the
// same pool. Costs: O(1) at the ends of the chain and where the last call of the same kind ended,
// otherwise one step per block passed.
struct ReceiveStore {
  // Lets blocks begin at `position`, so that the first bytes stored there use as few as possible.
  // Only while no block is held, and none was counted by the functions below for bytes to come.
  void begin_at(const Blocks& blocks, Sequence position) {
    offset = position.value & (blocks.block_bytes().count - 1);
  }

  // How many new blocks `length` bytes at `position` need.
  Count blocks_missing(const Blocks& blocks, Sequence position, Bytes length) const;

  // How many blocks `length` bytes from `position` touch; `length` is not 0.
  std::uint32_t blocks_touched(const Blocks& blocks, Sequence position, Bytes length) const {
    return ((place_of(blocks, position) + length.count - 1) >> blocks.block_shift()) + 1;
  }
  // The place of a byte in its block, from 0.
  std::uint32_t place_of(const Blocks& blocks, Sequence position) const {
    return (position.value - offset) & (blocks.block_bytes().count - 1);
  }

  // Allocates the missing blocks: all of them, or none and false. `length` is under 2^31.
  [[nodiscard]] bool reserve(Blocks& blocks, Sequence position, Bytes length);

  // Copies `bytes` to `position`. The range must be reserved; old content is overwritten.
  void put(const Blocks& blocks, Sequence position, std::span<const std::byte> bytes);

  // The bytes from `position` to the end of their block, at most `limit`; empty if there is no
  // block. Valid until the block is released. Content never put is undefined.
  std::span<const std::byte> at(const Blocks& blocks, Sequence position, Bytes limit);

  // Releases the blocks that are entirely before `position`.
  void release_before(Blocks& blocks, Sequence position);

  // Releases the blocks that begin at or after `position`.
  void release_from(Blocks& blocks, Sequence position);

  // Releases all blocks.
  void clear(Blocks& blocks);

  bool empty() const { return head == nil; }

  // The chain; both nil if it is empty.
  Index head = nil;
  Index tail = nil;
  // Where the last put or reserve, and the last at(), ended; they only shorten searches.
  Index write_hint = nil;
  Index read_hint = nil;
  // The length of the chain.
  std::uint32_t blocks_held = 0;
  // The first position at which a block begins.
  std::uint32_t offset = 0;

 private:
  Sequence base_of(const Blocks& blocks, Sequence position) const {
    return {position.value - place_of(blocks, position)};
  }
  Sequence base_of_block(const Blocks& blocks, Index block) const {
    return {(blocks.meta(block).number << blocks.block_shift()) + offset};
  }
  Index floor(const Blocks& blocks, Sequence base, Index hint) const;
  void insert_after(Blocks& blocks, Index before, Index fresh);
};

}  // namespace lockstep::memory
