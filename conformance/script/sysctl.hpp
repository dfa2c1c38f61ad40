// The sysctls of Linux and FreeBSD that correspond to settings of this stack.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/stack/config.hpp"

namespace lockstep::conformance::script {

/// Sets it in `config`. Returns an empty string, or the error: "what, expected, correction".
std::string set_sysctl(const std::string& name, const std::string& value, Config& config);

/// Whether a system's sysctl with this value changes nothing that a script can see here.
bool is_neutral(const std::string& name, const std::string& value);

/// For a sysctl set while a script runs: the option to set on sockets created or accepted from then
/// on.
struct LaterOption {
  enum class What : std::uint8_t { ttl, keepalive, keepalive_idle };
  What what = What::ttl;
  int value = 0;
};
/// Whether a sysctl, set while a script runs, is an option of sockets that come later. All others
/// are set in the stack.
bool is_socket_default(const std::string& name);
/// Converts a name and a value that set_sysctl() accepts. Returns an empty string, or why it cannot
/// be set later: "what, expected, correction".
std::string set_later(const std::string& name, const std::string& value, LaterOption& out);

/// A sysctl in the list for people.
struct SysctlRow {
  std::string name, system, values, fields;  ///< fields of Config, as in `lockstep profiles`
  bool later = false;  ///< while a script runs, for sockets that come later only
};
/// All known sysctls, sorted by name.
std::vector<SysctlRow> sysctl_rows();

}  // namespace lockstep::conformance::script
