// Converts values between Python and the stack.
#include "tools/python/binding/convert.hpp"

#include <nanobind/stl/string.h>

#include "tools/lib/calls/configure.hpp"

namespace nb = nanobind;

namespace lockstep::tools::python {

Packet bytes_of(const nb::bytes& bytes) {
  return {static_cast<const std::byte*>(bytes.data()), bytes.size()};
}

nb::bytes to_python(const std::vector<std::byte>& bytes) {
  return nb::bytes(bytes.data(), bytes.size());
}

nb::str to_python(std::string_view text) { return nb::str(text.data(), text.size()); }

nb::object to_python(Instant at) {
  return at.is_never() ? nb::none() : nb::object(nb::int_(at.ns));
}

ConnectionId connection_of(const nb::tuple& id) {
  return {nb::cast<std::uint32_t>(id[0]), nb::cast<std::uint32_t>(id[1])};
}

ListenerId listener_of(const nb::tuple& id) {
  return {nb::cast<std::uint32_t>(id[0]), nb::cast<std::uint32_t>(id[1])};
}

nb::tuple to_python(ConnectionId id) { return nb::make_tuple(id.slot, id.generation); }
nb::tuple to_python(ListenerId id) { return nb::make_tuple(id.slot, id.generation); }

Endpoint endpoint_of(const nb::tuple& pair, const char* what) {
  auto const address = nb::cast<std::string>(pair[0]);
  Port const port{nb::cast<std::uint16_t>(pair[1])};
  return {address.empty() ? IpAddress{} : address_of(address, what), port};
}

}  // namespace lockstep::tools::python
