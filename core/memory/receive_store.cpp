// Finding, filling and releasing the blocks of received bytes.
#include "core/memory/receive_store.hpp"

#include <cstring>

namespace lockstep::memory {

// The last block that begins at or before `base`; nil if none does.
Index ReceiveStore::floor(const Blocks& blocks, Sequence base, Index hint) const {
  if (head == nil || base_of_block(blocks, head).after(base)) {
    return nil;
  }
  if (base_of_block(blocks, tail).at_or_before(base)) {
    return tail;
  }
  Index block = hint != nil && base_of_block(blocks, hint).at_or_before(base) ? hint : head;
  Index next = blocks.meta(block).next;
  // The tail is behind `base`, so the search ends before the chain does.
  while (base_of_block(blocks, next).at_or_before(base)) {
    block = next;
    next = blocks.meta(block).next;
  }
  return block;
}

Count ReceiveStore::blocks_missing(const Blocks& blocks, Sequence position, Bytes length) const {
  if (length.empty()) {
    return {0};
  }
  CHECK(length.count <= 0x7fff'ffff);
  Sequence const base = base_of(blocks, position);
  Sequence const last = base_of(blocks, position + length - Bytes{1});
  std::uint32_t missing = blocks_touched(blocks, position, length);
  Index block = floor(blocks, base, write_hint);
  if (block == nil) {
    block = head;
  } else if (base_of_block(blocks, block) != base) {
    block = blocks.meta(block).next;
  }
  while (block != nil && base_of_block(blocks, block).at_or_before(last)) {
    --missing;
    block = blocks.meta(block).next;
  }
  return {missing};
}

void ReceiveStore::insert_after(Blocks& blocks, Index before, Index fresh) {
  Index& link = before == nil ? head : blocks.meta(before).next;
  blocks.meta(fresh).next = link;
  link = fresh;
  if (tail == before) {
    tail = fresh;
  }
  if (blocks_held == 0) {
    blocks.note_receiver();
  }
  ++blocks_held;
}

bool ReceiveStore::reserve(Blocks& blocks, Sequence position, Bytes length) {
  if (length.empty()) {
    return true;
  }
  CHECK(length.count <= 0x7fff'ffff);
  // Missing blocks are counted only if there might be too few.
  std::uint32_t const touched = blocks_touched(blocks, position, length);
  std::uint32_t const room = blocks.room_to_receive();
  if (touched > room && blocks_missing(blocks, position, length).value > room) {
    return false;
  }
  Sequence base = base_of(blocks, position);
  Index block = floor(blocks, base, write_hint);
  for (std::uint32_t i = 0; i < touched; ++i) {
    Index const next = block == nil ? head : blocks.meta(block).next;
    if (block != nil && base_of_block(blocks, block) == base) {
      // Already there.
    } else if (next != nil && base_of_block(blocks, next) == base) {
      block = next;
    } else {
      Index const fresh = blocks.take();
      CHECK(fresh != nil);
      blocks.meta(fresh).number = (base.value - offset) >> blocks.block_shift();
      insert_after(blocks, block, fresh);
      block = fresh;
    }
    // The bytes are put from here on.
    write_hint = i == 0 ? block : write_hint;
    base = base + blocks.block_bytes();
  }
  return true;
}

void ReceiveStore::put(const Blocks& blocks, Sequence position, std::span<const std::byte> bytes) {
  if (bytes.empty()) {
    return;
  }
  Index block = floor(blocks, base_of(blocks, position), write_hint);
  while (!bytes.empty()) {
    CHECK(block != nil);
    CHECK(base_of_block(blocks, block) == base_of(blocks, position));
    std::span<std::byte> const room = blocks.bytes(block).subspan(place_of(blocks, position));
    std::size_t const count = bytes.size() < room.size() ? bytes.size() : room.size();
    std::memcpy(room.data(), bytes.data(), count);
    bytes = bytes.subspan(count);
    position = position + Bytes{static_cast<std::uint32_t>(count)};
    write_hint = block;
    block = blocks.meta(block).next;
  }
}

std::span<const std::byte> ReceiveStore::at(const Blocks& blocks, Sequence position, Bytes limit) {
  Sequence const base = base_of(blocks, position);
  Index const block = floor(blocks, base, read_hint);
  if (block == nil || base_of_block(blocks, block) != base) {
    return {};
  }
  read_hint = block;
  std::span<const std::byte> const rest = blocks.bytes(block).subspan(position.value - base.value);
  return rest.first(rest.size() < limit.count ? rest.size() : limit.count);
}

void ReceiveStore::release_before(Blocks& blocks, Sequence position) {
  bool const held = head != nil;
  while (head != nil &&
         (base_of_block(blocks, head) + blocks.block_bytes()).at_or_before(position)) {
    Index const block = head;
    head = blocks.meta(block).next;
    write_hint = write_hint == block ? nil : write_hint;
    read_hint = read_hint == block ? nil : read_hint;
    blocks.give(block);
    --blocks_held;
  }
  if (head == nil && held) {
    tail = nil;
    blocks.note_no_receiver();
  }
}

void ReceiveStore::release_from(Blocks& blocks, Sequence position) {
  Index last = nil;
  Index block = head;
  while (block != nil && base_of_block(blocks, block).before(position)) {
    last = block;
    block = blocks.meta(block).next;
  }
  (last == nil ? head : blocks.meta(last).next) = nil;
  tail = last;
  write_hint = nil;
  read_hint = nil;
  while (block != nil) {
    Index const next = blocks.meta(block).next;
    blocks.give(block);
    --blocks_held;
    block = next;
    if (block == nil && head == nil) {
      blocks.note_no_receiver();
    }
  }
}

void ReceiveStore::clear(Blocks& blocks) {
  if (head != nil) {
    blocks.note_no_receiver();
  }
  while (head != nil) {
    Index const block = head;
    head = blocks.meta(block).next;
    blocks.give(block);
  }
  *this = ReceiveStore{};
}

}  // namespace lockstep::memory
