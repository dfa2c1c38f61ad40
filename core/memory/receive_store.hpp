// Received bytes that outlive their frame: sparse, found by their position in the stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/memory/blocks.hpp"
#include "core/units/sequence.hpp"

namespace lockstep::memory {

// The byte at position p lies in the block with number p / block_bytes, at p % block_bytes, so a
// hole costs nothing that is not a whole block and no byte is ever moved. Blocks are chained in the
// order of the stream. Positions wrap at 2^32; all that are held at once must lie within 2^31 - 1
// of each other. Which bytes of a block were written is the owner's knowledge.
//
// A plain value, part of a connection; it holds blocks of the pool until clear(). Pass the same
// pool always. Costs: O(1) at the ends of the chain and from where the last call of the same kind
// left off, else a step for each block that is passed.
struct ReceiveStore {
  // How many new blocks would be needed for `length` bytes at `position`.
  Count blocks_missing(const Blocks& blocks, Sequence position, Bytes length) const;

  // How many blocks `length` bytes from `position` lie in; `length` is not 0.
  static std::uint32_t blocks_touched(const Blocks& blocks, Sequence position, Bytes length) {
    std::uint32_t const skipped = position.value & (blocks.block_bytes().count - 1);
    return ((skipped + length.count - 1) >> blocks.block_shift()) + 1;
  }

  // Takes the missing blocks: all of them, or none and false. `length` is under 2^31.
  [[nodiscard]] bool reserve(Blocks& blocks, Sequence position, Bytes length);

  // Copies `bytes` to `position`. The range must be reserved; what was there is replaced.
  void put(const Blocks& blocks, Sequence position, std::span<const std::byte> bytes);

  // The bytes from `position` up to the end of their block, at most `limit`; empty where no block
  // is. Valid until the block is released. Undefined content where nothing was put.
  std::span<const std::byte> at(const Blocks& blocks, Sequence position, Bytes limit);

  // Gives back the blocks that lie wholly before `position`.
  void release_before(Blocks& blocks, Sequence position);

  // Gives back the blocks that begin at or after `position`.
  void release_from(Blocks& blocks, Sequence position);

  // Gives back all blocks.
  void clear(Blocks& blocks);

  bool empty() const { return head == nil; }

  // The chain, both nil when it is empty.
  Index head = nil;
  Index tail = nil;
  // Where the last put or reserve, and the last at, left off; only ever make a search shorter.
  Index write_hint = nil;
  Index read_hint = nil;
  // The length of the chain.
  std::uint32_t blocks_held = 0;

 private:
  Index floor(const Blocks& blocks, Sequence base, Index hint) const;
  void insert_after(Blocks& blocks, Index before, Index fresh);
};

}  // namespace lockstep::memory
