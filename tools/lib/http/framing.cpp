// State machines of one octet a step, stricter than http_parser.
#include "tools/lib/http/framing.hpp"

#include <algorithm>

namespace lockstep::http {
namespace {

constexpr std::uint64_t chunk_max = std::uint64_t{1} << 59;

/// The value of a hexadecimal digit; -1 for another letter.
int chunk_digit(char letter) {
  if (letter >= '0' && letter <= '9') {
    return letter - '0';
  }
  char const small = static_cast<char>(letter | 0x20);
  return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

/// What may stand in a line, besides its end.
bool is_text(char letter) {
  return letter == '\t' || (static_cast<unsigned char>(letter) >= 0x20 && letter != '\x7f');
}

}  // namespace

HeadScan::State HeadScan::take(std::span<const std::byte> octets, std::size_t& good) {
  good = 0;
  for (std::byte const octet : octets) {
    State const state = step(static_cast<char>(octet));
    good += state == State::malformed ? 0 : 1;
    if (state != State::more) {
      return state;
    }
  }
  return State::more;
}

HeadScan::State HeadScan::step(char letter) {
  bool const line_begins = before_ == '\n';
  bool const bare_cr = before_ == '\r' && letter != '\n';
  before_ = letter;
  //= rfc9112#2.2
  //# 9112:MSG-2 a bare CR makes the message invalid
  //= rfc9110#5.5
  //# 9110:HTTP-5 NUL in a field: the message is refused
  if (bare_cr || letter == '\0') {
    return State::malformed;
  }
  //= rfc9112#2.2
  //# 9112:MSG-3 white space before the first field: refused
  //= rfc9112#5.2
  //# 9112:MSG-9 a folded line: refused
  if (line_begins && begun_ && (letter == ' ' || letter == '\t')) {
    return State::malformed;
  }
  if (letter == '\n') {
    bool const over = line_empty_ && begun_;
    line_empty_ = true;
    return over ? State::over : State::more;
  }
  if (letter != '\r') {
    begun_ = true;
    line_empty_ = false;
  }
  if (begun_ && method_end_ == '\0' && !is_token(letter)) {
    method_end_ = letter;
  }
  return State::more;
}

void BodyFraming::begin_sized(std::uint64_t octets) {
  chunked_ = false;
  left_ = octets;
  place_ = octets == 0 ? Place::over : Place::data;
}

void BodyFraming::begin_chunked() {
  chunked_ = true;
  left_ = 0;
  place_ = Place::first_digit;
}

BodyFraming::Step BodyFraming::take(std::span<const std::byte> octets, std::size_t& used,
                                    std::span<const std::byte>& content) {
  used = 0;
  content = {};
  while (place_ != Place::over && place_ != Place::data && used < octets.size()) {
    if (!step(static_cast<char>(octets[used]))) {
      return Step::malformed;
    }
    ++used;
  }
  if (place_ == Place::data) {
    content = octets.subspan(used, std::min<std::uint64_t>(octets.size() - used, left_));
    used += content.size();
    left_ -= content.size();
    Place const after = chunked_ ? Place::data_end : Place::over;
    place_ = left_ == 0 ? after : Place::data;
  }
  return place_ == Place::over ? Step::complete : Step::more;
}

bool BodyFraming::step(char letter) {
  switch (place_) {
    case Place::data_end:
      place_ = Place::data_end_line;
      return letter == '\r';
    case Place::data_end_line:
      place_ = Place::first_digit;
      return letter == '\n';
    case Place::trailer_line:
    case Place::trailer:
    case Place::trailer_end:
    case Place::last_line:
      return step_trailer(letter);
    default:
      return step_size(letter);
  }
}

//= rfc9112#7.1
//# 9112:MSG-22 chunks are decoded; too large a size is refused before it overflows
bool BodyFraming::step_size(char letter) {
  if (place_ == Place::size_end) {
    place_ = left_ == 0 ? Place::trailer_line : Place::data;
    return letter == '\n';
  }
  if (letter == '\r' && place_ != Place::first_digit) {
    place_ = Place::size_end;
    return true;
  }
  //= rfc9112#7.1.1
  //# 9112:MSG-23 chunk extensions are ignored
  if (place_ == Place::extension) {
    return is_text(letter);
  }
  bool const blank = letter == ' ' || letter == '\t';
  if (place_ != Place::first_digit && (blank || letter == ';')) {
    place_ = blank ? Place::blanks : Place::extension;
    return true;
  }
  int const digit = place_ == Place::blanks ? -1 : chunk_digit(letter);
  if (digit < 0 || left_ > chunk_max / 16) {
    return false;
  }
  left_ = left_ * 16 + static_cast<std::uint64_t>(digit);
  place_ = Place::digits;
  return true;
}

//= rfc9112#7.1.2
//# 9112:MSG-24 trailer fields are discarded, never merged into the head
bool BodyFraming::step_trailer(char letter) {
  switch (place_) {
    case Place::trailer_end:
      place_ = Place::trailer_line;
      return letter == '\n';
    case Place::last_line:
      place_ = Place::over;
      return letter == '\n';
    default:
      break;
  }
  if (letter == '\r') {
    place_ = place_ == Place::trailer_line ? Place::last_line : Place::trailer_end;
    return true;
  }
  bool const folded = place_ == Place::trailer_line && (letter == ' ' || letter == '\t');
  place_ = Place::trailer;
  return is_text(letter) && !folded;
}

}  // namespace lockstep::http
