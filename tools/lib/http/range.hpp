// A Range field of one range of octets (RFC 9110 14.2).
#pragma once

#include <cstdint>
#include <string_view>

namespace lockstep::http {

/// [begin, end) of a body.
struct ByteRange {
  /// whole: there is no range to be heeded. unsatisfiable: it begins behind the body's end.
  enum class Kind : std::uint8_t { whole, part, unsatisfiable };
  Kind kind = Kind::whole;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// What a field's value asks of a body of `length` octets. Anything malformed, several ranges and
/// other units are ignored, as 14.2 permits.
ByteRange range_of(std::string_view value, std::uint64_t length);

}  // namespace lockstep::http
