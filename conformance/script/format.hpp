// A script back to text, in one way of writing it: what parse() reads gives the same values again.
#pragma once

#include <string>
#include <string_view>

#include "conformance/script/syntax.hpp"

namespace lockstep::script {

/// One line an event, one space between words; code and commands as they were.
std::string format(const Script& script);
std::string format(const When& when);
std::string format(const Packet& packet);
std::string format(const Call& call);
/// In "", whatever the octets: what no terminal should see is \xNN.
std::string quoted(std::string_view text);

}  // namespace lockstep::script
