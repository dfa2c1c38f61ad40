// Hash table that finds the connection, half-open record, TIME-WAIT record or listener of a
// segment.
#pragma once

#include <cstdint>

#include "core/memory/arena.hpp"
#include "core/tcp/interface.hpp"
#include "core/units/address.hpp"
#include "core/units/hash.hpp"

namespace lockstep::tcp {

// What an entry refers to. `none` is never stored.
enum class EntryKind : std::uint32_t {
  connection = 0,
  time_wait = 1,
  listener = 2,
  half_open = 3,
  none = 4
};

struct TableEntry {
  EntryKind kind = EntryKind::none;
  memory::Index index = memory::nil;
};

// Open addressing with linear probing and no tombstones, at most two thirds full, so a look-up is
// O(1) for any number of connections. The hash is keyed, so that an attacker cannot create long
// runs.
//
// An entry has four octets: six bits of its hash, its kind and its index. The upper bits of the
// hash choose an entry's place, so the entry stores the lowest ones. Whoever removes an entry must
// supply the full hash of any other entry.
class Demux {
 public:
  static constexpr std::uint32_t empty = 0xffff'ffff;
  static constexpr std::uint32_t indices = 1 << 24;

  Demux() = default;
  // Every index must be below `entries_max`, and `entries_max` below `indices`.
  static Demux lay_out(memory::Layout& layout, Count entries_max, HashKey key);
  void start();

  // The hash of a listener's sockets. Not keyed: only the application chooses listeners.
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

  // The hash of a connection's four-tuple; both addresses are of the same IP version.
  std::uint32_t hash_of(const FourTuple& tuple) const {
    TableHash hash(key_);
    if (tuple.remote.address.is_v4()) {
      hash.add(tuple.local.address.low << 32 | (tuple.remote.address.low & 0xffff'ffff));
    } else {
      hash.add(tuple.local.address.high).add(tuple.local.address.low);
      hash.add(tuple.remote.address.high).add(tuple.remote.address.low);
    }
    std::uint64_t const ports =
        std::uint64_t{tuple.local.port.value} << 16 | tuple.remote.port.value;
    return static_cast<std::uint32_t>(hash.finish({ports, 4}));
  }

  // Prefetches the bucket; called for a whole burst before it is processed.
  void prefetch(std::uint32_t hash) const { __builtin_prefetch(&entries_[home_of(hash)]); }

  // The first entry with a matching hash for which same(TableEntry) is true; otherwise kind `none`.
  template <class Same>
  TableEntry find(std::uint32_t hash, Same&& same) const {
    std::uint32_t const tag = hash << tag_shift;
    for (std::uint32_t i = home_of(hash); entries_[i] != empty; i = after(i)) {
      if ((entries_[i] ^ tag) >> tag_shift == 0) {
        TableEntry const found = decode(entries_[i]);
        if (same(found)) {
          return found;
        }
      }
    }
    return {};
  }

  // There must be space (guaranteed by the limits in Config), and the entry must not exist yet.
  void insert(std::uint32_t hash, TableEntry entry);
  // The entry must exist. hash_of(TableEntry) returns the hash of any other entry. Later entries of
  // the run move back into the hole unless that would put them before their home place.
  template <class HashOf>
  void remove(std::uint32_t hash, TableEntry entry, HashOf&& hash_of) {
    std::uint32_t const hole = place_of(hash, entry);
    entries_[hole] = empty;
    --*size_;
    if (entries_[after(hole)] != empty) [[unlikely]] {
      close_hole(hole, hash_of);
    }
  }
  // Replaces an entry by one with the same hash. The entry must exist.
  void replace(std::uint32_t hash, TableEntry entry, TableEntry by) {
    entries_[place_of(hash, entry)] = encode(hash, by);
  }
  std::uint32_t size() const { return *size_; }

 private:
  static constexpr std::uint32_t kinds = 4;
  static constexpr std::uint32_t tag_shift = 26;  // above kind and index
  static_assert(indices * std::uint64_t{kinds} == std::uint64_t{1} << tag_shift);

  std::uint32_t home_of(std::uint32_t hash) const {
    return static_cast<std::uint32_t>(std::uint64_t{hash} * places_ >> 32);
  }
  std::uint32_t after(std::uint32_t place) const { return place + 1 == places_ ? 0 : place + 1; }
  // How far the entry at `place` is behind a home place, with wrap-around.
  struct Home {
    std::uint32_t place;
  };
  std::uint32_t distance(Home home, std::uint32_t place) const {
    return place >= home.place ? place - home.place : place + places_ - home.place;
  }
  template <class HashOf>
  [[gnu::noinline]] void close_hole(std::uint32_t hole, HashOf& hash_of) {
    for (std::uint32_t i = after(hole); entries_[i] != empty; i = after(i)) {
      Home const home{home_of(hash_of(decode(entries_[i])))};
      if (distance(home, i) >= distance(Home{hole}, i)) {
        entries_[hole] = entries_[i];
        entries_[i] = empty;
        hole = i;
      }
    }
  }
  // The place of an entry, which must exist.
  std::uint32_t place_of(std::uint32_t hash, TableEntry entry) const {
    std::uint32_t const value = encode(hash, entry);
    std::uint32_t place = home_of(hash);
    while (entries_[place] != value) {
      CHECK(entries_[place] != empty);
      place = after(place);
    }
    return place;
  }

  static TableEntry decode(std::uint32_t entry) {
    return {static_cast<EntryKind>(entry / indices % kinds), entry % indices};
  }
  static std::uint32_t encode(std::uint32_t hash, TableEntry entry) {
    return hash << tag_shift | static_cast<std::uint32_t>(entry.kind) * indices | entry.index;
  }

  HashKey key_;
  std::uint32_t* entries_ = nullptr;
  std::uint32_t* size_ = nullptr;
  std::uint32_t places_ = 0;
};

}  // namespace lockstep::tcp
