// The parts of the script parser, one file each.
#pragma once

#include "conformance/script/cursor.hpp"
#include "conformance/script/syntax.hpp"

namespace lockstep::conformance::script {

/// Lines that begin with `--`, up to the first event.
void parse_head(Cursor& cursor, Head& head, Defines& defines);
/// After the time: NAME(ARGUMENTS) = RESULT.
Call parse_call(Cursor& cursor);
/// After the time: < or >, and the packet.
Packet parse_packet(Cursor& cursor, IpMode mode);
/// Between backticks: sysctls, as a list of names and values.
std::vector<Assignment> parse_command(Cursor& cursor);

}  // namespace lockstep::conformance::script
