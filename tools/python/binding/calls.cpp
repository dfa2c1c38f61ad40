// lockstep._core.Calls: the application's and the observer's calls on a stack, alone or in a world.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "core/stack/statistics.hpp"
#include "tools/lib/calls/calls.hpp"
#include "tools/lib/calls/refused.hpp"
#include "tools/python/binding/bindings.hpp"
#include "tools/python/binding/convert.hpp"
#include "tools/python/binding/inspection.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace lockstep::tools::python {
namespace {

nb::list take_events(Calls& calls) {
  nb::list out;
  for (TimedEvent const& each : calls.inbox().events) {
    Event const& event = each.event;
    bool const of_listener = event.kind == EventKind::accepted;
    nb::object const listener = of_listener ? nb::object(to_python(event.listener)) : nb::none();
    out.append(nb::make_tuple(each.at.ns, to_python(name_of(event.kind)),
                              to_python(name_of(event.cause)), to_python(event.id), listener,
                              event.bytes.count));
  }
  calls.inbox().events.clear();
  return out;
}

nb::list take_accepted(Calls& calls) {
  nb::list out;
  for (ConnectionId id : calls.inbox().accepted) {
    out.append(to_python(id));
  }
  calls.inbox().accepted.clear();
  return out;
}

nb::tuple listen(Calls& calls, const nb::tuple& local, std::uint32_t backlog,
                 std::uint32_t fast_open) {
  Endpoint const end = endpoint_of(local, "address");
  Backlog room;
  room.pending = Count{backlog};
  room.fast_open = Count{fast_open};
  ListenerId out;
  refuse_unless_none(calls.stack().listen({end.address, end.port, {}}, room, out), "listen");
  calls.touched();
  return to_python(out);
}

nb::tuple connect(Calls& calls, const nb::tuple& remote, const nb::tuple& local, bool fast_open) {
  Open open;
  open.remote = endpoint_of(remote, "remote");
  open.local = endpoint_of(local, "local_address");
  open.fast_open = fast_open;
  return to_python(calls.connect(open));
}

std::uint32_t write(Calls& calls, const nb::tuple& id, const nb::bytes& data, bool more,
                    bool record) {
  Taken const taken = calls.stack().write(connection_of(id), bytes_of(data), more_of(more, record));
  std::uint32_t const count = taken_or_refused(taken, "write");
  calls.touched();
  return count;
}

nb::str state(Calls& calls, const nb::tuple& id) {
  auto const found = calls.state(connection_of(id));
  if (!found) {
    throw Refused(Refusal::stale_id, "state");
  }
  return to_python(name_of(*found));
}

nb::str state_of(Calls& calls, const nb::tuple& local, const nb::tuple& remote) {
  return to_python(name_of(
      calls.stack().state_of({endpoint_of(local, "local"), endpoint_of(remote, "remote")})));
}

nb::dict inspect(Calls& calls, const nb::tuple& id) {
  ConnectionInfo const info = calls.stack().inspect(connection_of(id));
  if (!info.exists) {
    throw Refused(Refusal::stale_id, "inspect");
  }
  return inspection_of(info);
}

void set(Calls& calls, const nb::tuple& id, const std::string& name, std::uint64_t value) {
  Setting const setting{setting_named(name), value};
  refuse_unless_none(calls.stack().set(connection_of(id), setting), "set");
  calls.touched();
}

void abort(Calls& calls, const nb::tuple& id) {
  if (!calls.stack().inspect(connection_of(id)).exists) {
    throw Refused(Refusal::stale_id, "abort");
  }
  calls.stack().abort(connection_of(id));
  calls.touched();
}

/// Binds a call of Stack whose only argument is the connection.
template <Refusal (Stack::*call)(ConnectionId)>
auto plain(const char* name) {
  return [name](Calls& calls, const nb::tuple& id) {
    refuse_unless_none((calls.stack().*call)(connection_of(id)), name);
    calls.touched();
  };
}

nb::dict statistics(Calls& calls) {
  Statistics const& all = calls.stack().statistics();
  nb::dict out;
  out["frames_received"] = all.frames_received;
  out["frames_sent"] = all.frames_sent;
  out["bytes_received"] = all.bytes_received;
  out["bytes_sent"] = all.bytes_sent;
  out["replies_sent"] = all.replies_sent;
  out["segments_received"] = all.tcp.segments_received;
  out["segments_sent"] = all.tcp.segments_sent;
  out["retransmissions"] = all.tcp.retransmissions;
  out["fast_retransmits"] = all.tcp.fast_retransmits;
  out["timeouts"] = all.tcp.timeouts;
  out["resets_sent"] = all.tcp.resets_sent;
  out["challenges_sent"] = all.tcp.challenges_sent;
  out["connections_opened"] = all.tcp.connections_opened;
  out["connections_closed"] = all.tcp.connections_closed;
  return out;
}

nb::dict dropped(Calls& calls) {
  nb::dict out;
  for (std::uint32_t i = 0; i < drop_count; ++i) {
    auto const drop = static_cast<Drop>(i);
    if (std::uint64_t const count = calls.stack().statistics().drops.of(drop); count != 0) {
      out[to_python(name_of(drop))] = count;
    }
  }
  return out;
}

using Class = nb::class_<Calls>;

void bind_application(Class& calls) {
  calls.def("listen", &listen, "local"_a, "backlog"_a, "fast_open"_a)
      .def(
          "unlisten",
          [](Calls& self, const nb::tuple& id) {
            refuse_unless_none(self.stack().unlisten(listener_of(id)), "unlisten");
            self.touched();
          },
          "listener"_a)
      .def("connect", &connect, "remote"_a, "local"_a, "fast_open"_a)
      .def("write", &write, "connection"_a, "data"_a, "more"_a, "record"_a)
      .def(
          "read",
          [](Calls& self, const nb::tuple& id, std::uint32_t most, bool peek) {
            return to_python(self.read(connection_of(id), Bytes{most}, peek));
          },
          "connection"_a, "most"_a, "peek"_a)
      .def(
          "unread",
          [](Calls& self, const nb::tuple& id) {
            return self.stack().unread(connection_of(id)).count;
          },
          "connection"_a)
      .def(
          "writable",
          [](Calls& self, const nb::tuple& id) {
            return self.stack().writable(connection_of(id)).count;
          },
          "connection"_a)
      .def("finish", plain<&Stack::finish>("finish"), "connection"_a)
      .def("close", plain<&Stack::close>("close"), "connection"_a)
      .def("urgent", plain<&Stack::urgent>("urgent"), "connection"_a)
      .def("abort", &abort, "connection"_a)
      .def("set", &set, "connection"_a, "name"_a, "value"_a);
}

void bind_observer(Class& calls) {
  calls.def("events", &take_events)
      .def("accepted", &take_accepted)
      .def("events_lost", [](Calls& self) { return self.inbox().events_lost; })
      .def("state", &state, "connection"_a)
      .def("state_of", &state_of, "local"_a, "remote"_a)
      .def("inspect", &inspect, "connection"_a)
      .def("statistics", &statistics)
      .def("dropped", &dropped)
      .def("fingerprint", [](Calls& self) { return self.stack().fingerprint(); })
      .def("canonical", [](Calls& self) { return self.stack().canonical(self.stack().now()); })
      .def("check_invariants", [](Calls& self) { self.stack().check_invariants(); });
}

}  // namespace

void bind_calls(nb::module_& module) {
  Class calls(module, "Calls", "The application's and the observer's side of a stack.");
  bind_application(calls);
  bind_observer(calls);
}

}  // namespace lockstep::tools::python
