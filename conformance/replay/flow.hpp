// Splits a capture into TCP flows and corrects artefacts of capturing.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/units/address.hpp"
#include "sim/checkers/referee/hop_limits.hpp"
#include "tools/base/capture/decode.hpp"

namespace lockstep::conformance {

/// All segments between two endpoints, in the order of the capture.
struct Flow {
  Endpoint first, second;  ///< `first` sent the first segment that was captured
  std::vector<tools::Segment> segments;
  std::vector<tools::IcmpError> errors;
  bool recorded_late = false;  ///< normalise() has put packets before their answers
  /// No filter excluded ICMP errors from the capture.
  bool unfiltered = false;
};

struct CaptureFlows {
  std::vector<Flow> flows;  ///< in the order of their first segments
  std::uint64_t packets = 0;
  tools::FrameCounts kinds{};  ///< how many frames of each tools::FrameKind
  std::string warning;         ///< where the file is truncated; empty if it is complete
};

/// Reads a whole capture. Throws Failure (bad_input) as CaptureReader does, and if the data to keep
/// exceeds `bytes_max`.
CaptureFlows read_flows(const std::string& path, std::uint64_t bytes_max = std::uint64_t{1} << 30);

/// Whether the capture has frames that a filter for TCP or for ports excludes: an ICMP error, or
/// both ARP (or another protocol that is not IP) and IP without TCP.
bool is_unfiltered(const tools::FrameCounts& kinds);

/// Undoes artefacts of capturing as far as possible. Returns one line for each correction. Not for
/// authored scenarios, whose oddities are intended. `aided`: a scenario states that the capture is
/// good, so its order and checksums are kept.
std::vector<std::string> normalise(Flow& flow, bool aided = false);

/// The side that the core replaces: the receiver of the first SYN, or without a SYN the receiver of
/// the first segment.
Endpoint choose_device(const Flow& flow);

/// Sorts segments by time; equal times keep their order. Returns whether anything moved.
bool sort_by_time(std::vector<tools::Segment>& segments);

bool is_from(const tools::Segment& segment, const Endpoint& endpoint);

/// What shows by which way the segment came.
sim::referee::Passed passed(const tools::Segment& segment);

}  // namespace lockstep::conformance
