// Pages, places, and the fence that shows the engine what was stored.
#include "hw/mpipe/model/memory.hpp"

#include <cstring>

#include "core/units/check.hpp"

namespace lockstep::hw::mpipe {

Memory::Memory(std::uint32_t bytes)
    : bytes_(std::size_t{bytes} + block_bytes),
      first_(bytes_.data() + (block_bytes - reinterpret_cast<std::uintptr_t>(bytes_.data()) %
                                                block_bytes)),
      visible_(bytes),
      places_(bytes / block_bytes) {}

void Memory::copy_from(const Memory& other) {
  std::memcpy(first_, other.first_, visible_.size());
  visible_ = other.visible_;
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
  if (end > visible_.size()) {
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
    std::memset(first_, 0, used_);
    std::memset(visible_.data(), 0, used_);
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
  return wanted >= first_ && wanted < first_ + visible_.size();
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
  if (block.place != Place::nowhere) {
    --counts_[static_cast<std::uint32_t>(block.place)];
  }
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

void Memory::fill(const Extent& buffer, std::byte with) {
  std::memset(at(buffer.base), std::to_integer<int>(with), buffer.bytes);
}

}  // namespace lockstep::hw::mpipe
