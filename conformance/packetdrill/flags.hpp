// What --so_flags says: the stack under a script, and how far its clock may run.
#pragma once

#include <string_view>

#include "conformance/script/settings.hpp"
#include "core/units/time.hpp"

namespace lockstep::tools::packetdrill {

struct Settings {
  conformance::script::Plan plan;
  /// How far the clock goes on at most while something is waited for. Longer than keepalive's two
  /// hours.
  Duration horizon = Duration::seconds(10'800);
};

/// NAME=VALUE, separated by blanks or commas; blanks and commas within quotes are of the value.
/// README.md lists the names. Throws Failure (bad_input): one line that names the column.
Settings read_flags(std::string_view text);

}  // namespace lockstep::tools::packetdrill
