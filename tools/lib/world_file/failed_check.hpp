// Prints a failed CHECK with the world that was running.
#pragma once

#include "core/units/check.hpp"

namespace lockstep::tools {

/// For set_check_handler: prints the world, the seed, the instant and the host.
void print_failed_check(const CheckSite& site);

}  // namespace lockstep::tools
