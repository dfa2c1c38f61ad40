// Detects packets that a capture holds several times, as of two points, of both ways of a mirror
// port, or of all interfaces of a router.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tools/base/capture/decode.hpp"

namespace lockstep::tools {

/// Compares each packet with those of the last 10 ms, as long as these are not much more than
/// 10,000: in a table by their hash. Time per packet and memory are constant.
class Copies {
 public:
  static constexpr std::uint32_t any_number = ~std::uint32_t{0};

  /// `each`: how many copies the capture holds of most packets. A packet without an identification
  /// of its own (IPv6, or zero) has at most so many, any other packet any number.
  explicit Copies(std::uint32_t each) : each_(each) {}

  /// Equal segments with the same IP identification within the last 10 ms.
  struct Record {
    std::uint32_t before = 0;  ///< records of this packet
    bool equal = false;        ///< of it or of another packet, which has all its copies
  };
  Record add(const Segment& segment);
  bool is_copy(const Segment& segment) { return add(segment).before != 0; }

 private:
  static constexpr std::size_t rows = 4'096;
  static constexpr std::size_t kept = 8;  // in a row

  struct Seen {
    std::uint64_t hash = 0;
    Instant at;
    std::uint32_t copies = 0;
  };

  std::uint32_t each_;
  std::vector<std::array<Seen, kept>> seen_ = std::vector<std::array<Seen, kept>>(rows);
};

}  // namespace lockstep::tools
