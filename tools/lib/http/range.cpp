// Parses "bytes=A-B", "bytes=A-" and "bytes=-N".
#include "tools/lib/http/range.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

namespace lockstep::http {
namespace {

/// Parses digits; a number beyond 64 bits becomes the largest of 64 bits.
std::optional<std::uint64_t> position_in(std::string_view text) {
  std::uint64_t value = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return error == std::errc::result_out_of_range ? ~std::uint64_t{0} : value;
}

bool is_bytes(std::string_view unit) {
  constexpr std::string_view name = "bytes";
  return unit.size() == name.size() && std::equal(unit.begin(), unit.end(), name.begin(),
                                                  [](char a, char b) { return (a | 0x20) == b; });
}

}  // namespace

ByteRange range_of(std::string_view value, std::uint64_t length) {
  ByteRange const whole{ByteRange::Kind::whole, 0, length};
  ByteRange const none{ByteRange::Kind::unsatisfiable, 0, 0};
  while (value.ends_with(' ') || value.ends_with('\t')) {
    value.remove_suffix(1);
  }
  std::size_t const equals = value.find('=');
  std::size_t const dash = value.find('-');
  if (equals == std::string_view::npos || dash == std::string_view::npos || dash < equals ||
      //= rfc9110#14.2
      //# 9110:HTTP-24 a unit that is not understood is ignored
      !is_bytes(value.substr(0, equals))) {
    return whole;
  }
  std::string_view const first = value.substr(equals + 1, dash - equals - 1);
  std::string_view const last = value.substr(dash + 1);
  auto const begin = position_in(first);
  auto const end = position_in(last);
  if (first.empty() && end) {  // the last N octets
    bool const some = *end != 0 && length != 0;
    return some ? ByteRange{ByteRange::Kind::part, length - std::min(*end, length), length} : none;
  }
  //= rfc9110#15.3.7.2
  //# 9110:HTTP-27 no multipart answer: one range is served, several are ignored
  if (!begin || (!last.empty() && !end) || (end && *end < *begin)) {
    return whole;
  }
  if (*begin >= length) {
    return none;
  }
  std::uint64_t const behind = end && *end < length ? *end + 1 : length;
  return {ByteRange::Kind::part, *begin, behind};
}

}  // namespace lockstep::http
