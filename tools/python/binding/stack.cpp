// lockstep._core.Stack: one stack alone.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <new>

#include "core/seam/statistics.hpp"
#include "tools/cli/failure.hpp"
#include "tools/python/binding/bindings.hpp"
#include "tools/python/binding/inspection.hpp"
#include "tools/python/configure.hpp"
#include "tools/python/refused.hpp"
#include "tools/python/solo.hpp"
#include "tools/world/units.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace lockstep::tools::python {
namespace {

[[noreturn]] void wrong(const std::string& what) { throw Failure(ExitCode::bad_input, what); }

Packet bytes_of(const nb::bytes& bytes) {
  return {static_cast<const std::byte*>(bytes.data()), bytes.size()};
}

nb::bytes to_python(const std::vector<std::byte>& bytes) {
  return nb::bytes(bytes.data(), bytes.size());
}

nb::str text(std::string_view value) { return nb::str(value.data(), value.size()); }

nb::object instant(Instant at) {
  return at.is_never() ? nb::none() : nb::object(nb::int_(at.ns));
}

/// The values are numbers, booleans and texts: lockstep/stack.py sees to that.
std::vector<std::pair<std::string, FieldValue>> fields_in(const nb::dict& config) {
  std::vector<std::pair<std::string, FieldValue>> out;
  for (auto const& [key, value] : config) {
    auto name = nb::cast<std::string>(key);
    if (nb::isinstance<nb::str>(value)) {
      out.emplace_back(std::move(name), nb::cast<std::string>(value));
    } else {
      out.emplace_back(std::move(name), nb::cast<std::uint64_t>(value));
    }
  }
  return out;
}

ConnectionId id_of(const nb::tuple& id) {
  return {nb::cast<std::uint32_t>(id[0]), nb::cast<std::uint32_t>(id[1])};
}

ListenerId listener_of(const nb::tuple& id) {
  return {nb::cast<std::uint32_t>(id[0]), nb::cast<std::uint32_t>(id[1])};
}

template <class Id>
nb::tuple to_python(Id id) {
  return nb::make_tuple(id.slot, id.generation);
}

Endpoint endpoint_of(const std::string& address, std::uint16_t port, const char* what) {
  return {address.empty() ? IpAddress{} : address_of(address, what), Port{port}};
}

void receive(Solo& solo, const nb::list& packets) {
  std::vector<Packet> spans;
  spans.reserve(packets.size());
  for (nb::handle packet : packets) {
    spans.push_back(bytes_of(nb::borrow<nb::bytes>(packet)));
  }
  solo.receive(spans);
}

nb::list transmit(Solo& solo) {
  nb::list out;
  for (Sent const& each : solo.transmit()) {
    out.append(to_python(each.bytes));
  }
  return out;
}

nb::list advance_to(Solo& solo, std::uint64_t to) {
  nb::list out;
  for (Sent const& each : solo.advance_to(Instant{to})) {
    out.append(nb::make_tuple(each.at.ns, to_python(each.bytes)));
  }
  return out;
}

nb::list take_events(Solo& solo) {
  nb::list out;
  for (Told const& each : solo.events) {
    Event const& event = each.event;
    bool const of_listener = event.kind == EventKind::accepted;
    out.append(nb::make_tuple(each.at.ns, text(name_of(event.kind)), text(name_of(event.cause)),
                              to_python(event.id),
                              of_listener ? nb::object(to_python(event.listener)) : nb::none(),
                              event.bytes.count));
  }
  solo.events.clear();
  return out;
}

nb::list take_accepted(Solo& solo) {
  nb::list out;
  for (ConnectionId id : solo.accepted) {
    out.append(to_python(id));
  }
  solo.accepted.clear();
  return out;
}


nb::tuple listen(Solo& solo, const std::string& address, std::uint16_t port,
                 std::uint32_t backlog, std::uint32_t fast_open) {
  Local const local{endpoint_of(address, port, "address").address, Port{port}, {}};
  Backlog room;
  room.pending = Count{backlog};
  room.fast_open = Count{fast_open};
  ListenerId out;
  refuse_unless_none(solo.stack().listen(local, room, out), "listen");
  return to_python(out);
}

nb::tuple connect(Solo& solo, const nb::tuple& remote, const nb::tuple& local, bool fast_open) {
  auto const end = [](const nb::tuple& pair, const char* what) {
    return endpoint_of(nb::cast<std::string>(pair[0]), nb::cast<std::uint16_t>(pair[1]), what);
  };
  Open open;
  open.remote = end(remote, "remote");
  open.local = end(local, "local");
  open.fast_open = fast_open;
  return to_python(solo.connect(open));
}

std::uint32_t write(Solo& solo, const nb::tuple& id, const nb::bytes& data, bool more) {
  Taken const taken =
      solo.stack().write(id_of(id), bytes_of(data), more ? More::yes : More::no);
  if (taken.refusal != Refusal::no_room && taken.bytes.empty()) {
    refuse_unless_none(taken.refusal, "write");
  }
  return taken.bytes.count;
}

nb::str state(const Solo& solo, const nb::tuple& id) {
  auto const found = solo.state(id_of(id));
  if (!found) {
    throw Refused(Refusal::stale_id, "state");
  }
  return text(name_of(*found));
}

nb::str state_of(const Solo& solo, const nb::tuple& local, const nb::tuple& remote) {
  auto const end = [](const nb::tuple& pair, const char* what) {
    return endpoint_of(nb::cast<std::string>(pair[0]), nb::cast<std::uint16_t>(pair[1]), what);
  };
  return text(name_of(solo.stack().state_of({end(local, "local"), end(remote, "remote")})));
}

nb::dict inspect(const Solo& solo, const nb::tuple& id) {
  ConnectionInfo const info = solo.stack().inspect(id_of(id));
  if (!info.exists) {
    throw Refused(Refusal::stale_id, "inspect");
  }
  return inspection_of(info);
}

void set(Solo& solo, const nb::tuple& id, const std::string& name, std::uint64_t value) {
  constexpr std::array<std::string_view, 10> names{
      "nagle", "delayed_ack", "keepalive",      "keepalive_idle_ms", "user_timeout_ms",
      "dscp",  "ttl",         "receive_buffer", "send_buffer",       "soft_errors"};
  for (std::uint32_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) {
      refuse_unless_none(solo.stack().set(id_of(id), {static_cast<SettingKind>(i), value}), "set");
      return;
    }
  }
  std::string all;
  for (std::string_view each : names) {
    all += (all.empty() ? "" : ", ") + std::string(each);
  }
  wrong("the setting is '" + name + "', expected one of " + all);
}

nb::dict statistics(const Solo& solo) {
  Statistics const& all = solo.stack().statistics();
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

nb::dict dropped(const Solo& solo) {
  nb::dict out;
  for (std::uint32_t i = 0; i < drop_count; ++i) {
    auto const drop = static_cast<Drop>(i);
    if (std::uint64_t const count = solo.stack().statistics().drops.of(drop); count != 0) {
      out[text(name_of(drop))] = count;
    }
  }
  return out;
}

void restore(Solo& solo, const nb::bytes& from) {
  if (!solo.restore(bytes_of(from))) {
    throw Refused(Refusal::bad_snapshot, "restore");
  }
}

void construct(Solo* self, const std::string& profile, std::uint64_t seed,
               const std::string& link, const std::vector<std::string>& addresses,
               std::uint64_t mtu, const std::string& gateway, const std::string& mac,
               const std::map<std::string, std::string>& neighbours, const nb::dict& config,
               std::uint64_t start) {
  StackSpec spec{profile, seed, link, addresses, mtu, gateway, mac, neighbours,
                 fields_in(config)};
  new (self) Solo(config_of(spec), Instant{start});
}

using Class = nb::class_<Solo>;

void bind_calls(Class& solo) {
  solo.def("listen", &listen, "address"_a, "port"_a, "backlog"_a, "fast_open"_a)
      .def("unlisten", [](Solo& self, const nb::tuple& id) {
        refuse_unless_none(self.stack().unlisten(listener_of(id)), "unlisten");
      })
      .def("connect", &connect, "remote"_a, "local"_a, "fast_open"_a)
      .def("write", &write, "connection"_a, "data"_a, "more"_a)
      .def("read", [](Solo& self, const nb::tuple& id, std::uint32_t most, bool peek) {
        return to_python(self.read(id_of(id), Bytes{most}, peek));
      })
      .def("unread", [](const Solo& self, const nb::tuple& id) {
        return self.stack().unread(id_of(id)).count;
      })
      .def("writable", [](const Solo& self, const nb::tuple& id) {
        return self.stack().writable(id_of(id)).count;
      })
      .def("finish", [](Solo& self, const nb::tuple& id) {
        refuse_unless_none(self.stack().finish(id_of(id)), "finish");
      })
      .def("close", [](Solo& self, const nb::tuple& id) {
        refuse_unless_none(self.stack().close(id_of(id)), "close");
      })
      .def("urgent", [](Solo& self, const nb::tuple& id) {
        refuse_unless_none(self.stack().urgent(id_of(id)), "urgent");
      })
      .def("abort", [](Solo& self, const nb::tuple& id) {
        if (!self.stack().inspect(id_of(id)).exists) {
          throw Refused(Refusal::stale_id, "abort");
        }
        self.stack().abort(id_of(id));
      })
      .def("set", &set, "connection"_a, "name"_a, "value"_a);
}

void bind_observer(Class& solo) {
  solo.def("events", &take_events)
      .def("accepted", &take_accepted)
      .def("events_lost", [](const Solo& self) { return self.events_lost; })
      .def("state", &state, "connection"_a)
      .def("state_of", &state_of, "local"_a, "remote"_a)
      .def("inspect", &inspect, "connection"_a)
      .def("statistics", &statistics)
      .def("dropped", &dropped)
      .def("fingerprint", [](const Solo& self) { return self.stack().fingerprint(); })
      .def("canonical", [](const Solo& self) { return self.stack().canonical(self.now()); })
      .def("check_invariants", [](const Solo& self) { self.stack().check_invariants(); })
      .def("snapshot", [](const Solo& self) { return to_python(self.snapshot()); })
      .def("restore", &restore, "snapshot"_a);
}

}  // namespace

void bind_stack(nb::module_& module) {
  Class solo(module, "Stack", "One stack alone with its virtual clock.");
  solo.def("__init__", &construct, "profile"_a, "seed"_a, "link"_a, "addresses"_a, "mtu"_a,
           "gateway"_a, "mac"_a, "neighbours"_a, "config"_a, "start"_a)
      .def("now", [](const Solo& self) { return self.now().ns; })
      .def("deadline", [](const Solo& self) { return instant(self.deadline()); })
      .def("receive_one", [](Solo& self, const nb::bytes& packet) {
        Packet const one = bytes_of(packet);
        self.receive({&one, 1});
      })
      .def("receive", &receive, "packets"_a)
      .def("transmit", &transmit)
      .def("advance_to", &advance_to, "instant"_a);
  bind_calls(solo);
  bind_observer(solo);
}

}  // namespace lockstep::tools::python
