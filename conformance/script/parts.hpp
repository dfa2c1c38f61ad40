// The parts of the script parser, one file each.
#pragma once

#include "conformance/script/cursor.hpp"
#include "conformance/script/syntax.hpp"

namespace lockstep::conformance::script {

/// Lines that begin with `--`, up to the first event. Settings without effect become notes.
void parse_head(Cursor& cursor, Head& head, Defines& defines, std::vector<Note>& notes);
/// After the time: NAME(ARGUMENTS) = RESULT.
Call parse_call(Cursor& cursor);
/// After the time: < or >, and the packet.
Packet parse_packet(Cursor& cursor, IpMode mode);
/// Between backticks: what the commands set and assert. Those without effect become notes, and
/// with `lenient` those that are not understood do, too.
Shell parse_command(Cursor& cursor, const Defines& defines, Strictness strictness,
                    std::vector<Note>& notes);

}  // namespace lockstep::conformance::script
