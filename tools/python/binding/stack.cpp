// lockstep._core.Stack: a single stack without a world.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <new>

#include "tools/lib/calls/configure.hpp"
#include "tools/lib/calls/refused.hpp"
#include "tools/python/binding/bindings.hpp"
#include "tools/python/binding/convert.hpp"
#include "tools/python/solo.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace lockstep::tools::python {
namespace {

/// The values are numbers, booleans and strings; lockstep/stack.py ensures that.
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

nb::list wrongs(const Solo& solo) {
  nb::list out;
  for (Wrong const& each : solo.wrongs()) {
    out.append(nb::make_tuple(each.at.ns, each.rule, each.words, each.expected, each.found));
  }
  return out;
}

void restore(Solo& solo, const nb::bytes& from) {
  if (!solo.restore(bytes_of(from))) {
    throw Refused(Refusal::bad_snapshot, "restore");
  }
}

std::uint32_t bind(Solo& solo, const nb::bytes& content) {
  auto const region = solo.bind(bytes_of(content));
  if (!region) {
    throw Refused(Refusal::no_room, "bind");
  }
  return region->value;
}

std::uint32_t lend(Solo& solo, const nb::tuple& id, std::uint32_t region, std::uint64_t offset,
                   std::uint32_t length, bool more, bool record) {
  return taken_or_refused(
      solo.lend(connection_of(id), {RegionId{region}, offset, length}, more_of(more, record)),
      "lend");
}

void construct(Solo* self, const std::string& profile, std::uint64_t seed, const std::string& link,
               const std::vector<std::string>& addresses, std::uint64_t mtu,
               const std::string& gateway, const std::string& mac,
               const std::map<std::string, std::string>& neighbours, const nb::dict& config,
               std::uint64_t start) {
  StackSpec spec{profile, seed, link, addresses, mtu, gateway, mac, neighbours, fields_in(config)};
  new (self) Solo(config_of(spec), Instant{start}, seed);
}

}  // namespace

void bind_stack(nb::module_& module) {
  nb::class_<Solo, Calls>(module, "Stack", "One stack alone with its virtual clock.")
      .def("__init__", &construct, "profile"_a, "seed"_a, "link"_a, "addresses"_a, "mtu"_a,
           "gateway"_a, "mac"_a, "neighbours"_a, "config"_a, "start"_a)
      .def("now", [](const Solo& self) { return self.now().ns; })
      .def(
          "deadline", [](const Solo& self) { return to_python(self.deadline()); },
          nb::sig("def deadline(self) -> int | None"))
      .def(
          "receive_one",
          [](Solo& self, const nb::bytes& packet) {
            Packet const one = bytes_of(packet);
            self.receive({&one, 1});
          },
          "packet"_a)
      .def("receive", &receive, "packets"_a)
      .def("transmit", &transmit)
      // The bytes object lives as long as the stack that lends from it.
      .def("bind", &bind, "content"_a, nb::keep_alive<1, 2>())
      .def("lend", &lend, "connection"_a, "region"_a, "offset"_a, "length"_a, "more"_a, "record"_a)
      .def("advance_to", &advance_to, "instant"_a)
      .def("judge", &Solo::judge)
      .def("wrongs", &wrongs)
      .def("snapshot", [](const Solo& self) { return to_python(self.snapshot()); })
      .def("restore", &restore, "snapshot"_a);
}

}  // namespace lockstep::tools::python
