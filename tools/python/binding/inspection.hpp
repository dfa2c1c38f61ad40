// A connection's variables as a dict of Python.
#pragma once

#include "core/tcp/interface.hpp"

namespace nanobind {
class dict;
}

namespace lockstep::tools::python {

/// Names as lockstep.Inspection lists them; times in nanoseconds.
nanobind::dict inspection_of(const ConnectionInfo& info);

}  // namespace lockstep::tools::python
