// The parts of a script's grammar, each read by a file of its own.
#pragma once

#include "conformance/script/cursor.hpp"
#include "conformance/script/syntax.hpp"

namespace lockstep::conformance::script {

/// Lines that begin with `--`, up to the first event.
void parse_head(Cursor& cursor, Head& head, Defines& defines);
/// Behind the time: NAME(ARGUMENTS) = RESULT.
Call parse_call(Cursor& cursor);
/// Behind the time: < or >, and what is in the packet.
Packet parse_packet(Cursor& cursor, IpMode mode);
/// What stands between backticks: sysctls, as a list of names and values.
std::vector<Assignment> parse_command(Cursor& cursor);

}  // namespace lockstep::conformance::script
