// What a verb records of a simulated run: captures and findings.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/checkers/finding.hpp"
#include "sim/kernel/kernel.hpp"
#include "sim/kernel/trace.hpp"
#include "tools/base/output/atomic_file.hpp"

namespace lockstep::tools {

/// One capture per node, each in its own file of `folder`; none if that is empty.
class Captures {
 public:
  /// Construct before the kernel's first step. Throws Failure (environment).
  Captures(const std::string& folder, const sim::World& world, sim::Kernel& kernel);
  /// Completes the files under their names.
  void keep();

 private:
  std::vector<std::unique_ptr<AtomicFile>> files_;
  std::vector<std::unique_ptr<sim::Trace>> traces_;
};

/// Prints the referee's findings; returns true if there are none.
bool print_findings(const sim::Findings& findings);

}  // namespace lockstep::tools
