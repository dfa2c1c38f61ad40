// Pages, ownership of buffers, and the fence that makes stores visible to the engine.
#include "hw/mpipe/model/memory.hpp"

#include <cstdlib>
#include <cstring>

#include "core/units/check.hpp"

namespace lockstep::hw::mpipe {
namespace {

std::byte* first_block(ZeroOctets& octets) {
  std::size_t const past = reinterpret_cast<std::uintptr_t>(octets.data()) % Memory::block_bytes;
  return octets.data() + (Memory::block_bytes - past);
}

}  // namespace

ZeroOctets::ZeroOctets(std::size_t bytes)
    : octets_(static_cast<std::byte*>(std::calloc(bytes, 1))) {
  CHECK(octets_ != nullptr);
}

void ZeroOctets::Free::operator()(std::byte* octets) const { std::free(octets); }

Memory::Memory(std::uint32_t bytes)
    : size_(bytes),
      octets_(std::size_t{bytes} + block_bytes),
      first_(first_block(octets_)),
      visible_(bytes),
      places_(bytes / block_bytes) {}

void Memory::copy_from(const Memory& other) {
  CHECK(size_ == other.size_);
  std::memcpy(first_, other.first_, size_);
  std::memcpy(visible_.data(), other.visible_.data(), size_);
  places_ = other.places_;
  held_ = other.held_;
  std::memcpy(counts_, other.counts_, sizeof counts_);
  used_ = other.used_;
  obtained_ = other.obtained_;
  homed_ = other.homed_;
}

std::byte* Memory::obtain(std::uint64_t bytes, std::uint32_t page_bytes, int home) {
  std::uint64_t const page = page_bytes;
  std::uint64_t const begin = (used_ + page - 1) / page * page;
  std::uint64_t const end = begin + (bytes + page - 1) / page * page;
  if (end > size_) {
    return nullptr;
  }
  used_ = static_cast<std::uint32_t>(end);
  ++obtained_;
  homed_.push_back({used_, home});
  return first_ + begin;
}

bool Memory::release(const void* pages) {
  if (obtained_ == 0 || !holds(pages)) {
    return false;
  }
  if (--obtained_ == 0) {
    octets_ = ZeroOctets(std::size_t{size_} + block_bytes);
    first_ = first_block(octets_);
    visible_ = ZeroOctets(size_);
    places_.assign(places_.size(), {});
    held_.clear();
    std::memset(counts_, 0, sizeof counts_);
    used_ = 0;
    homed_.clear();
  }
  return true;
}

int Memory::home_of(const void* pointer) const {
  std::uint32_t const at = offset_of(pointer).value;
  for (Homed const& each : homed_) {
    if (at < each.end) {
      return each.home;
    }
  }
  CHECK(false);
  return 0;
}

bool Memory::holds(const void* pointer) const {
  auto const* const wanted = static_cast<const std::byte*>(pointer);
  return wanted >= first_ && wanted < first_ + size_;
}

Offset Memory::offset_of(const void* pointer) const {
  return {static_cast<std::uint32_t>(static_cast<const std::byte*>(pointer) - first_)};
}

void Memory::move(const Extent& buffer, Place to) {
  Block& block = places_[buffer.base.value / block_bytes];
  if (block.place == Place::driver) {
    Extent const last = held_.back();
    held_[block.held_at] = last;
    places_[last.base.value / block_bytes].held_at = block.held_at;
    held_.pop_back();
  }
  bool const fresh = block.place == Place::nowhere;
  if (!fresh) {
    --counts_[static_cast<std::uint32_t>(block.place)];
  }
  if (to == Place::stack ? !fresh : block.fresh) {
    std::memset(at(buffer.base), std::to_integer<int>(poison), buffer.bytes);
  }
  block.fresh = to == Place::stack && fresh;
  block.place = to;
  ++counts_[static_cast<std::uint32_t>(to)];
  if (to == Place::driver) {
    block.held_at = static_cast<std::uint32_t>(held_.size());
    held_.push_back(buffer);
  }
}

void Memory::fence() {
  for (const Extent& each : held_) {
    std::memcpy(visible_.data() + each.base.value, at(each.base), each.bytes);
  }
}

}  // namespace lockstep::hw::mpipe
