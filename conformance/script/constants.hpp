// Names of constants in scripts: sockets, options, errors, and Linux's TCP states.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep::conformance::script {

/// For example AF_INET, SOL_SOCKET, TCP_NODELAY, O_NONBLOCK, POLLIN, TCP_ESTABLISHED.
std::optional<std::int64_t> constant(std::string_view name);
/// For example EAGAIN.
std::optional<int> error_number(std::string_view name);
/// For example "EAGAIN", or the number if it has no name.
std::string error_name(int number);

}  // namespace lockstep::conformance::script
