// Parsers of text, and the lists of fields, drops and states.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "core/tcp/state.hpp"
#include "core/units/drop.hpp"
#include "tools/lib/calls/configure.hpp"
#include "tools/python/binding/bindings.hpp"

namespace nb = nanobind;

namespace lockstep::tools::python {
namespace {

nb::list fields(const std::string& profile) {
  nb::list out;
  for (FieldInfo const& each : fields_of(profile)) {
    out.append(nb::make_tuple(each.name, each.unit, each.least, each.most, each.words, each.value));
  }
  return out;
}

nb::dict drops() {
  nb::dict out;
  for (std::uint32_t i = 0; i < drop_count; ++i) {
    auto const drop = static_cast<Drop>(i);
    out[nb::str(name_of(drop).data(), name_of(drop).size())] =
        nb::str(text_of(drop).data(), text_of(drop).size());
  }
  return out;
}

nb::list states() {
  nb::list out;
  for (std::uint32_t i = 0; i < tcp::state_count; ++i) {
    std::string_view const name = name_of(static_cast<tcp::State>(i));
    out.append(nb::str(name.data(), name.size()));
  }
  return out;
}

}  // namespace

void bind_units(nb::module_& module) {
  module.def(
      "duration_ns", [](const std::string& text) { return duration_of(text).ns; }, nb::arg("text"),
      "Nanoseconds of a text like 200ms.");
  module.def("fields", &fields, nb::arg("profile"),
             "(name, unit, least, most, words, value) of each field of Config.");
  module.def("drops", &drops, "Each reason for which a packet can die, and what happened.");
  module.def("states", &states, "The names of the states.");
}

}  // namespace lockstep::tools::python
