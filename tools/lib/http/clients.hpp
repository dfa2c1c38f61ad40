// How many connections each client address has.
#pragma once

#include <cstdint>
#include <vector>

#include "core/units/address.hpp"
#include "core/units/hash.hpp"

namespace lockstep::http {

/// A hash table with linear probing, made for a number of connections and never larger. Its key is
/// secret, so that a client cannot choose addresses that collide. All addresses of an IPv6 network
/// of 64 bits count as one client, because one host may have them all.
class ClientCounts {
 public:
  explicit ClientCounts(std::uint32_t connections) {
    std::uint32_t places = 4;
    while (places < 2 * connections) {
      places *= 2;
    }
    places_.resize(places);
  }
  void set_key(HashKey key) { key_ = key; }

  /// Counts a connection; returns how many its client has now.
  std::uint32_t add(const IpAddress& remote) {
    IpAddress const client = client_of(remote);
    std::uint32_t at = home_of(client);
    while (places_[at].count != 0 && places_[at].client != client) {
      at = next(at);
    }
    places_[at].client = client;
    return ++places_[at].count;
  }
  /// Ends a connection that was counted.
  void remove(const IpAddress& remote) {
    IpAddress const client = client_of(remote);
    std::uint32_t at = home_of(client);
    while (places_[at].client != client || places_[at].count == 0) {
      at = next(at);
    }
    if (--places_[at].count == 0) {
      close_gap(at);
    }
  }
  void clear() { places_.assign(places_.size(), Place{}); }

  static IpAddress client_of(const IpAddress& remote) {
    return remote.is_v4() ? remote : IpAddress{remote.high, 0};
  }

 private:
  struct Place {
    IpAddress client;
    std::uint32_t count = 0;  // 0: empty
  };

  std::uint32_t mask() const { return static_cast<std::uint32_t>(places_.size() - 1); }
  std::uint32_t next(std::uint32_t at) const { return (at + 1) & mask(); }
  std::uint32_t home_of(const IpAddress& client) const {
    std::uint64_t const hash = TableHash(key_).add(client.high).add(client.low).finish();
    return static_cast<std::uint32_t>(hash) & mask();
  }
  /// Moves later entries of the run back, so that none is behind an empty place.
  void close_gap(std::uint32_t gap) {
    for (std::uint32_t at = next(gap); places_[at].count != 0; at = next(at)) {
      std::uint32_t const home = home_of(places_[at].client);
      if (((at - home) & mask()) >= ((at - gap) & mask())) {
        places_[gap] = places_[at];
        gap = at;
      }
    }
    places_[gap] = Place{};
  }

  HashKey key_;
  std::vector<Place> places_;
};

}  // namespace lockstep::http
