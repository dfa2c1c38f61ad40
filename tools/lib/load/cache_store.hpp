// Keys with their values and flags, in memory that is allocated once.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/units/bytes.hpp"

namespace lockstep::load {

class CacheStore {
 public:
  static constexpr std::uint32_t key_max = 250;

  struct Value {
    std::string_view octets;
    std::uint32_t flags = 0;
  };

  CacheStore(Count keys, Bytes value_max);

  std::optional<Value> find(std::string_view key) const;
  /// False: all keys are in use. The key has at most key_max octets, the value at most value_max.
  bool set(std::string_view key, const Value& value);
  /// False: the key does not exist.
  bool remove(std::string_view key);

 private:
  static constexpr std::uint32_t free_place = 0xffff'ffff;
  struct Entry {
    std::uint32_t place = free_place;  // in octets_; free_place: no entry
    std::uint32_t key_length = 0;
    std::uint32_t length = 0;
    std::uint32_t flags = 0;
  };
  std::size_t home_of(std::string_view key) const;
  std::size_t index_of(std::string_view key) const;
  std::string_view key_of(const Entry& entry) const;
  const char* octets_of(const Entry& entry) const {
    return octets_.data() + std::size_t{entry.place} * stride_;
  }

  std::size_t stride_;
  std::vector<Entry> entries_;         // open addressing, twice as many as keys
  std::vector<std::uint32_t> places_;  // the free ones
  std::vector<char> octets_;           // of each place a key and a value
};

}  // namespace lockstep::load
