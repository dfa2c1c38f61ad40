// The parser of .pkt scripts: text to values, or the first error with its line and column.
#pragma once

#include <string_view>

#include "conformance/script/cursor.hpp"
#include "conformance/script/syntax.hpp"

namespace lockstep::script {

/// The whole of a script. Throws SyntaxError at the first thing that is not in the language:
/// nothing is ever skipped. Linear in the length of `text`; nesting is bounded by nesting_max.
Script parse(std::string_view text);

inline constexpr std::uint32_t nesting_max = 16;

// The parts, each from where the cursor stands; spaces behind are gone over.
When parse_when(Cursor& cursor);
Packet parse_packet(Cursor& cursor);
Call parse_call(Cursor& cursor);
/// One expression, added to call.nodes; its position there.
std::uint32_t parse_expression(Cursor& cursor, Call& call);

}  // namespace lockstep::script
