// Splits a capture into TCP flows and mends what the act of capturing did to them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/units/address.hpp"
#include "tools/base/capture/decode.hpp"

namespace lockstep::conformance {

/// All segments between two endpoints, in the order of the capture.
struct Flow {
  Endpoint first, second;  ///< `first` sent the first segment that was captured
  std::vector<tools::Segment> segments;
  std::vector<tools::IcmpError> errors;
};

struct CaptureFlows {
  std::vector<Flow> flows;  ///< in the order of their first segments
  std::uint64_t packets = 0;
  tools::FrameCounts kinds{};  ///< how many frames of each tools::FrameKind
  std::string warning;         ///< where the file breaks off; empty if it is whole
};

/// Reads a whole capture. Throws Failure (bad_input) as CaptureReader does, and where more is to be
/// kept than `bytes_max`.
CaptureFlows read_flows(const std::string& path, std::uint64_t bytes_max = std::uint64_t{1} << 30);

/// What the capture itself did, undone as far as it can be. Gives one line for each mend.
/// Not for authored scenarios, in which every oddity is meant. `aided`: a scenario tells that the
/// capture was taken well, so that its order and its checksums stand.
std::vector<std::string> normalise(Flow& flow, bool aided = false);

/// Which side is to be replaced by the core: the one that was named; else the side that was opened
/// (the receiver of the first SYN), else, without a SYN, the receiver of the first segment.
Endpoint choose_device(const Flow& flow);

/// Puts segments in order of time, equal times as they were. Gives whether anything moved.
bool sort_by_time(std::vector<tools::Segment>& segments);

bool is_from(const tools::Segment& segment, const Endpoint& endpoint);

}  // namespace lockstep::conformance
