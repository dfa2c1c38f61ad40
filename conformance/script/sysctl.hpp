// The sysctls of Linux and FreeBSD that mean something to this stack.
#pragma once

#include <string>
#include <vector>

#include "core/seam/config.hpp"

namespace lockstep::conformance::script {

/// Sets it in `config`. Empty, or why not: "what, expected, mend".
std::string set_sysctl(const std::string& name, const std::string& value, Config& config);
/// All that are known, in order.
std::vector<std::string> sysctl_names();

}  // namespace lockstep::conformance::script
