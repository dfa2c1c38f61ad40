// Splits a capture into TCP flows and corrects artefacts of capturing.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
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
  std::optional<Instant> recorded_since{};  ///< the capture's first packet
  bool recorded_late = false;               ///< normalise() has put packets before their answers
  /// Whether no filter excluded ICMP errors to `first` from the capture, and to `second`.
  std::array<bool, 2> unfiltered{};
};

/// Collects what shows that no filter excluded a router's ICMP errors from a capture: such an error
/// itself, or both ARP (or another protocol that is not IP) and IP without TCP. A filter for a host
/// excludes errors between its peer and a router. So frames from or to that host show nothing.
class FilterProof {
 public:
  void take(const tools::Decoded& decoded);
  /// Whether the capture has the errors that routers send to the peers of this host.
  bool is_unfiltered(const IpAddress& host) const;

 private:
  /// The addresses that each frame of a kind is from or to.
  class Common {
   public:
    void take(const IpAddress& source, const IpAddress& destination);
    bool lacks(const IpAddress& host) const;

   private:
    std::optional<std::array<IpAddress, 2>> all_;  ///< an unspecified one is none
  };

  Common errors_, others_;
  bool not_ip_ = false;
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
