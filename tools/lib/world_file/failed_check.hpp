// What is said of a failed CHECK by whoever runs worlds.
#pragma once

#include "core/units/check.hpp"

namespace lockstep::tools {

/// For set_check_handler: the world, the seed, the instant and the host.
void print_failed_check(const CheckSite& site);

}  // namespace lockstep::tools
