// The module `lockstep._core`, on which the Python files of lockstep are built.
#include <nanobind/nanobind.h>

#include "core/units/check.hpp"
#include "tools/base/process/version.hpp"
#include "tools/python/binding/bindings.hpp"
#include "tools/python/failed_check.hpp"

NB_MODULE(_core, module) {
  module.doc() = "The compiled part of lockstep. Use the module lockstep, which is documented.";
  lockstep::set_check_handler(lockstep::tools::python::tell_failed_check);
  module.attr("version") = lockstep::tools::version;
  module.def(
      "break_down",
      [] {
        bool const asked_for_it = true;
        CHECK(!asked_for_it);
      },
      "For tests: fails a CHECK, as a bug of ours would. The process ends.");
  lockstep::tools::python::bind_errors(module);
  lockstep::tools::python::bind_units(module);
  lockstep::tools::python::bind_fields(module);
  lockstep::tools::python::bind_calls(module);
  lockstep::tools::python::bind_stack(module);
  lockstep::tools::python::bind_simulation(module);
  lockstep::tools::python::bind_sockets(module);
}
