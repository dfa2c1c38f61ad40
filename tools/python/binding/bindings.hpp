// The parts of the module `lockstep._core`, one function for each file.
#pragma once

namespace nanobind {
class module_;
}

namespace lockstep::tools::python {

void bind_errors(nanobind::module_& module);
void bind_fields(nanobind::module_& module);
void bind_units(nanobind::module_& module);
void bind_calls(nanobind::module_& module);
void bind_simulation(nanobind::module_& module);
void bind_sockets(nanobind::module_& module);
void bind_stack(nanobind::module_& module);

}  // namespace lockstep::tools::python
