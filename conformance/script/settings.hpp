// From what a script and the command line say to the Config of the stack under it.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "conformance/script/syntax.hpp"
#include "core/stack/config.hpp"

namespace lockstep::conformance::script {

/// What a run is made of.
struct Plan {
  Config config;
  IpAddress local, remote;      ///< as they are on the wire
  std::size_t first_event = 0;  ///< behind the commands that were taken into `config`
};

/// Of the command line; they come before what the head of a script says.
struct Overrides {
  std::string profile;
  bool strict_segments = false;
  bool allow_trailing = false;
  bool keep_capture = false;  ///< of a run that passes, too
  bool cut = false;           ///< the events end within the script: a call may wait still
  bool referee = true;        ///< our packets are judged by the rules of RFCs as well
  /// For tests: what the referee is shown of a packet of ours is changed by this.
  void (*before_referee)(std::span<std::byte> ours) = nullptr;
};

/// Profile, addresses, MTU, the sysctls of commands that stand before everything else, and fields
/// of Config, in this order. Throws Failure (bad_input) that names file, line and column.
Plan plan_of(const Script& script, const Overrides& overrides);

}  // namespace lockstep::conformance::script
