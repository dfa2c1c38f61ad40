// The names that tools of Linux and FreeBSD give to the states of a connection.
#pragma once

#include <string_view>
#include <vector>

#include "core/tcp/state.hpp"

namespace lockstep::conformance::script {

/// The states that a name stands for, such as ESTAB, TIME-WAIT or FIN_WAIT_1, in any case of its
/// letters; none if it names no state.
std::vector<tcp::State> states_named(std::string_view name);

}  // namespace lockstep::conformance::script
