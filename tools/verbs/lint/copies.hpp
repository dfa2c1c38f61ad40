// Detects packets that a capture holds twice, as of two points or of both ways of a mirror port.
#pragma once

#include <array>
#include <cstdint>

#include "tools/base/capture/decode.hpp"

namespace lockstep::tools {

/// Compares each packet with the last 64. Time and memory per packet are constant.
class Copies {
 public:
  /// `doubled`: the capture holds most packets twice, so that a packet without an identification
  /// of its own (IPv6, or zero) counts as a copy too.
  explicit Copies(bool doubled) : doubled_(doubled) {}

  /// Whether an equal segment with the same IP identification passed within the last 10 ms.
  bool is_copy(const Segment& segment);

 private:
  static constexpr std::size_t kept = 64;

  struct Seen {
    std::uint64_t hash = 0;
    Instant at;
    bool copied = false;  // its copy was found; a packet has at most one
  };

  bool doubled_;
  std::array<Seen, kept> seen_{};
  std::size_t count_ = 0;
};

}  // namespace lockstep::tools
