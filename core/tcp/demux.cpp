// The hash table for demultiplexing: layout and insertion.
#include "core/tcp/demux.hpp"

#include "core/units/check.hpp"

namespace lockstep::tcp {

Demux Demux::lay_out(memory::Layout& layout, Count entries_max, HashKey key) {
  // Index bits are never all ones, so no entry equals `empty`.
  CHECK(entries_max.value < indices);
  Demux demux;
  demux.key_ = key;
  demux.places_ = entries_max.value + entries_max.value / 2 + 2;
  demux.entries_ = layout.place<std::uint32_t>(Count{demux.places_}).data();
  demux.size_ = layout.place<std::uint32_t>(Count{1}).data();
  return demux;
}

void Demux::start() {
  for (std::uint32_t i = 0; i < places_; ++i) {
    entries_[i] = empty;
  }
  *size_ = 0;
}

void Demux::insert(std::uint32_t hash, TableEntry entry) {
  CHECK(*size_ + 1 < places_);
  std::uint32_t i = home_of(hash);
  while (entries_[i] != empty) {
    i = after(i);
  }
  entries_[i] = encode(hash, entry);
  ++*size_;
}

}  // namespace lockstep::tcp
