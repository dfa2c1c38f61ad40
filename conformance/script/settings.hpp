// Builds the Config of the stack from a script and the command line.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "conformance/script/syntax.hpp"
#include "core/stack/config.hpp"

namespace lockstep::conformance::script {

/// The setup of a run.
struct Plan {
  Config config;
  IpAddress local, remote;  ///< the addresses on the wire
  std::string profile;
  /// The fields of Config that the script changes, as `name=value`, for a device.
  std::vector<std::string> changed;
  std::size_t first_event = 0;  ///< after the commands that `config` already includes
  std::vector<Note> notes;      ///< settings without effect
  bool original = false;        ///< runs on the system that the profile imitates
  std::vector<Assignment> raw;  ///< for it: the settings before the first event, as they are ...
  std::vector<std::string> fields;  ///< ... and the fields of Config that the script sets
};

/// Settings of the command line; the head of a script overrides them.
struct Overrides {
  std::string profile;
  std::filesystem::path device;  ///< runs the scripts in place of our stack; as of device_path()
  bool strict_segments = false;
  bool exact_times = false;  ///< without what the device says of its timers
  bool allow_trailing = false;
  bool keep_capture = false;  ///< for a run that passes, too
  bool lenient = false;       ///< leaves out, with a note, what would be refused
  bool cut = false;     ///< the script was truncated after an event: a call may still be waiting
  bool referee = true;  ///< the referee also judges our packets by the RFCs
  /// For tests: changes the copy of our packet that the referee sees.
  void (*before_referee)(std::span<std::byte> ours) = nullptr;
};

/// Applies, in this order: profile, addresses, MTU, sysctls of commands before all other events,
/// and fields of Config. Throws Failure (bad_input) with file, line and column.
Plan plan_of(const Script& script, const Overrides& overrides);

/// Sets one sysctl in `config`, unless it has no effect here. Returns an empty string, or the
/// error.
std::string apply_sysctl(const Assignment& one, Config& config);

}  // namespace lockstep::conformance::script
