// Appending and dropping bytes to send.
#include "core/memory/send_store.hpp"

#include <cstring>

namespace lockstep::memory {

using send::length_of;
using send::position_before;
using Place = SendStore::Place;

// Makes space in a block after the last byte; returns the piece, or nil if a pool is empty.
Index SendStore::open_block(BytePools& pools) {
  bool const grows = extends(pools);
  if (grows && pools.pieces[tail].fill < pools.blocks.block_bytes().count) {
    return tail;
  }
  if (!grows && pools.pieces.available() == 0) {
    return nil;
  }
  Index const block = pools.blocks.take();
  if (block == nil) {
    return nil;
  }
  pools.blocks.note_written();
  if (blocks_held == 0) {
    pools.blocks.note_writer();
  }
  ++blocks_held;
  if (grows) {
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
        last.offset + last.length == loan.offset && !last.ends_record) {
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

void SendStore::end_record(BytePools& pools) {
  if (tail != nil && !pools.pieces[tail].ends_record) {
    pools.pieces[tail].ends_record = true;
    ++record_ends;
  }
}

Bytes SendStore::within_record(const BytePools& pools, Range range) const {
  CHECK(range.from.count < held);
  std::uint32_t const position = front + range.from.count;
  Place place = find(pools, position);
  std::uint32_t end = place.start + length_of(pools, place);
  while (end - position < range.limit.count) {
    Piece const& piece = pools.pieces[place.piece];
    bool const ends = place.block == piece.last_block && piece.ends_record;
    place = send::following(pools, place);
    if (place.piece == nil) {
      break;
    }
    if (ends) {
      return {end - position};
    }
    end += length_of(pools, place);
  }
  return range.limit;
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
      pools.blocks.note_unwritten();
      --blocks_held;
      if (blocks_held == 0) {
        pools.blocks.note_no_writer();
      }
    }
    if (piece.length == 0) {
      head = piece.next;
      record_ends -= piece.ends_record ? 1 : 0;
      pools.pieces.give(index);
    }
    front += eaten;
    held -= eaten;
    left -= eaten;
  }
  if (head == nil) {
    tail = nil;
    newest = Place{};
    older = Place{};
    return;
  }
  // A hint before the front is stale or is the front itself, which needs no hint.
  Place const first{.start = front};
  for (Place* hint : {&newest, &older}) {
    if (hint->piece != nil && position_before(*hint, first)) {
      *hint = Place{};
    }
  }
}

void SendStore::clear(BytePools& pools) {
  if (!empty()) {
    drop_front(pools, length());
  }
  *this = SendStore{};
}

}  // namespace lockstep::memory
