// Who watches a simulated run for a verb: captures and findings.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/checkers/finding.hpp"
#include "sim/kernel/kernel.hpp"
#include "sim/kernel/trace.hpp"
#include "tools/base/output/atomic_file.hpp"

namespace lockstep::tools {

/// One capture a node, each in its own file of `folder`; none if that is empty.
class Captures {
 public:
  /// Before the kernel's first step. Throws Failure (environment).
  Captures(const std::string& folder, const sim::World& world, sim::Kernel& kernel);
  /// The files get their names.
  void keep();

 private:
  std::vector<std::unique_ptr<AtomicFile>> files_;
  std::vector<std::unique_ptr<sim::Trace>> traces_;
};

/// What the referee has found; whether that was nothing.
bool print_findings(const sim::Findings& findings);

}  // namespace lockstep::tools
