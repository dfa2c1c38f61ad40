// Detects that packets of a side took several ways, by their hop limits (IPv4: time to live).
#pragma once

#include <array>
#include <cstdint>

#include "core/units/sequence.hpp"
#include "core/units/time.hpp"

namespace lockstep::sim::referee {

// What shows that a packet is the same as another one, or a part of it.
struct Passed {
  Instant at;
  Sequence begin;
  Sequence end;
  Sequence acknowledgment;
  std::uint16_t window = 0;
  std::uint8_t flags = 0;
  std::uint16_t identification = 0;
  std::uint8_t hop_limit = 0;
};

// A capture of all interfaces of a router holds each packet before and behind it. The second record
// has the hop limit of another place, not of another sender, even if it is no copy of the first:
// the router changes options of a SYN, or the NIC splits there what it has joined here.
class HopLimits {
 public:
  void take(const Passed& packet);
  // Whether some other host may have sent a part of the packets.
  bool differ() const { return differ_; }
  // Whether any packet has been taken.
  bool known() const { return first_ != 0; }
  bool all_are(std::uint8_t hop_limit) const {
    return !differ_ && (first_ == 0 || first_ == hop_limit);
  }

 private:
  static constexpr std::uint32_t kept = 8;

  bool repeats(const Passed& packet) const;

  std::array<Passed, kept> recent_{};
  std::uint32_t count_ = 0;
  std::uint8_t first_ = 0;
  bool differ_ = false;
};

}  // namespace lockstep::sim::referee
