// A hash table with linear probing; a removed entry's gap is closed.
#include "tools/lib/load/cache_store.hpp"

#include <algorithm>

#include "core/units/check.hpp"
#include "core/units/hash.hpp"

namespace lockstep::load {

CacheStore::CacheStore(Count keys, Bytes value_max)
    : stride_(std::size_t{key_max} + value_max.count),
      entries_(std::size_t{keys.value} * 2),
      octets_(keys.value * stride_) {
  for (std::uint32_t i = keys.value; i != 0; --i) {
    places_.push_back(i - 1);
  }
}

std::string_view CacheStore::key_of(const Entry& entry) const {
  return {octets_of(entry), entry.key_length};
}

std::size_t CacheStore::home_of(std::string_view key) const {
  SecretHash hash({1, 2});
  for (char const letter : key) {
    hash.add(static_cast<unsigned char>(letter));
  }
  return hash.finish() % entries_.size();
}

// The entry of this key, or the free one where it would be. There are twice as many entries as
// keys, so the search always ends.
std::size_t CacheStore::index_of(std::string_view key) const {
  std::size_t at = home_of(key);
  while (entries_[at].place != free_place && key_of(entries_[at]) != key) {
    at = (at + 1) % entries_.size();
  }
  return at;
}

std::optional<CacheStore::Value> CacheStore::find(std::string_view key) const {
  const Entry& entry = entries_[index_of(key)];
  if (entry.place == free_place) {
    return std::nullopt;
  }
  return Value{{octets_of(entry) + key_max, entry.length}, entry.flags};
}

bool CacheStore::set(std::string_view key, const Value& value) {
  CHECK(key.size() <= key_max);
  CHECK(value.octets.size() <= stride_ - key_max);
  Entry& entry = entries_[index_of(key)];
  if (entry.place == free_place) {
    if (places_.empty()) {
      return false;
    }
    entry.place = places_.back();
    places_.pop_back();
  }
  entry.key_length = static_cast<std::uint32_t>(key.size());
  entry.length = static_cast<std::uint32_t>(value.octets.size());
  entry.flags = value.flags;
  char* const octets = octets_.data() + std::size_t{entry.place} * stride_;
  std::copy(key.begin(), key.end(), octets);
  std::copy(value.octets.begin(), value.octets.end(), octets + key_max);
  return true;
}

bool CacheStore::remove(std::string_view key) {
  std::size_t gap = index_of(key);
  if (entries_[gap].place == free_place) {
    return false;
  }
  places_.push_back(entries_[gap].place);
  std::size_t const size = entries_.size();
  // Moves later entries of the run back, so that none is behind a free one.
  for (std::size_t at = (gap + 1) % size; entries_[at].place != free_place; at = (at + 1) % size) {
    std::size_t const home = home_of(key_of(entries_[at]));
    if ((at + size - home) % size >= (at + size - gap) % size) {
      entries_[gap] = entries_[at];
      gap = at;
    }
  }
  entries_[gap] = Entry{};
  return true;
}

}  // namespace lockstep::load
