// What is said of a failed CHECK in a process of Python, which a trap would end without a word.
#pragma once

#include <cstdint>

#include "core/units/check.hpp"
#include "core/units/time.hpp"

namespace lockstep::tools::python {

/// The stack alone that was used last: it is named if a CHECK fails.
void note_stack(std::uint64_t seed, Instant at);

/// For set_check_handler: what failed, where; seed and instant of the stack alone that was used
/// last, and of the world that ran last, if there are any.
void tell_failed_check(const CheckSite& site);

}  // namespace lockstep::tools::python
