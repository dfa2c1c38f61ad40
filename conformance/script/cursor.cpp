// Reads a script from left to right and always knows where it stands.
#include "conformance/script/cursor.hpp"

#include <fmt/core.h>

namespace lockstep::script {
namespace {

constexpr std::uint64_t nanoseconds_per_second = 1'000'000'000;
// More than a century; enough, and no sum of two overflows.
constexpr std::uint64_t seconds_max = 4'000'000'000;

int hex_digit(char c) {
  if (is_digit(c)) {
    return c - '0';
  }
  char const lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

bool starts_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

}  // namespace

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_word_letter(char c) { return starts_word(c) || is_digit(c); }

void Cursor::step() {
  if (text_[at_] == '\n') {
    ++line_;
    line_begin_ = at_ + 1;
  }
  ++at_;
}

bool Cursor::skip_comment() {
  if (sees("//")) {
    while (!at_end() && peek() != '\n') {
      step();
    }
    return true;
  }
  if (!sees("/*")) {
    return false;
  }
  Place const begin = place();
  at_ += 2;
  while (!sees("*/")) {
    if (at_end()) {
      fail(begin, "this comment has no end: */ is missing");
    }
    step();
  }
  at_ += 2;
  return true;
}

void Cursor::skip(bool lines) {
  while (!at_end()) {
    char const c = peek();
    if (c == ' ' || c == '\t' || c == '\r' || (lines && c == '\n')) {
      step();
    } else if (!skip_comment()) {
      return;
    }
  }
}

bool Cursor::sees_word(std::string_view what) const {
  return sees(what) && !is_word_letter(peek(what.size()));
}

bool Cursor::take_just(std::string_view what) {
  bool const there = sees(what);
  at_ += there ? what.size() : 0;
  return there;
}

bool Cursor::take(std::string_view what) {
  bool const there = take_just(what);
  if (there) {
    skip();
  }
  return there;
}

bool Cursor::take_word(std::string_view what) { return sees_word(what) && take(what); }

void Cursor::expect(std::string_view what) {
  if (!take(what)) {
    fail(fmt::format("'{}'", what));
  }
}

std::string Cursor::word() {
  std::string out;
  if (starts_word(peek())) {
    while (is_word_letter(peek())) {
      out += peek();
      ++at_;
    }
    skip();
  }
  return out;
}

std::uint64_t Cursor::number(std::string_view what, std::uint64_t most) {
  bool const hex = peek() == '0' && (peek(1) | 0x20) == 'x';
  if (!is_digit(peek()) || (hex && hex_digit(peek(2)) < 0)) {
    fail(fmt::format("{} (a number)", what));
  }
  Place const begin = place();
  at_ += hex ? 2 : 0;
  std::uint64_t const base = hex ? 16 : 10;
  std::uint64_t value = 0;
  while (hex ? hex_digit(peek()) >= 0 : is_digit(peek())) {
    auto const digit = static_cast<std::uint64_t>(hex_digit(peek()));
    if (value > (most - digit) / base || digit > most) {
      fail(begin, fmt::format("{} is too large: {} at most", what, most));
    }
    value = value * base + digit;
    ++at_;
  }
  skip();
  return value;
}

Duration Cursor::seconds() {
  Place const begin = place();
  if (!is_digit(peek()) && !(peek() == '.' && is_digit(peek(1)))) {
    fail("a time in seconds");
  }
  std::uint64_t whole = 0;
  while (is_digit(peek())) {
    whole = whole * 10 + static_cast<std::uint64_t>(peek() - '0');
    if (whole > seconds_max) {
      fail(begin, fmt::format("the time is too large: {} s at most", seconds_max));
    }
    ++at_;
  }
  std::uint64_t fraction = 0;
  if (peek() == '.' && is_digit(peek(1))) {
    ++at_;
    std::uint64_t unit = nanoseconds_per_second;
    while (is_digit(peek())) {
      unit /= 10;
      if (unit == 0) {
        fail(begin, "the time is finer than a nanosecond: nine digits after the point at most");
      }
      fraction += unit * static_cast<std::uint64_t>(peek() - '0');
      ++at_;
    }
  }
  return Duration{whole * nanoseconds_per_second + fraction};
}

std::string Cursor::until(std::string_view end, std::string_view what) {
  Place const begin = place();
  std::string out;
  while (!sees(end)) {
    if (at_end()) {
      fail(begin, fmt::format("this {} has no end: {} is missing", what, end));
    }
    out += peek();
    step();
  }
  at_ += end.size();
  skip();
  return out;
}

std::string Cursor::quoted() {
  Place const begin = place();
  if (!take_just("\"")) {
    fail("a string in \"\"");
  }
  std::string out;
  while (peek() != '"') {
    if (at_end() || peek() == '\n') {
      fail(begin, "this string has no end: \" is missing");
    }
    if (peek() != '\\') {
      out += peek();
      ++at_;
      continue;
    }
    std::string_view const names = "\"\\ntr0";
    std::string_view const octets("\"\\\n\t\r\0", 6);
    std::size_t const which = names.find(peek(1));
    bool const hex = peek(1) == 'x' && hex_digit(peek(2)) >= 0 && hex_digit(peek(3)) >= 0;
    if (!hex && which == std::string_view::npos) {
      fail("one of \\\" \\\\ \\n \\t \\r \\0 \\xNN");
    }
    out += hex ? static_cast<char>(hex_digit(peek(2)) * 16 + hex_digit(peek(3))) : octets[which];
    at_ += hex ? 4 : 2;
  }
  ++at_;
  skip();
  return out;
}

void Cursor::fail(const std::string& expected) const {
  if (at_end()) {
    throw SyntaxError(place(), fmt::format("the script ends; expected {}", expected));
  }
  std::string found;
  for (std::size_t i = 0; i < 20 && peek(i) != '\0' && peek(i) != '\n'; ++i) {
    bool const ends = i != 0 && (peek(i) == ' ' || peek(i) == ',' || peek(i) == ')');
    if (ends) {
      break;
    }
    char const c = peek(i);
    found += c >= ' ' && c < 127 ? c : '?';
  }
  bool const line_ends = found.empty();
  throw SyntaxError(place(), line_ends ? fmt::format("the line ends; expected {}", expected)
                                       : fmt::format("'{}'; expected {}", found, expected));
}

}  // namespace lockstep::script
