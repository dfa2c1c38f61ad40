// The hash table behind demultiplexing: insertion and removal.
#include "core/tcp/demux.hpp"

#include <bit>

#include "core/units/check.hpp"

namespace lockstep::tcp {

Demux Demux::lay_out(memory::Layout& layout, Count entries_max, HashKey key) {
  CHECK(entries_max.value < 1u << 29);
  Demux demux;
  demux.key_ = key;
  demux.mask_ = std::bit_ceil(entries_max.value * 2 + 2) - 1;
  demux.entries_ = layout.place<Entry>(Count{demux.mask_ + 1}).data();
  demux.size_ = layout.place<std::uint32_t>(Count{1}).data();
  return demux;
}

void Demux::start() {
  for (std::uint32_t i = 0; i <= mask_; ++i) {
    entries_[i] = Entry{};
  }
  *size_ = 0;
}

void Demux::insert(std::uint32_t hash, Found entry) {
  CHECK(*size_ <= mask_ / 2);
  std::uint32_t i = hash & mask_;
  while (entries_[i].value != empty) {
    i = (i + 1) & mask_;
  }
  entries_[i] = {hash, encode(entry)};
  ++*size_;
}

void Demux::remove(std::uint32_t hash, Found entry) {
  std::uint32_t hole = place_of(hash, entry);
  // Moves later entries of the run back into the hole, unless they would pass their home.
  for (std::uint32_t i = (hole + 1) & mask_; entries_[i].value != empty; i = (i + 1) & mask_) {
    std::uint32_t const home = entries_[i].hash & mask_;
    if (((i - home) & mask_) >= ((i - hole) & mask_)) {
      entries_[hole] = entries_[i];
      hole = i;
    }
  }
  entries_[hole] = Entry{};
  --*size_;
}

}  // namespace lockstep::tcp
