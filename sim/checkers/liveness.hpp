// Liveness: once the faults are over, every application comes to its end.
#pragma once

#include <cstdint>

#include "sim/checkers/alteration.hpp"
#include "sim/checkers/finding.hpp"
#include "sim/kernel/ledger.hpp"
#include "sim/kernel/observer.hpp"

namespace lockstep::sim {

// The bound is the world's limit: whoever makes the world puts it far enough behind the last fault.
class LivenessChecker final : public Observer {
 public:
  // `alteration` may be nullptr. Both outlive the checker.
  explicit LivenessChecker(Findings& findings, const AlterationWatch* alteration = nullptr)
      : findings_(findings), alteration_(alteration) {}

  void ended(const Kernel& kernel) override;

  // An open end that TCP itself never has to end: a stranger called it; or the other side is gone
  // without a word, nothing is outstanding that could time out, and there are no keep-alives
  // (RFC 9293 3.5.1, 3.8.4).
  static bool excused(const Kernel& kernel, const Flow& flow, Side side);

 private:
  Findings& findings_;
  const AlterationWatch* alteration_;
};

}  // namespace lockstep::sim
