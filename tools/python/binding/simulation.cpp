// lockstep._core.Simulation and Host: worlds that run step by step.
#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <new>

#include "core/tcp/congestion/added.hpp"
#include "sim/kernel/snapshot.hpp"
#include "tools/lib/controllers/load.hpp"
#include "tools/lib/sim_report/measures.hpp"
#include "tools/lib/sim_report/report_json.hpp"
#include "tools/lib/world_file/world_file.hpp"
#include "tools/python/binding/bindings.hpp"
#include "tools/python/binding/convert.hpp"
#include "tools/python/simulation.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace lockstep::tools::python {
namespace {

/// A snapshot; opaque in Python.
struct Kept {
  std::shared_ptr<const Simulation::Snapshot> all;
};

void construct(Simulation* self, const std::string& text, const std::string& name, bool is_file,
               const std::vector<std::string>& settings, std::uint64_t seed,
               const std::vector<std::string>& taps, bool record, bool trace, bool series) {
  SimulationSpec spec;
  spec.world = is_file ? read_world(name, settings) : read_world_text(text, name, settings);
  spec.seed = seed;
  spec.taps = taps;
  spec.record = record;
  spec.trace = trace;
  spec.series = series;
  new (self) Simulation(spec);
}

nb::list hosts(Simulation& in) {
  nb::list out;
  for (sim::HostSpec const& host : in.kernel().world().hosts) {
    out.append(to_python(host.name.view()));
  }
  return out;
}

const char* link_of(Simulation& in, sim::NodeRef node) {
  bool const bare = node.kind == sim::NodeKind::host &&
                    in.kernel().world().hosts[node.index].config.link == LinkType::ip;
  return bare ? "ip" : "ethernet";
}

nb::list take_frames(Simulation& in) {
  nb::list out;
  for (FrameSeen const& each : in.take_frames()) {
    out.append(nb::make_tuple(each.at.ns, in.name_of(each.node), to_python(each.what),
                              to_python(each.bytes), link_of(in, each.node)));
  }
  return out;
}

nb::list take_arrived(Simulation& in, std::uint32_t tap) {
  nb::list out;
  for (Simulation::Arrived const& each : in.take_arrived(tap)) {
    out.append(nb::make_tuple(each.at.ns, to_python(each.bytes)));
  }
  return out;
}

/// Runs a limited number of steps at a time, so that Ctrl-C can interrupt.
template <class More>
void run_while(Simulation& in, More more) {
  constexpr std::uint32_t steps = 4'096;
  while (more()) {
    for (std::uint32_t i = 0; i < steps && more(); ++i) {
      in.step();
    }
    if (PyErr_CheckSignals() != 0) {
      throw nb::python_error();
    }
  }
}

void advance_to(Simulation& in, std::uint64_t ns) {
  Instant const to{ns};
  run_while(in, [&] { return in.kernel().next_at() <= to; });
  in.kernel().advance_to(to);
}

nb::str run(Simulation& in) {
  sim::Kernel& kernel = in.kernel();
  Instant const limit = Instant{0} + kernel.world().limit;
  run_while(in, [&] {
    return !kernel.done() && !kernel.next_at().is_never() && kernel.next_at() <= limit;
  });
  return to_python(sim::name_of(in.run()));
}

std::string report(Simulation& in) { return report_json(in.kernel(), in.ending()); }

/// Each table with the name of its file.
nb::dict tables(Simulation& in) {
  nb::dict out;
  for (std::size_t i = 0; i < table_files.size(); ++i) {
    out[to_python(table_files[i])] = to_python(in.table(static_cast<Table>(i)));
  }
  out["connections.csv"] = to_python(connections_csv(in.kernel()));
  return out;
}

/// (number, side, app, host, id) of each end of each connection; without an id once it has closed,
/// and at a node without a stack.
nb::list connections(Simulation& in) {
  nb::list out;
  for (sim::Flow const& flow : in.kernel().ledger().flows()) {
    for (sim::Side const side : {sim::Side::opener, sim::Side::acceptor}) {
      sim::FlowEnd const& end = flow.end(side);
      if (flow.joined || !end.begun) {
        continue;
      }
      nb::object const id = end.open && !end.station ? nb::object(to_python(end.id)) : nb::none();
      out.append(nb::make_tuple(flow.id.value, side == sim::Side::opener ? "opener" : "acceptor",
                                to_python(flow.app.view()), to_python(host_of(in.kernel(), end)),
                                id));
    }
  }
  return out;
}

/// The names of controllers; the setting `congestion` of a connection is an index.
nb::list congestion_words() {
  nb::list out;
  for (std::string_view const word : tcp::congestion_words()) {
    out.append(to_python(word));
  }
  return out;
}

std::string controller_fault(Simulation& in) { return controller_fault_of(in.kernel()); }

nb::object next_at(Simulation& in) { return to_python(in.kernel().next_at()); }

}  // namespace

void bind_simulation(nb::module_& module) {
  module.def("load_controller", &load_controller, "file"_a);
  module.def(
      "add_controller",
      [](const std::string& origin, std::uintptr_t controller) {
        add_controller_of(origin, reinterpret_cast<const void*>(controller));
      },
      "origin"_a, "controller"_a);
  module.def("congestion_words", &congestion_words, nb::sig("def congestion_words() -> list[str]"));
  nb::class_<Kept>(module, "SimulationSnapshot", "All of a simulation in mid run.");
  nb::class_<Simulation>(module, "Simulation", "A world that runs step by step.")
      .def("__init__", &construct, "text"_a, "name"_a, "is_file"_a, "settings"_a, "seed"_a,
           "taps"_a, "record"_a, "trace"_a, "series"_a)
      .def("now", [](Simulation& self) { return self.kernel().now().ns; })
      .def("next_at", &next_at, nb::sig("def next_at(self) -> int | None"))
      .def("step", [](Simulation& self) { return self.step(); })
      .def("advance_to", &advance_to, "instant"_a)
      .def("run", &run)
      .def("done", [](Simulation& self) { return self.kernel().done(); })
      .def("steps", [](Simulation& self) { return self.kernel().steps(); })
      .def("frames_sent", [](Simulation& self) { return self.kernel().frames_sent(); })
      .def("fingerprint", [](Simulation& self) { return self.kernel().fingerprint(); })
      .def("controller_fault", &controller_fault)
      .def("hosts", &hosts)
      .def("frames", &take_frames)
      .def("report", &report)
      .def("tables", &tables)
      .def("connections", &connections)
      .def("pcapng", [](Simulation& self) { return to_python(self.pcapng()); })
      .def("tap", &Simulation::tap_named, "name"_a)
      .def(
          "send",
          [](Simulation& self, std::uint32_t tap, const nb::bytes& frame) {
            self.send(tap, bytes_of(frame));
          },
          "tap"_a, "frame"_a)
      .def("arrived", &take_arrived, "tap"_a)
      .def("snapshot", [](Simulation& self) { return Kept{self.snapshot()}; })
      .def(
          "restore", [](Simulation& self, const Kept& kept) { self.restore(*kept.all); },
          "snapshot"_a);
  nb::class_<SimHost, Calls>(module, "Host", "A host of a simulation.")
      .def(
          "__init__",
          [](SimHost* self, Simulation& in, const std::string& name) {
            new (self) SimHost(in, in.host_named(name));
          },
          "simulation"_a, "name"_a, nb::keep_alive<1, 2>())
      .def("now", [](SimHost& self) { return self.now().ns; });
}

}  // namespace lockstep::tools::python
