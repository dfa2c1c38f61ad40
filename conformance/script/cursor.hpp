// Scans the text of a script: blanks, comments, words, numbers, and their places.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "conformance/script/syntax.hpp"

namespace lockstep::conformance::script {

/// The comment syntax: that of a script, or that of its code, where `//` is a division.
enum class Comments : std::uint8_t { of_script, of_code };

/// A value: a copy can be used to backtrack. The text must outlive it.
class Cursor {
 public:
  Cursor(const std::string& file, std::string_view text, const Defines& defines,
         Comments comments = Comments::of_script)
      : file_(&file), text_(text), defines_(&defines), comments_(comments) {}

  /// Skips blanks, line ends and all forms of comments.
  void skip();
  bool at_end();
  Place place() const { return place_; }
  /// The next character, skipping nothing; 0 at the end.
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  char take();
  /// The script's version of IP, once its head is read.
  IpMode mode() const { return mode_; }
  void set_mode(IpMode mode) { mode_ = mode; }
  std::string_view rest() const { return text_.substr(at_); }

  /// Each of these skips blanks first.
  bool accept(std::string_view mark);
  void expect(std::string_view mark, std::string_view correction);
  /// The next word, without consuming it: letters, digits and `_`; empty if there is none.
  std::string_view next_word();
  bool accept_word(std::string_view word);
  std::string word(std::string_view expected);
  /// An integer: decimal, 0x, 0 (octal) or a defined name; may be negative.
  std::int64_t number(std::string_view expected);
  std::uint32_t number_up_to(std::uint64_t most, std::string_view expected);
  /// Seconds with a fraction; returns nanoseconds.
  std::uint64_t seconds();
  /// The text up to `mark`, which is consumed too.
  std::string until(std::string_view mark, std::string_view what);
  /// The rest of this line.
  std::string line();
  const std::string* defined(std::string_view name) const;

  [[noreturn]] void fail(Place at, const std::string& message) const;
  /// Throws "'xyz' was found, expected ...".
  [[noreturn]] void unexpected(std::string_view expected, std::string_view correction = {});

 private:
  const std::string* file_;
  std::string_view text_;
  const Defines* defines_;
  Comments comments_;
  IpMode mode_ = IpMode::ipv4;
  std::size_t at_ = 0;
  Place place_;
};

/// The whole text as a number; nothing if it is not one.
std::optional<std::int64_t> parse_number(std::string_view text);

}  // namespace lockstep::conformance::script
