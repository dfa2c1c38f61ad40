// The names of numbers that scripts use: of sockets, options, errors, and of the kernel's states.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep::conformance::script {

/// AF_INET, SOL_SOCKET, TCP_NODELAY, O_NONBLOCK, POLLIN, TCP_ESTABLISHED ...
std::optional<std::int64_t> constant(std::string_view name);
/// EAGAIN ...
std::optional<int> error_number(std::string_view name);
/// "EAGAIN", or the number.
std::string error_name(int number);

}  // namespace lockstep::conformance::script
