// Judges what a device sends by the simulator's referee.
#pragma once

#include "sim/checkers/referee/referee.hpp"
#include "sim/kernel/observer.hpp"

namespace lockstep::conformance {

/// Sees all frames of one device's link and judges those that it sends, as those of a deployed
/// host: only what is certain is a violation.
class DeviceJudge {
 public:
  DeviceJudge();

  /// A frame with an Ethernet header; `own`: the device sent it.
  void see(const sim::FrameNote& note, bool own);
  /// Claims that depend on what follows are decided. Once.
  void end() { referee_.end(); }

  const sim::referee::Violations& violations() const { return violations_; }
  /// The device sent a packet with a wrong checksum or length; `at`: the first one.
  bool sent_malformed() const { return !malformed_at_.is_never(); }
  Instant malformed_at() const { return malformed_at_; }
  /// A fragment was seen. The referee sees no fragments, so its verdicts are worth nothing.
  bool fragmented() const { return fragmented_; }

 private:
  sim::referee::Violations violations_;
  sim::referee::Referee referee_;
  Instant malformed_at_ = Instant::never();
  bool fragmented_ = false;
};

}  // namespace lockstep::conformance
