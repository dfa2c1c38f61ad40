// A connection's variables as a Python dict.
#pragma once

#include "core/tcp/interface.hpp"

namespace nanobind {
class dict;
}

namespace lockstep::tools::python {

/// Keys are the names of lockstep.Inspection; times are in nanoseconds.
nanobind::dict inspection_of(const ConnectionInfo& info);

}  // namespace lockstep::tools::python
