// A learning switch: maps a link address to the port on which it was last seen.
#pragma once

#include <cstdint>
#include <vector>

#include "core/units/address.hpp"
#include "core/units/hash.hpp"

namespace lockstep::sim {

// A port of a switch, numbered from 0 in the order of the world's links.
struct SwitchPort {
  std::uint32_t value = 0xffff'ffff;
  static constexpr SwitchPort everywhere() { return {}; }
  constexpr bool operator==(const SwitchPort&) const = default;
};

// An open-addressed table that is never iterated, so its order cannot affect a run. When full,
// further addresses are flooded. A plain value: a copy is a snapshot.
class LearningSwitch {
 public:
  // `addresses_max` is the capacity, at least 1.
  explicit LearningSwitch(std::uint32_t addresses_max) : addresses_max_(addresses_max) {
    std::uint32_t size = 16;
    while (size < addresses_max * 2) {
      size *= 2;
    }
    table_.resize(size);
  }

  // Notes that a frame with source `mac` arrived on `port`.
  void learn(Mac mac, SwitchPort port) {
    Place& place = table_[find(mac)];
    if (!place.used) {
      if (learned_ == addresses_max_) {
        return;
      }
      ++learned_;
      place.used = true;
      place.mac = mac;
    }
    place.port = port;
  }

  // The port on which `mac` was last seen; everywhere() if unknown or a group address.
  SwitchPort port_of(Mac mac) const {
    Place const& place = table_[find(mac)];
    return place.used && !mac.is_group() ? place.port : SwitchPort::everywhere();
  }

  std::uint32_t learned() const { return learned_; }

 private:
  struct Place {
    Mac mac;
    SwitchPort port;
    bool used = false;
  };

  std::uint32_t find(Mac mac) const {
    std::uint64_t word = 0;
    for (std::uint8_t octet : mac.octets) {
      word = word << 8 | octet;
    }
    auto const mask = static_cast<std::uint32_t>(table_.size() - 1);
    auto at = static_cast<std::uint32_t>(TableHash({}).add(word).finish()) & mask;
    while (table_[at].used && table_[at].mac != mac) {
      at = (at + 1) & mask;
    }
    return at;
  }

  std::uint32_t addresses_max_;
  std::uint32_t learned_ = 0;
  std::vector<Place> table_;
};

}  // namespace lockstep::sim
