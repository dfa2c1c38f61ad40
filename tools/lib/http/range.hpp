// A Range field with a single range of octets (RFC 9110 14.2).
#pragma once

#include <cstdint>
#include <string_view>

namespace lockstep::http {

/// [begin, end) of a body.
struct ByteRange {
  /// whole: no range applies. unsatisfiable: the range begins beyond the body's end.
  enum class Kind : std::uint8_t { whole, part, unsatisfiable };
  Kind kind = Kind::whole;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// The range that a field's value requests of a body of `length` octets. A malformed value, several
/// ranges and other units are ignored, as 14.2 permits.
ByteRange range_of(std::string_view value, std::uint64_t length);

}  // namespace lockstep::http
