// For strings that may not be UTF-8, such as file names.
#pragma once

#include <string>
#include <string_view>

namespace lockstep::tools {

/// `text` with U+FFFD in place of each octet that belongs to no UTF-8 character.
std::string utf8_only(std::string_view text);

}  // namespace lockstep::tools
