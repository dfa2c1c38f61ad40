// Escapes text for XML.
#pragma once

#include <string>
#include <string_view>

namespace lockstep::tools {

/// `text` escaped for element content and attributes. Control characters other than tab and
/// newline, which XML cannot hold, become question marks; invalid UTF-8 becomes U+FFFD.
std::string xml_escaped(std::string_view text);

}  // namespace lockstep::tools
