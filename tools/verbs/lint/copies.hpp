// Tells which packets a capture holds twice: of two places, or of both ways of a mirrored port.
#pragma once

#include <array>
#include <cstdint>

#include "tools/base/capture/decode.hpp"

namespace lockstep::tools {

/// Looks back on the last packets. Work and memory for a packet do not grow.
class Copies {
 public:
  /// `doubled`: the capture holds most packets twice, so that a packet without an identification
  /// of its own (IPv6, or zero) counts as a copy too.
  explicit Copies(bool doubled) : doubled_(doubled) {}

  /// Whether the same octets of TCP passed a moment ago, in a packet of the same identification.
  bool is_copy(const Segment& segment);

 private:
  static constexpr std::size_t kept = 64;

  struct Seen {
    std::uint64_t hash = 0;
    Instant at;
    bool copied = false;  // each has one copy
  };

  bool doubled_;
  std::array<Seen, kept> seen_{};
  std::size_t count_ = 0;
};

}  // namespace lockstep::tools
