// lockstep._core.Sockets: BSD sockets over a stack.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "tools/python/binding/bindings.hpp"
#include "tools/python/binding/convert.hpp"
#include "tools/python/socket_calls.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace lockstep::tools::python {

void bind_sockets(nb::module_& module) {
  nb::class_<SocketCalls>(module, "Sockets", "BSD-shaped sockets over a stack.")
      .def(nb::init<Calls&>(), "on"_a, nb::keep_alive<1, 2>())
      .def("socket", &SocketCalls::socket, "v6"_a)
      .def("bind", &SocketCalls::bind, "fd"_a, "name"_a, "v6"_a)
      .def("listen", &SocketCalls::listen, "fd"_a, "backlog"_a)
      .def("accept", &SocketCalls::accept, "fd"_a)
      .def("connect", &SocketCalls::connect, "fd"_a, "name"_a, "v6"_a)
      .def("shutdown", &SocketCalls::shutdown, "fd"_a, "how"_a)
      .def("close", &SocketCalls::close, "fd"_a)
      .def("local_name", &SocketCalls::local_name, "fd"_a)
      .def("peer_name", &SocketCalls::peer_name, "fd"_a)
      .def(
          "receive",
          [](SocketCalls& self, int fd, std::uint32_t most, int flags) {
            return to_python(self.receive(fd, most, flags));
          },
          "fd"_a, "most"_a, "flags"_a)
      .def(
          "send",
          [](SocketCalls& self, int fd, const nb::bytes& data, int flags) {
            return self.send(fd, bytes_of(data), flags);
          },
          "fd"_a, "data"_a, "flags"_a)
      .def(
          "get_option",
          [](SocketCalls& self, int fd, int level, int name, std::uint32_t most) {
            return to_python(self.get_option(fd, level, name, most));
          },
          "fd"_a, "level"_a, "name"_a, "most"_a)
      .def(
          "set_option",
          [](SocketCalls& self, int fd, int level, int name, const nb::bytes& value) {
            self.set_option(fd, level, name, bytes_of(value));
          },
          "fd"_a, "level"_a, "name"_a, "value"_a)
      .def(
          "send_parts",
          [](SocketCalls& self, int fd, const std::vector<nb::bytes>& parts) {
            std::vector<Packet> spans;
            for (const nb::bytes& part : parts) {
              spans.push_back(bytes_of(part));
            }
            return self.send_parts(fd, spans);
          },
          "fd"_a, "parts"_a)
      .def(
          "receive_parts",
          [](SocketCalls& self, int fd, const std::vector<std::uint32_t>& most) {
            nb::list out;
            for (const std::vector<std::byte>& part : self.receive_parts(fd, most)) {
              out.append(to_python(part));
            }
            return out;
          },
          "fd"_a, "most"_a)
      .def("control", &SocketCalls::control, "fd"_a, "command"_a, "argument"_a)
      .def("query", &SocketCalls::query, "fd"_a, "request"_a)
      .def("poll", &SocketCalls::poll, "fd"_a, "events"_a)
      .def("create_epoll", &SocketCalls::create_epoll)
      .def("watch", &SocketCalls::watch, "epfd"_a, "operation"_a, "fd"_a, "events"_a)
      .def("ready", &SocketCalls::ready, "epfd"_a, "most"_a);
}

}  // namespace lockstep::tools::python
