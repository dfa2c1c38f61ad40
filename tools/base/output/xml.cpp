// Escapes the four special characters of XML, and replaces those that XML cannot hold.
#include "tools/base/output/xml.hpp"

#include "tools/base/output/utf8.hpp"

namespace lockstep::tools {

std::string xml_escaped(std::string_view text) {
  std::string out;
  for (char const c : utf8_only(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' ? '?' : c;
    }
  }
  return out;
}

}  // namespace lockstep::tools
