// Scans the text of a script: blanks, comments, words, numbers, and their places.
#include "conformance/script/cursor.hpp"

#include <fmt/core.h>

#include <cctype>
#include <charconv>

#include "tools/base/process/failure.hpp"

namespace lockstep::conformance::script {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::optional<std::int64_t> parse_number(std::string_view text) {
  bool const negative = text.starts_with('-');
  text.remove_prefix(negative ? 1 : 0);
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
  } else if (text.size() > 1 && text.front() == '0') {
    base = 8;
    text.remove_prefix(1);
  }
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  auto const [stop, error] = std::from_chars(text.data(), end, value, base);
  if (error != std::errc{} || stop != end || value > std::uint64_t{INT64_MAX}) {
    return std::nullopt;
  }
  auto const number = static_cast<std::int64_t>(value);
  return negative ? -number : number;
}

char Cursor::take() {
  char const c = peek();
  ++at_;
  place_ = c == '\n' ? Place{place_.line + 1, 1} : Place{place_.line, place_.column + 1};
  return c;
}

void Cursor::skip() {
  bool const of_script = comments_ == Comments::of_script;
  while (at_ < text_.size()) {
    bool const joins = !of_script && peek() == '\\' && (peek(1) == '\n' || peek(1) == '\r');
    if (joins || std::isspace(static_cast<unsigned char>(peek())) != 0) {
      take();
    } else if (peek() == '#' || (of_script && rest().starts_with("//"))) {
      while (at_ < text_.size() && peek() != '\n') {
        take();
      }
    } else if (of_script && rest().starts_with("/*")) {
      Place const begin = place_;
      while (at_ < text_.size() && !rest().starts_with("*/")) {
        take();
      }
      if (at_ == text_.size()) {
        fail(begin, "a comment begins here and does not end, expected */: add it");
      }
      take();
      take();
    } else {
      return;
    }
  }
}

bool Cursor::at_end() {
  skip();
  return at_ >= text_.size();
}

bool Cursor::accept(std::string_view mark) {
  skip();
  if (!rest().starts_with(mark)) {
    return false;
  }
  for (std::size_t i = 0; i < mark.size(); ++i) {
    take();
  }
  return true;
}

void Cursor::expect(std::string_view mark, std::string_view correction) {
  if (!accept(mark)) {
    unexpected(fmt::format("'{}'", mark), correction);
  }
}

std::string_view Cursor::next_word() {
  skip();
  std::size_t end = at_;
  while (end < text_.size() && is_word(text_[end])) {
    ++end;
  }
  return text_.substr(at_, end - at_);
}

bool Cursor::accept_word(std::string_view word) { return next_word() == word && accept(word); }

std::string Cursor::word(std::string_view expected) {
  std::string const found(next_word());
  if (found.empty()) {
    unexpected(expected);
  }
  accept(found);
  return found;
}

const std::string* Cursor::defined(std::string_view name) const {
  for (auto const& [known, value] : *defines_) {
    if (known == name) {
      return &value;
    }
  }
  return nullptr;
}

std::int64_t Cursor::number(std::string_view expected) {
  skip();
  Place const begin = place_;
  bool const negative = accept("-");
  std::string const found(next_word());
  const std::string* const other = defined(found);
  auto const value = parse_number(other == nullptr ? found : *other);
  if (found.empty() || !value) {
    place_ = begin;
    at_ -= negative ? 1 : 0;
    unexpected(expected);
  }
  accept(found);
  return negative ? -*value : *value;
}

std::uint32_t Cursor::number_up_to(std::uint64_t most, std::string_view expected) {
  skip();
  Place const begin = place_;
  std::int64_t const value = number(expected);
  if (value < 0 || static_cast<std::uint64_t>(value) > most) {
    fail(begin, fmt::format("{} is out of range, expected {}, 0 to {}: correct the number", value,
                            expected, most));
  }
  return static_cast<std::uint32_t>(value);
}

std::uint64_t Cursor::seconds() {
  skip();
  Place const begin = place_;
  std::uint64_t whole = 0, part = 0, unit = 1'000'000'000;
  bool any = false;
  while (is_digit(peek()) && whole < 1'000'000'000) {
    whole = whole * 10 + static_cast<std::uint64_t>(take() - '0');
    any = true;
  }
  // But not the first dot of an ellipsis.
  if (peek() == '.' && is_digit(peek(1))) {
    take();
    while (is_digit(peek()) && unit > 1) {
      unit /= 10;
      part += static_cast<std::uint64_t>(take() - '0') * unit;
      any = true;
    }
  } else if (any && peek() == '.' && peek(1) != '.') {
    take();
  }
  if (!any || is_digit(peek())) {
    place_ = begin;
    unexpected("a time in seconds, such as 0.25, with at most 9 decimals");
  }
  return whole * 1'000'000'000 + part;
}

std::string Cursor::until(std::string_view mark, std::string_view what) {
  Place const begin = place_;
  std::string out;
  while (!rest().starts_with(mark)) {
    if (at_ >= text_.size()) {
      fail(begin,
           fmt::format("{} begins here and does not end, expected '{}': add it", what, mark));
    }
    out += take();
  }
  for (std::size_t i = 0; i < mark.size(); ++i) {
    take();
  }
  return out;
}

std::string Cursor::line() {
  std::string out;
  while (at_ < text_.size() && peek() != '\n') {
    out += take();
  }
  return out;
}

void Cursor::fail(Place at, const std::string& message) const {
  throw tools::Failure(tools::ExitCode::bad_input,
                       fmt::format("{}:{}:{}: {}", *file_, at.line, at.column, message));
}

void Cursor::unexpected(std::string_view expected, std::string_view correction) {
  Place const begin = place_;
  std::string found = at_ < text_.size() ? std::string(next_word()) : "";
  if (found.empty() && at_ < text_.size()) {
    found = text_.substr(at_, 1);
  }
  fail(begin,
       fmt::format("{} was found, expected {}: {}",
                   at_ >= text_.size() ? "the end of the file" : fmt::format("'{}'", found),
                   expected, correction.empty() ? "see conformance/script/README.md" : correction));
}

}  // namespace lockstep::conformance::script
