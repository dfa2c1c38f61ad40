// The boundaries of a request: its lines, checked octet by octet, and its body.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace lockstep::http {

/// Whether an octet may be in a token, such as a method or the name of a field (RFC 9110 5.6.2).
constexpr bool is_token(char letter) {
  bool const alphanumeric = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                            (letter >= '0' && letter <= '9');
  constexpr char others[] = "!#$%&'*+-.^_`|~";
  bool other = false;
  for (char const each : others) {
    other = other || (each != '\0' && each == letter);
  }
  return alphanumeric || other;
}

/// Finds the end of a request's head, and what http_parser lets pass there: NUL, a CR without LF,
/// folded lines, and white space before the first field.
class HeadScan {
 public:
  enum class State : std::uint8_t { more, over, malformed };

  void begin() { *this = HeadScan{}; }
  /// Sets `good` to the number of octets at the front that belong to the head and are well formed.
  State take(std::span<const std::byte> octets, std::size_t& good);

  /// Whether the octets so far end within the method's name; if not, what ended it.
  bool in_method() const { return method_end_ == '\0'; }
  bool method_is_token() const { return method_end_ == ' '; }

 private:
  State step(char letter);

  char before_ = '\n';
  char method_end_ = '\0';
  bool begun_ = false;  // empty lines before the request are skipped
  bool line_empty_ = true;
};

/// A body of known length, or in chunks (RFC 9112 7.1).
class BodyFraming {
 public:
  enum class Step : std::uint8_t { more, complete, malformed };

  void begin_sized(std::uint64_t octets);
  void begin_chunked();
  /// Takes octets until a run of content has been taken, the body is complete or malformed, or none
  /// are left. Sets `used` to their number and `content` to the run, which may be empty.
  Step take(std::span<const std::byte> octets, std::size_t& used,
            std::span<const std::byte>& content);

 private:
  enum class Place : std::uint8_t {
    first_digit,
    digits,
    blanks,     // between a chunk's size and its extensions
    extension,  // unknown ones are skipped
    size_end,   // LF must follow
    data,
    data_end,       // CR must follow
    data_end_line,  // LF must follow
    trailer_line,   // at its first octet
    trailer,
    trailer_end,  // LF must follow
    last_line,    // LF must follow
    over,
  };
  bool step(char letter);
  bool step_size(char letter);
  bool step_trailer(char letter);

  Place place_ = Place::over;
  bool chunked_ = false;
  std::uint64_t left_ = 0;
};

}  // namespace lockstep::http
