// How a load ends: the report, the JSON, the limits that were set, the exit code.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tools/base/output/atomic_file.hpp"
#include "tools/verbs/load/options.hpp"
#include "tools/verbs/load/report.hpp"

namespace lockstep::tools {

class Conclusion {
 public:
  /// Before the load begins: limits are read and the file is opened. Throws Failure.
  explicit Conclusion(const LoadOptions& options);
  /// Prints and writes. `json` is an object of further members, `last` further lines. 1: a limit is
  /// broken, nothing was answered, or an answer was not what it should be.
  int draw(const LoadResult& result, const std::string& json, const std::string& last);

 private:
  std::vector<Limit> limits_;
  std::unique_ptr<AtomicFile> json_;
};

}  // namespace lockstep::tools
