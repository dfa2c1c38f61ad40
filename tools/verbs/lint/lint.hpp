// Judges a capture: feeds its segments to the referee and returns the findings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/units/address.hpp"
#include "sim/checkers/referee/referee.hpp"
#include "tools/base/capture/capture.hpp"
#include "tools/base/capture/decode.hpp"
#include "tools/verbs/lint/time_order.hpp"

namespace lockstep::tools {

struct LintOptions {
  std::string capture;
  bool whole = false;         ///< the user asserts that the capture lacks no packet
  std::vector<IpAddress> at;  ///< the capture was taken at these addresses
  Duration rto_min = Duration::seconds(1);
};

/// The result for a capture. `violations` are in packet order.
struct Linted {
  std::vector<sim::referee::Violation> violations;
  std::uint64_t beyond = 0;  ///< violations that were counted but not kept
  std::uint64_t packets = 0;
  std::uint64_t segments = 0;
  std::uint64_t connections = 0;
  std::uint64_t unjudged = 0;            ///< segments of connections beyond the limit
  std::uint64_t copies = 0;              ///< second records of a packet, which are not judged
  std::uint64_t joined = 0;              ///< segments with more data than an MSS of both hosts
  FrameCounts kinds{};                   ///< frames by FrameKind
  FileOrder order = FileOrder::as_read;  ///< unknown: `whole` does not apply
  std::string warning;                   ///< where the file is truncated; empty if it is not

  // Including those only counted in `Violation::more`.
  std::uint64_t certain() const;
  std::uint64_t likely() const;
  std::uint64_t notes() const;
  /// Violations that were not kept and are in none of the three counts.
  std::uint64_t without_place() const;
};

/// Reads the capture twice; the first pass detects offloaded checksums, joined segments,
/// duplicates, and whether the file is sorted by time. Throws Failure as CaptureReader does, and
/// with bad_input if there is no TCP or no segment from an `at` address.
Linted lint(const LintOptions& options);
/// The same, if the capture is still being written: the second pass reads `grown`.
Linted lint(const LintOptions& options, const std::string& grown);

/// What a wrong checksum of a source shows: that the packet was damaged, that hardware had not yet
/// filled it in when the packet was captured, or one of these; or that hardware has joined segments
/// whose checksums it found right.
enum class WrongSum : std::uint8_t { damage, offload, either, joined };

/// Converts a segment for the referee. Valid as long as the octets that `segment` refers to.
sim::referee::Sighting sighting_of(const Segment& segment, WrongSum wrong);

}  // namespace lockstep::tools
