// Bytes to send, until acknowledged: copied ones in blocks, lent ones by reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/memory/blocks.hpp"
#include "core/memory/region.hpp"
#include "core/memory/slots.hpp"

namespace lockstep::memory {

enum class SourceKind : std::uint8_t { bytes, loan };

// A run of bytes of the same kind in the stream; never empty.
struct Piece {
  // bytes: the start in the first block; loan: the offset in the region.
  std::uint64_t offset = 0;
  std::uint32_t length = 0;
  Index next = nil;
  // bytes: the chain of blocks.
  Index first_block = nil;
  Index last_block = nil;
  // bytes: the filled octets of the last block; loan: the region.
  std::uint32_t fill = 0;
  RegionId region{};
  SourceKind kind = SourceKind::bytes;
  bool ends_record = false;  // nothing more is appended to it
};

// The pools that all send stores share.
struct BytePools {
  Blocks blocks;
  Slots<Piece> pieces;
};

// Where to copy payload from. `bytes`: the span (`length` bytes, valid until they are dropped);
// `loan`: an offset in a region, and the span is empty.
struct Source {
  std::span<const std::byte> bytes;
  std::uint64_t offset = 0;
  Bytes length{};
  RegionId region{};
  SourceKind kind = SourceKind::bytes;
};

// A part of an application's region.
struct Loan {
  std::uint64_t offset = 0;
  Bytes length{};
  RegionId region{};
};

class SendCursor;

// A first-in first-out sequence of bytes; the front is the first unacknowledged byte.
//
// A plain value, part of a connection; it holds blocks and pieces of the pools until clear().
// Always pass the same pools. It holds at most length_max bytes.
struct SendStore {
  static constexpr std::uint32_t length_max = 0x7fff'ffff;

  // Copies as much of `bytes` as fits into the available blocks and pieces, filling the last block
  // first, and returns how much. O(blocks taken).
  [[nodiscard]] Bytes append(BytePools& pools, std::span<const std::byte> bytes);

  // Appends a loan without copying, merged with the previous one if contiguous. Returns how much
  // was accepted: all, or as much as length_max leaves, or nothing if no piece is free.
  [[nodiscard]] Bytes append_loan(BytePools& pools, const Loan& loan);

  // Marks the last byte, if any, as the end of a record: later data gets new pieces, and so new
  // blocks. O(1).
  void end_record(BytePools& pools);

  // How many bytes of the range, whose first byte must be in the store, precede the next record end
  // with data behind it; the whole range if there is none. Searches as walk() does.
  struct Range {
    Bytes from;
    Bytes limit;
  };
  Bytes within_record(const BytePools& pools, Range range) const;

  // Removes `count` acknowledged bytes, at most length(), and releases what held only them.
  void drop_front(BytePools& pools, Bytes count);

  // The sources of at most `limit` bytes starting `from` bytes behind the front; both may exceed
  // the end. O(1) at the front and where the last walk ended (one position each is remembered for
  // new and for older bytes); otherwise one step per block or loan passed.
  SendCursor walk(const BytePools& pools, Range range);

  // The bytes of the range if all of them are in the first block, so that a short message needs no
  // walk; otherwise empty.
  std::span<const std::byte> in_first_block(const BytePools& pools, Range range) const;

  // Releases everything.
  void clear(BytePools& pools);

  // Whether append() needs no new piece.
  bool extends(const BytePools& pools) const {
    return tail != nil && pools.pieces[tail].kind == SourceKind::bytes &&
           !pools.pieces[tail].ends_record;
  }
  // How many bytes can be appended without a new block.
  Bytes room_in_last(const BytePools& pools) const {
    return {extends(pools) ? pools.blocks.block_bytes().count - pools.pieces[tail].fill : 0};
  }

  Bytes length() const { return {held}; }
  bool empty() const { return held == 0; }

  // A block of copied bytes, or a whole loan, and the position of its first byte in the store.
  struct Place {
    Index piece = nil;
    Index block = nil;
    std::uint32_t start = 0;
  };

  // The chain of pieces; both nil if it is empty.
  Index head = nil;
  Index tail = nil;
  // Positions count appended bytes modulo 2^32; this is the position of the front.
  std::uint32_t front = 0;
  std::uint32_t held = 0;
  // How many record ends are stored; a run never contains bytes from both sides of one.
  std::uint32_t record_ends = 0;
  std::uint32_t blocks_held = 0;
  // Where walks ended; no piece if unknown. They only shorten searches.
  Place newest;
  Place older;

 private:
  friend class SendCursor;
  Index open_block(BytePools& pools);
  Place find(const BytePools& pools, std::uint32_t position) const;
  void remember(const Place& place);
};

// Yields the sources of a range one by one. Must be finished before the store changes.
class SendCursor {
 public:
  // The next source, as long as possible; false at the end of the range.
  [[nodiscard]] bool next(Source& out);
  // The bytes not yet returned.
  Bytes left() const { return {left_}; }

 private:
  friend struct SendStore;
  const BytePools* pools_ = nullptr;
  SendStore* store_ = nullptr;
  SendStore::Place place_;
  std::uint32_t position_ = 0;
  std::uint32_t left_ = 0;
};

// The code below runs for each segment that is sent.
namespace send {

// Whether a is before b, modulo 2^32.
inline bool position_before(const SendStore::Place& a, const SendStore::Place& b) {
  return static_cast<std::int32_t>(a.start - b.start) < 0;
}

// The offset of the place in its block or region.
inline std::uint64_t offset_of(const Piece& piece, Index block) {
  return block == piece.first_block ? piece.offset : 0;
}

// How many bytes of the piece are in the block; for a loan, all.
inline std::uint32_t length_of(const BytePools& pools, const Piece& piece, Index block) {
  if (piece.kind == SourceKind::loan) {
    return piece.length;
  }
  std::uint32_t const end =
      block == piece.last_block ? piece.fill : pools.blocks.block_bytes().count;
  return end - static_cast<std::uint32_t>(offset_of(piece, block));
}

inline std::uint32_t length_of(const BytePools& pools, const SendStore::Place& place) {
  return length_of(pools, pools.pieces[place.piece], place.block);
}

// The next place; without a piece if this is the last one.
inline SendStore::Place following(const BytePools& pools, const SendStore::Place& place) {
  const Piece& piece = pools.pieces[place.piece];
  std::uint32_t const start = place.start + length_of(pools, place);
  if (place.block != piece.last_block) {
    return {place.piece, pools.blocks.meta(place.block).next, start};
  }
  Index const next = piece.next;
  return {next, next == nil ? nil : pools.pieces[next].first_block, start};
}

}  // namespace send

// The place of the byte at `position`, which must be in the store.
inline SendStore::Place SendStore::find(const BytePools& pools, std::uint32_t position) const {
  Place const wanted{.start = position};
  Place place = newest;
  if (newest.piece == nil || send::position_before(wanted, newest)) [[unlikely]] {
    bool const from_older = older.piece != nil && !send::position_before(wanted, older);
    place = from_older ? older : Place{head, pools.pieces[head].first_block, front};
  }
  while (position - place.start >= send::length_of(pools, place)) {
    place = send::following(pools, place);
  }
  return place;
}

inline void SendStore::remember(const Place& place) {
  bool const older_than_newest = newest.piece != nil && send::position_before(place, newest);
  (older_than_newest ? older : newest) = place;
}

inline std::span<const std::byte> SendStore::in_first_block(const BytePools& pools,
                                                            Range range) const {
  if (head == nil) {
    return {};
  }
  const Piece& piece = pools.pieces[head];
  std::uint64_t const offset = piece.offset + range.from.count;
  std::uint32_t const end =
      piece.first_block == piece.last_block ? piece.fill : pools.blocks.block_bytes().count;
  if (piece.kind == SourceKind::loan || offset + range.limit.count > end) {
    return {};
  }
  return pools.blocks.bytes(piece.first_block)
      .subspan(static_cast<std::size_t>(offset), range.limit.count);
}

inline SendCursor SendStore::walk(const BytePools& pools, Range range) {
  SendCursor cursor;
  if (range.from.count >= held || range.limit.empty()) {
    return cursor;
  }
  cursor.pools_ = &pools;
  cursor.store_ = this;
  cursor.position_ = front + range.from.count;
  cursor.left_ = least(range.limit, length() - range.from).count;
  cursor.place_ = find(pools, cursor.position_);
  return cursor;
}

inline bool SendCursor::next(Source& out) {
  if (left_ == 0) {
    return false;
  }
  const Piece& piece = pools_->pieces[place_.piece];
  std::uint32_t const skip = position_ - place_.start;
  std::uint32_t const rest = send::length_of(*pools_, piece, place_.block) - skip;
  std::uint32_t const count = left_ < rest ? left_ : rest;
  std::uint64_t const offset = send::offset_of(piece, place_.block) + skip;
  if (piece.kind == SourceKind::loan) {
    out = {{}, offset, {count}, piece.region, SourceKind::loan};
  } else {
    auto const block = pools_->blocks.bytes(place_.block);
    out = {
        block.subspan(static_cast<std::size_t>(offset), count), 0, {count}, {}, SourceKind::bytes};
  }
  position_ += count;
  left_ -= count;
  if (left_ == 0) {
    store_->remember(place_);
  } else {
    place_ = send::following(*pools_, place_);
  }
  return true;
}

}  // namespace lockstep::memory
