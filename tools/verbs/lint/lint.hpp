// Judges a capture: shows its segments to the referee and keeps what it found.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/units/address.hpp"
#include "sim/checkers/referee/referee.hpp"
#include "tools/base/capture/capture.hpp"
#include "tools/base/capture/decode.hpp"

namespace lockstep::tools {

struct LintOptions {
  std::string capture;
  bool whole = false;         ///< the user vouches that the capture lacks nothing
  std::vector<IpAddress> at;  ///< the capture was taken at these addresses
  Duration rto_min = Duration::seconds(1);
};

/// What a capture came to. `violations` are in the order of packets.
struct Linted {
  std::vector<sim::referee::Violation> violations;
  std::uint64_t beyond = 0;  ///< violations that are only counted
  std::uint64_t packets = 0;
  std::uint64_t segments = 0;
  std::uint64_t connections = 0;
  std::uint64_t unjudged = 0;  ///< segments of connections beyond the limit
  std::uint64_t copies = 0;    ///< packets that the capture holds a second time: not judged
  std::uint64_t joined = 0;    ///< segments that hold more than any MSS of the capture
  FrameCounts kinds{};         ///< frames by FrameKind
  std::string warning;         ///< where the file breaks off; empty if it is whole

  // With those that are only counted at a violation of the same kind (`Violation::more`).
  std::uint64_t certain() const;
  std::uint64_t likely() const;
  std::uint64_t notes() const;
  /// Of `beyond`, what none of these counts.
  std::uint64_t without_place() const;
};

/// Reads the capture twice: the first time for what hardware has left out of it. Throws Failure as
/// CaptureReader does, and bad_input where it holds no TCP.
Linted lint(const LintOptions& options);

/// A segment as the referee takes it. `offloaded`: hardware fills in this source's checksums.
sim::referee::Sighting sighting_of(const Segment& segment, bool offloaded);

}  // namespace lockstep::tools
