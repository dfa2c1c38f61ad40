// Which connection, TIME-WAIT record or listener a segment belongs to: a keyed hash table.
#pragma once

#include <cstdint>

#include "core/memory/arena.hpp"
#include "core/tcp/interface.hpp"
#include "core/units/address.hpp"
#include "core/units/hash.hpp"

namespace lockstep::tcp {

// What an entry of the table stands for.
enum class EntryKind : std::uint32_t { connection = 0, time_wait = 1, listener = 2, none = 3 };

struct Found {
  EntryKind kind = EntryKind::none;
  memory::Index index = memory::nil;
};

// Open addressing with linear probing and no tombstones, at most half full, so a look-up is O(1)
// whatever the number of connections. The key keeps an outsider from making chains.
class Demux {
 public:
  struct Entry {
    std::uint32_t hash = 0;
    std::uint32_t value = empty;  // kind in the upper two bits
  };
  static constexpr std::uint32_t empty = 0xffff'ffff;

  Demux() = default;
  static Demux lay_out(memory::Layout& layout, Count entries_max, HashKey key);
  void start();

  // The hash of a listener's sockets. Not keyed: who listens is the application's choice alone.
  static std::uint32_t listener_hash(const Local& listener) {
    Fingerprint hash;
    hash.add(std::uint64_t{listener.port.value} << 16 | listener.remote.port.value);
    if (!listener.address.is_unspecified() || !listener.remote.address.is_unspecified()) {
      hash.add(listener.address.high);
      hash.add(listener.address.low);
      hash.add(listener.remote.address.high);
      hash.add(listener.remote.address.low);
    }
    return static_cast<std::uint32_t>(hash.value());
  }

  // The hash of a connection's four-tuple.
  std::uint32_t hash_of(const FourTuple& tuple) const {
    TableHash hash(key_);
    if (tuple.local.address.is_v4() && tuple.remote.address.is_v4()) {
      hash.add(tuple.local.address.low << 32 | (tuple.remote.address.low & 0xffff'ffff));
    } else {
      hash.add(tuple.local.address.high).add(tuple.local.address.low);
      hash.add(tuple.remote.address.high).add(tuple.remote.address.low);
    }
    std::uint64_t const ports = std::uint64_t{tuple.local.port.value} << 16 |
                                tuple.remote.port.value;
    return static_cast<std::uint32_t>(hash.finish({ports, 4}));
  }

  // Asks the CPU to fetch the bucket: done for a whole burst before it is processed.
  void prefetch(std::uint32_t hash) const { __builtin_prefetch(&entries_[hash & mask_]); }

  // The first entry with this hash for which same(Found) holds, or none.
  template <class Same>
  Found find(std::uint32_t hash, Same&& same) const {
    for (std::uint32_t i = hash & mask_; entries_[i].value != empty; i = (i + 1) & mask_) {
      if (entries_[i].hash == hash) {
        Found const found = decode(entries_[i].value);
        if (same(found)) {
          return found;
        }
      }
    }
    return {};
  }

  // There must be room (Config's maxima guarantee it) and no such entry yet.
  void insert(std::uint32_t hash, Found entry);
  // The entry must exist.
  void remove(std::uint32_t hash, Found entry);
  // The entry must exist; another one with its hash takes its place.
  void replace(std::uint32_t hash, Found entry, Found by) {
    entries_[place_of(hash, entry)].value = encode(by);
  }
  std::uint32_t size() const { return *size_; }

 private:
  // Where the entry stands, which must exist.
  std::uint32_t place_of(std::uint32_t hash, Found entry) const {
    std::uint32_t const value = encode(entry);
    std::uint32_t place = hash & mask_;
    while (entries_[place].value != value) {
      CHECK(entries_[place].value != empty);
      place = (place + 1) & mask_;
    }
    return place;
  }

  static Found decode(std::uint32_t value) {
    return {static_cast<EntryKind>(value >> 30), value & 0x3fff'ffff};
  }
  static std::uint32_t encode(Found entry) {
    return static_cast<std::uint32_t>(entry.kind) << 30 | entry.index;
  }

  HashKey key_;
  Entry* entries_ = nullptr;
  std::uint32_t* size_ = nullptr;
  std::uint32_t mask_ = 0;
};

}  // namespace lockstep::tcp
