// Appending, walking and dropping the bytes to send.
#include "core/memory/send_store.hpp"

#include <cstring>

namespace lockstep::memory {
namespace {

using Place = SendStore::Place;

// a before b, around the circle of positions.
bool position_before(const Place& a, const Place& b) {
  return static_cast<std::int32_t>(a.start - b.start) < 0;
}

// Where in its block or region the place begins.
std::uint64_t offset_of(const Piece& piece, Index block) {
  return block == piece.first_block ? piece.offset : 0;
}

// How many bytes of the piece the block holds; of a loan, all.
std::uint32_t length_of(const BytePools& pools, const Piece& piece, Index block) {
  if (piece.kind == SourceKind::loan) {
    return piece.length;
  }
  std::uint32_t const end =
      block == piece.last_block ? piece.fill : pools.blocks.block_bytes().count;
  return end - static_cast<std::uint32_t>(offset_of(piece, block));
}

std::uint32_t length_of(const BytePools& pools, const Place& place) {
  return length_of(pools, pools.pieces[place.piece], place.block);
}

// The place behind this one; it has no piece if this is the last one.
Place following(const BytePools& pools, const Place& place) {
  const Piece& piece = pools.pieces[place.piece];
  std::uint32_t const start = place.start + length_of(pools, place);
  if (place.block != piece.last_block) {
    return {place.piece, pools.blocks.meta(place.block).next, start};
  }
  Index const next = piece.next;
  return {next, next == nil ? nil : pools.pieces[next].first_block, start};
}

}  // namespace

// Makes room in a block behind the last byte; returns the piece, or nil if a pool is empty.
Index SendStore::open_block(BytePools& pools) {
  bool const extends = tail != nil && pools.pieces[tail].kind == SourceKind::bytes;
  if (extends && pools.pieces[tail].fill < pools.blocks.block_bytes().count) {
    return tail;
  }
  if (!extends && pools.pieces.available() == 0) {
    return nil;
  }
  Index const block = pools.blocks.take();
  if (block == nil) {
    return nil;
  }
  if (extends) {
    Piece& piece = pools.pieces[tail];
    pools.blocks.meta(piece.last_block).next = block;
    piece.last_block = block;
    piece.fill = 0;
    return tail;
  }
  Index const fresh = pools.pieces.take();
  pools.pieces[fresh] = Piece{.first_block = block, .last_block = block};
  (tail == nil ? head : pools.pieces[tail].next) = fresh;
  tail = fresh;
  return fresh;
}

Bytes SendStore::append(BytePools& pools, std::span<const std::byte> bytes) {
  std::uint32_t const room = length_max - held;
  std::uint32_t left = bytes.size() < room ? static_cast<std::uint32_t>(bytes.size()) : room;
  std::uint32_t taken = 0;
  while (left != 0) {
    Index const index = open_block(pools);
    if (index == nil) {
      break;
    }
    Piece& piece = pools.pieces[index];
    std::uint32_t const free = pools.blocks.block_bytes().count - piece.fill;
    std::uint32_t const count = left < free ? left : free;
    std::memcpy(pools.blocks.bytes(piece.last_block).data() + piece.fill, bytes.data() + taken,
                count);
    piece.fill += count;
    piece.length += count;
    held += count;
    taken += count;
    left -= count;
  }
  return {taken};
}

Bytes SendStore::append_loan(BytePools& pools, const Loan& loan) {
  Bytes const taken = least(loan.length, {length_max - held});
  if (taken.empty()) {
    return {0};
  }
  if (tail != nil) {
    Piece& last = pools.pieces[tail];
    if (last.kind == SourceKind::loan && last.region == loan.region &&
        last.offset + last.length == loan.offset) {
      last.length += taken.count;
      held += taken.count;
      return taken;
    }
  }
  Index const fresh = pools.pieces.take();
  if (fresh == nil) {
    return {0};
  }
  pools.pieces[fresh] = Piece{.offset = loan.offset,
                              .length = taken.count,
                              .region = loan.region,
                              .kind = SourceKind::loan};
  (tail == nil ? head : pools.pieces[tail].next) = fresh;
  tail = fresh;
  held += taken.count;
  return taken;
}

void SendStore::drop_front(BytePools& pools, Bytes count) {
  CHECK(count.count <= held);
  std::uint32_t left = count.count;
  while (left != 0) {
    Index const index = head;
    Piece& piece = pools.pieces[index];
    std::uint32_t const length = length_of(pools, piece, piece.first_block);
    std::uint32_t const eaten = left < length ? left : length;
    piece.offset += eaten;
    piece.length -= eaten;
    if (piece.kind == SourceKind::bytes && eaten == length) {
      Index const block = piece.first_block;
      piece.first_block = pools.blocks.meta(block).next;
      piece.offset = 0;
      pools.blocks.give(block);
    }
    if (piece.length == 0) {
      head = piece.next;
      pools.pieces.give(index);
    }
    front += eaten;
    held -= eaten;
    left -= eaten;
  }
  if (head == nil) {
    tail = nil;
  }
  // What begins before the front is gone or is the front's own place, which is known anyway.
  Place const first{.start = front};
  for (Place* hint : {&newest, &older}) {
    if (hint->piece != nil && position_before(*hint, first)) {
      *hint = Place{};
    }
  }
}

// The place that holds the byte at `position`, which is held.
Place SendStore::find(const BytePools& pools, std::uint32_t position) const {
  Place const wanted{.start = position};
  Place place{head, pools.pieces[head].first_block, front};
  for (const Place* hint : {&older, &newest}) {
    if (hint->piece != nil && !position_before(wanted, *hint) && position_before(place, *hint)) {
      place = *hint;
    }
  }
  while (position - place.start >= length_of(pools, place)) {
    place = following(pools, place);
  }
  return place;
}

void SendStore::remember(const Place& place) {
  bool const older_than_newest = newest.piece != nil && position_before(place, newest);
  (older_than_newest ? older : newest) = place;
}

SendCursor SendStore::walk(const BytePools& pools, Range range) {
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

void SendStore::clear(BytePools& pools) {
  drop_front(pools, length());
  *this = SendStore{};
}

bool SendCursor::next(Source& out) {
  if (left_ == 0) {
    return false;
  }
  const Piece& piece = pools_->pieces[place_.piece];
  std::uint32_t const skip = position_ - place_.start;
  std::uint32_t const rest = length_of(*pools_, piece, place_.block) - skip;
  std::uint32_t const count = left_ < rest ? left_ : rest;
  std::uint64_t const offset = offset_of(piece, place_.block) + skip;
  if (piece.kind == SourceKind::loan) {
    out = {{}, offset, {count}, piece.region, SourceKind::loan};
  } else {
    auto const block = pools_->blocks.bytes(place_.block);
    out = {block.subspan(static_cast<std::size_t>(offset), count), 0, {count}, {},
           SourceKind::bytes};
  }
  position_ += count;
  left_ -= count;
  if (left_ == 0) {
    store_->remember(place_);
  } else {
    place_ = following(*pools_, place_);
  }
  return true;
}

}  // namespace lockstep::memory
