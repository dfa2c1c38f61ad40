// malloc, calloc, aligned_alloc and free over the kernel's pages: free lists by powers of two.
#include <cstdlib>
#include <cstring>

#include "tools/dev/tilegx/runtime/kernel.hpp"

namespace lockstep::tilegx {
namespace {

// Lies directly below the returned address.
struct Tag {
  std::byte* block;     // start of the block
  std::uint64_t bytes;  // total length
};

struct FreeBlock {
  FreeBlock* next;
};

constexpr std::size_t least_bits = 6;
constexpr std::size_t most_bits = 16;  // longer blocks get their own pages
constexpr std::size_t most_bytes = std::size_t{1} << most_bits;
constexpr std::size_t chunk_bytes = page_bytes * 16;

FreeBlock* free_blocks[most_bits + 1];
std::byte* chunk;
std::size_t chunk_left;

std::size_t bits_for(std::size_t bytes) {
  std::size_t bits = least_bits;
  while ((std::size_t{1} << bits) < bytes) {
    ++bits;
  }
  return bits;
}

std::byte* from_chunk(std::size_t bytes) {
  if (chunk_left < bytes) {
    chunk = take_pages(chunk_bytes);
    chunk_left = chunk == nullptr ? 0 : chunk_bytes;
    if (chunk == nullptr) {
      return nullptr;
    }
  }
  std::byte* const block = chunk;
  chunk += bytes;
  chunk_left -= bytes;
  return block;
}

std::byte* take_block(std::size_t& bytes) {
  if (bytes > most_bytes) {
    bytes = (bytes + page_bytes - 1) / page_bytes * page_bytes;
    return take_pages(bytes);
  }
  std::size_t const bits = bits_for(bytes);
  bytes = std::size_t{1} << bits;
  FreeBlock* const first = free_blocks[bits];
  if (first == nullptr) {
    return from_chunk(bytes);
  }
  free_blocks[bits] = first->next;
  return reinterpret_cast<std::byte*>(first);
}

void* obtain(std::size_t wanted, std::size_t alignment) {
  std::size_t const around = sizeof(Tag) + alignment;
  if (wanted > SIZE_MAX / 2 - around) {
    return nullptr;
  }
  std::size_t bytes = wanted + around;
  std::byte* const block = take_block(bytes);
  if (block == nullptr) {
    return nullptr;
  }
  auto const first = reinterpret_cast<std::uintptr_t>(block) + sizeof(Tag);
  auto const aligned = (first + alignment - 1) / alignment * alignment;
  reinterpret_cast<Tag*>(aligned)[-1] = {block, bytes};
  return reinterpret_cast<void*>(aligned);
}

}  // namespace
}  // namespace lockstep::tilegx

extern "C" {

void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  using namespace lockstep::tilegx;
  return obtain(bytes, alignment < alignof(Tag) ? alignof(Tag) : alignment);
}

void* malloc(std::size_t bytes) { return aligned_alloc(16, bytes); }

void* calloc(std::size_t count, std::size_t each) {
  if (each != 0 && count > SIZE_MAX / each) {
    return nullptr;
  }
  void* const memory = malloc(count * each);
  return memory == nullptr ? nullptr : memset(memory, 0, count * each);
}

void free(void* memory) {
  using namespace lockstep::tilegx;
  if (memory == nullptr) {
    return;
  }
  Tag const tag = static_cast<Tag*>(memory)[-1];
  if (tag.bytes > most_bytes) {
    give_pages_back(tag.block, tag.bytes);
    return;
  }
  auto* const block = reinterpret_cast<FreeBlock*>(tag.block);
  std::size_t const bits = bits_for(tag.bytes);
  block->next = free_blocks[bits];
  free_blocks[bits] = block;
}

}  // extern "C"
