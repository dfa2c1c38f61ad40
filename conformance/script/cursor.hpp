// Reads a script from left to right and always knows where it stands.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "conformance/script/syntax.hpp"

namespace lockstep::script {

/// A script is not what it should be: what was found where, and what was expected there.
class SyntaxError : public std::runtime_error {
 public:
  SyntaxError(Place place, const std::string& message)
      : std::runtime_error(message), place_(place) {}
  Place place() const { return place_; }

 private:
  Place place_;
};

/// Columns are of octets. Comments (`// ...` to the end of a line, `/* ... */`) are spaces.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  /// Goes over spaces and comments; with `lines` also over ends of lines.
  void skip(bool lines = true);
  bool at_end() const { return at_ == text_.size(); }
  Place place() const { return {line_, static_cast<std::uint32_t>(at_ - line_begin_ + 1)}; }

  /// The next octet, or 0 at the end.
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  /// Goes over it; not at the end.
  char next() {
    char const c = peek();
    step();
    return c;
  }
  bool sees(std::string_view what) const { return text_.substr(at_).starts_with(what); }
  /// As sees(), of a whole word.
  bool sees_word(std::string_view what) const;
  /// Goes over `what` if it is next, then over spaces and comments.
  bool take(std::string_view what);
  bool take_word(std::string_view what);
  /// take(), and nothing is skipped.
  bool take_just(std::string_view what);
  /// take(), or an error that says that `what` was expected.
  void expect(std::string_view what);

  /// A letter or underscore, then also digits; empty if there is none. Spaces after it are skipped.
  std::string word();
  /// 0 to `most`, decimal or 0x...; `what` it is, for the error.
  std::uint64_t number(std::string_view what, std::uint64_t most);
  /// Digits with up to nine after a point.
  Duration seconds();
  /// All up to `end`, which is gone over; an error names where it began if there is none.
  std::string until(std::string_view end, std::string_view what);
  /// The inside of "...", with \" \\ \n \t \r \0 and \xNN.
  std::string quoted();

  /// Throws: `expected` something here.
  [[noreturn]] void fail(const std::string& expected) const;
  [[noreturn]] static void fail(Place place, const std::string& message) {
    throw SyntaxError(place, message);
  }

 private:
  void step();
  bool skip_comment();

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_begin_ = 0;
  std::uint32_t line_ = 1;
};

bool is_word_letter(char c);
bool is_digit(char c);

}  // namespace lockstep::script
