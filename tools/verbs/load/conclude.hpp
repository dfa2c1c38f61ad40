// The end of a load: the report, the JSON, the limits and the exit code.
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
  /// Call before the load begins: parses the limits and opens the file. Throws Failure.
  explicit Conclusion(const LoadOptions& options);
  /// Prints and writes the result. `json` is an object with further members, `last` further lines.
  /// Returns 1 if a limit is exceeded, no request was answered, or an answer was wrong.
  int draw(const LoadResult& result, const std::string& json, const std::string& last);

 private:
  std::vector<Limit> limits_;
  std::unique_ptr<AtomicFile> json_;
};

}  // namespace lockstep::tools
