// Finds the UTF-8 characters of a string, and the octets that belong to none.
#include "tools/base/output/utf8.hpp"

#include <cstdint>

namespace lockstep::tools {
namespace {

// The length of the UTF-8 character at the start of `text`; 0: there is none.
std::size_t character(std::string_view text) {
  auto const octet = [&](std::size_t at) { return static_cast<std::uint8_t>(text[at]); };
  std::uint32_t const first = octet(0);
  std::size_t const size = first < 0x80                     ? 1
                           : first >= 0xc2 && first <= 0xdf ? 2
                           : first >= 0xe0 && first <= 0xef ? 3
                           : first >= 0xf0 && first <= 0xf4 ? 4
                                                            : 0;
  if (size == 0 || size > text.size()) {
    return 0;
  }
  for (std::size_t i = 1; i < size; ++i) {
    if (octet(i) >> 6 != 2) {
      return 0;
    }
  }
  // Refuses overlong forms, surrogates, and values above U+10FFFF.
  bool const wrong = (first == 0xe0 && octet(1) < 0xa0) || (first == 0xed && octet(1) > 0x9f) ||
                     (first == 0xf0 && octet(1) < 0x90) || (first == 0xf4 && octet(1) > 0x8f);
  return wrong ? 0 : size;
}

}  // namespace

std::string utf8_only(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    std::size_t const size = character(text);
    out += size == 0 ? std::string_view("\xef\xbf\xbd") : text.substr(0, size);
    text.remove_prefix(size == 0 ? 1 : size);
  }
  return out;
}

}  // namespace lockstep::tools
