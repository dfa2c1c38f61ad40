// Detects packets that a capture holds several times, as of two points, of both ways of a mirror
// port, or of all interfaces of a router.
#pragma once

#include <array>
#include <cstdint>

#include "tools/base/capture/decode.hpp"

namespace lockstep::tools {

/// Compares each packet with the last 64. Time and memory per packet are constant.
class Copies {
 public:
  static constexpr std::uint32_t any_number = ~std::uint32_t{0};

  /// `each`: how many copies the capture holds of most packets. A packet without an identification
  /// of its own (IPv6, or zero) has at most so many, any other packet any number.
  explicit Copies(std::uint32_t each) : each_(each) {}

  /// The number of records of this packet within the last 10 ms: equal segments with the same IP
  /// identification.
  std::uint32_t records_before(const Segment& segment);
  bool is_copy(const Segment& segment) { return records_before(segment) != 0; }

 private:
  static constexpr std::size_t kept = 64;

  struct Seen {
    std::uint64_t hash = 0;
    Instant at;
    std::uint32_t copies = 0;
  };

  std::uint32_t each_;
  std::array<Seen, kept> seen_{};
  std::size_t count_ = 0;
};

}  // namespace lockstep::tools
