// Text of which nobody knows that it is UTF-8, such as the names of files.
#pragma once

#include <string>
#include <string_view>

namespace lockstep::tools {

/// `text` with U+FFFD in place of each octet that belongs to no character of UTF-8.
std::string utf8_only(std::string_view text);

}  // namespace lockstep::tools
