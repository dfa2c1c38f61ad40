// Converts values between Python and the stack.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/tcp/interface.hpp"
#include "tools/lib/calls/calls.hpp"

namespace lockstep::tools::python {

/// Valid as long as the object.
Packet bytes_of(const nanobind::bytes& bytes);
nanobind::bytes to_python(const std::vector<std::byte>& bytes);
nanobind::str to_python(std::string_view text);
/// None for Instant::never().
nanobind::object to_python(Instant at);

/// From (slot, generation).
ConnectionId connection_of(const nanobind::tuple& id);
ListenerId listener_of(const nanobind::tuple& id);
nanobind::tuple to_python(ConnectionId id);
nanobind::tuple to_python(ListenerId id);

/// From (address, port); an empty address is unspecified. Throws Failure naming `what`.
Endpoint endpoint_of(const nanobind::tuple& pair, const char* what);

}  // namespace lockstep::tools::python
