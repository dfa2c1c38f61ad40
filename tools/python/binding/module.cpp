// The module `lockstep._core`: what the Python files of lockstep stand on.
#include <nanobind/nanobind.h>

#include "tools/python/binding/bindings.hpp"

NB_MODULE(_core, module) {
  module.doc() = "The compiled part of lockstep: use the module lockstep, which is documented.";
  lockstep::tools::python::bind_errors(module);
  lockstep::tools::python::bind_units(module);
  lockstep::tools::python::bind_fields(module);
  lockstep::tools::python::bind_calls(module);
  lockstep::tools::python::bind_stack(module);
  lockstep::tools::python::bind_simulation(module);
  lockstep::tools::python::bind_sockets(module);
}
