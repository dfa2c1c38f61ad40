// Prints a failed CHECK in a Python process, which a trap would otherwise end without a message.
#pragma once

#include <cstdint>

#include "core/units/check.hpp"
#include "core/units/time.hpp"

namespace lockstep::tools::python {

/// Records the single stack used last, which is named if a CHECK fails.
void note_stack(std::uint64_t seed, Instant at);

/// For set_check_handler: prints what failed and where, and the seed and instant of the single
/// stack used last and of the world that ran last, if any.
void tell_failed_check(const CheckSite& site);

}  // namespace lockstep::tools::python
