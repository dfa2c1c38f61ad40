// The sysctls of Linux and FreeBSD that mean something to this stack.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/stack/config.hpp"

namespace lockstep::conformance::script {

/// Sets it in `config`. Empty, or why not: "what, expected, mend".
std::string set_sysctl(const std::string& name, const std::string& value, Config& config);

/// What a sysctl becomes that may be set while a script runs: an option of the sockets that are
/// made or accepted from then on.
struct LaterOption {
  enum class What : std::uint8_t { ttl, keepalive, keepalive_idle };
  What what = What::ttl;
  int value = 0;
};
/// Of a name and a value that set_sysctl() takes. Empty, or why it cannot be set later: "what,
/// expected, mend".
std::string set_later(const std::string& name, const std::string& value, LaterOption& out);

/// A sysctl for people.
struct SysctlRow {
  std::string name, system, values, fields;  ///< fields: of Config, as `lockstep profiles` has them
  bool later = false;                        ///< may be set while a script runs
};
/// All that are known, by name.
std::vector<SysctlRow> sysctl_rows();

}  // namespace lockstep::conformance::script
