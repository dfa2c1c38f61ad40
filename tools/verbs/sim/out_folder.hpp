// The folder of `sim run --out`: a summary, and tables of connections, time series and queues.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/kernel/kernel.hpp"
#include "tools/base/output/atomic_file.hpp"
#include "tools/lib/sim_report/recorder.hpp"

namespace lockstep::tools {

class OutFolder {
 public:
  /// Construct before the kernel's first step. Throws Failure: the folder has files (bad input;
  /// `force` permits that), or cannot be written (environment).
  OutFolder(const std::string& folder, bool force, sim::Kernel& kernel);
  void stepped(const sim::Kernel& kernel) { recorder_->stepped(kernel); }
  /// Completes the files under their names, the summary last. Throws Failure (environment).
  void keep(const sim::Kernel& kernel, sim::Ending ending);

 private:
  AtomicFile& add(std::string_view name);

  std::string folder_;
  std::vector<std::unique_ptr<AtomicFile>> files_;
  std::unique_ptr<Recorder> recorder_;
};

}  // namespace lockstep::tools
