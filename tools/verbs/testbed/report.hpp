// What a testbed prints and writes.
#pragma once

#include <string>
#include <vector>

#include "tools/verbs/testbed/account.hpp"
#include "tools/verbs/testbed/options.hpp"

namespace lockstep::tools {

/// The result of a load: its exit code, its error message, and its JSON, if written.
struct LoadOutcome {
  std::string name;
  int code = 0;
  std::string error;
  std::string json;
};

struct TestbedResult {
  std::vector<LoadOutcome> loads;
  std::string server_json;
  Reconciled account;

  bool is_fine() const;
};

std::string testbed_text(const TestbedOptions& options, const TestbedResult& result,
                         std::size_t width);
std::string testbed_json(const TestbedOptions& options, const TestbedResult& result);

}  // namespace lockstep::tools
