// Text within XML.
#pragma once

#include <string>
#include <string_view>

namespace lockstep::tools {

/// `text` as it may stand between tags and in attributes. Control characters other than a tab and a
/// line's end, which XML cannot hold, become question marks; what is no UTF-8 becomes U+FFFD.
std::string xml_escaped(std::string_view text);

}  // namespace lockstep::tools
