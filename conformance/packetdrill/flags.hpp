// Parses --so_flags: the configuration of the stack, and the limit of its clock.
#pragma once

#include <string_view>

#include "conformance/script/settings.hpp"
#include "core/units/time.hpp"

namespace lockstep::tools::packetdrill {

struct Settings {
  conformance::script::Plan plan;
  /// The most that the clock advances while a call waits. Longer than keep-alive's two hours.
  Duration horizon = Duration::seconds(10'800);
};

/// NAME=VALUE, separated by blanks or commas; within quotes they belong to the value. README.md
/// lists the names. Throws Failure (bad_input): one line that gives the column.
Settings read_flags(std::string_view text);

}  // namespace lockstep::tools::packetdrill
