// The lines of a script that begin with a preprocessor word: #define, #undef, #if and their like.
#include "conformance/script/preprocess.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

#include "conformance/script/arithmetic.hpp"
#include "conformance/script/cursor.hpp"

namespace lockstep::conformance::script {
namespace {

bool begins_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool in_name(char c) { return begins_name(c) || (c >= '0' && c <= '9'); }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) {
    text.remove_prefix(1);
  }
  while (!text.empty() && is_blank(text.back())) {
    text.remove_suffix(1);
  }
  return text;
}

std::string_view without_comment(std::string_view text) {
  return trimmed(text.substr(0, std::min(text.find("//"), text.find("/*"))));
}

const std::string* value_of(const Defines& defines, std::string_view name) {
  auto const found = std::find_if(defines.begin(), defines.end(),
                                  [name](auto const& one) { return one.first == name; });
  return found == defines.end() ? nullptr : &found->second;
}

/// One #if that is not closed yet.
struct Branch {
  Place place;
  bool outer = true;   ///< whether the text around it counts
  bool now = false;    ///< whether this branch counts
  bool taken = false;  ///< whether one of its branches has counted
  bool last = false;   ///< its #else was read
};

class Preprocessor {
 public:
  Preprocessor(const std::string& file, const std::string& text, Defines& defines)
      : text_(text), defines_(defines), errors_(file, text, defines) {}

  std::string run() {
    for (std::size_t at = 0; at < text_.size();) {
      std::size_t const end = std::min(text_.find('\n', at), text_.size());
      take_line(std::string_view(text_).substr(at, end - at));
      out_ += end < text_.size() ? "\n" : "";
      at = end + 1;
      ++place_.line;
    }
    if (!open_.empty()) {
      errors_.fail(open_.back().place, "this #if is never closed, expected #endif: add it");
    }
    return std::move(out_);
  }

 private:
  bool counts() const { return open_.empty() || (open_.back().outer && open_.back().now); }

  void take_line(std::string_view line) {
    std::string_view const text = trimmed(line);
    std::size_t const first = line.find_first_not_of(" \t");
    place_.column = first == std::string_view::npos ? 1 : static_cast<int>(first) + 1;
    if (inside_ == 0 && text.starts_with('#') && take_directive(text.substr(1))) {
      return;
    }
    if (!counts()) {
      return;
    }
    note_blocks(line);
    out_ += replaced(line);
  }

  /// Whether the next line is inside of code or of a command, where '#' begins a comment.
  void note_blocks(std::string_view line) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (inside_ == 0 && line.substr(i, 2) == "//") {
        return;
      }
      if (inside_ == 0 && line.substr(i, 2) == "%{") {
        inside_ = '%';
      } else if (inside_ == '%' && line.substr(i, 2) == "}%") {
        inside_ = 0;
      } else if (line[i] == '`' && inside_ != '%') {
        inside_ = inside_ == 0 ? '`' : 0;
      }
    }
  }

  bool take_directive(std::string_view text) {
    std::size_t length = 0;
    while (length < text.size() && in_name(text[length])) {
      ++length;
    }
    std::string_view const word = text.substr(0, length);
    std::string_view const rest = without_comment(text.substr(length));
    if (word == "if" || word == "ifdef" || word == "ifndef") {
      open(word, rest);
    } else if (word == "elif" || word == "else") {
      turn(word, rest);
    } else if (word == "endif") {
      top(word);
      open_.pop_back();
    } else if (word == "define" || word == "undef") {
      define(word, rest);
    } else if (word == "include" || word == "error" || word == "pragma") {
      if (counts()) {
        errors_.fail(place_, fmt::format("#{} is not supported, expected #define, #if and their "
                                         "like: remove it",
                                         word));
      }
    } else {
      return false;
    }
    return true;
  }

  bool holds(std::string_view word, std::string_view text) {
    if (word == "ifdef" || word == "ifndef") {
      bool const named = !text.empty() && std::all_of(text.begin(), text.end(), in_name);
      if (!named) {
        errors_.fail(place_,
                     fmt::format("'{}' follows #{}, expected one name: write it", text, word));
      }
      return (value_of(defines_, text) != nullptr) == (word == "ifdef");
    }
    auto const value = arithmetic(text, defines_);
    if (!value) {
      errors_.fail(place_, fmt::format("'{}' cannot be evaluated, expected numbers, names, "
                                       "defined(NAME) and comparisons: correct it",
                                       text));
    }
    return *value != 0;
  }

  void open(std::string_view word, std::string_view rest) {
    bool const outer = counts();
    bool const now = outer && holds(word, rest);
    open_.push_back({place_, outer, now, now, false});
  }

  Branch& top(std::string_view word) {
    if (open_.empty()) {
      errors_.fail(place_, fmt::format("#{} without #if, expected it after one: remove it", word));
    }
    return open_.back();
  }

  void turn(std::string_view word, std::string_view rest) {
    Branch& branch = top(word);
    if (branch.last) {
      errors_.fail(place_, fmt::format("#{} after #else, expected #endif: correct it", word));
    }
    bool const may = branch.outer && !branch.taken;
    branch.now = may && (word == "else" || holds("if", rest));
    branch.taken = branch.taken || branch.now;
    branch.last = word == "else";
  }

  void define(std::string_view word, std::string_view rest) {
    if (!counts()) {
      return;
    }
    std::size_t length = 0;
    while (length < rest.size() && in_name(rest[length])) {
      ++length;
    }
    std::string const name(rest.substr(0, length));
    if (name.empty() || !begins_name(name.front()) ||
        (length < rest.size() && !is_blank(rest[length]))) {
      errors_.fail(place_, fmt::format("'{}' follows #{}, expected NAME, or NAME VALUE: correct it",
                                       rest, word));
    }
    if (word == "undef") {
      std::erase_if(defines_, [&name](auto const& one) { return one.first == name; });
    } else if (value_of(defines_, name) == nullptr) {  // the command line has precedence
      defines_.emplace_back(name, std::string(trimmed(rest.substr(length))));
    }
  }

  /// Values that are more than one word are put into the text; others wait for the parser, so that
  /// columns stay.
  std::string replaced(std::string_view line) const {
    std::string out;
    for (std::size_t i = 0; i < line.size();) {
      if (line.substr(i, 2) == "//") {
        return out + std::string(line.substr(i));
      }
      std::size_t end = i;
      while (end < line.size() && in_name(line[end])) {
        ++end;
      }
      std::string_view const name = line.substr(i, end - i);
      const std::string* const value =
          !name.empty() && begins_name(name.front()) ? value_of(defines_, name) : nullptr;
      bool const several =
          value != nullptr && !std::all_of(value->begin(), value->end(), [](char c) {
            return in_name(c) || c == '-' || c == '.' || c == ':' || c == '/';
          });
      if (name.empty()) {
        out += line[i];
        ++i;
      } else {
        out += several ? *value : std::string(name);
        i = end;
      }
    }
    return out;
  }

  const std::string& text_;
  Defines& defines_;
  Cursor errors_;
  std::string out_;
  Place place_;
  std::vector<Branch> open_;
  char inside_ = 0;
};

}  // namespace

std::string preprocess(const std::string& file, const std::string& text, Defines& defines) {
  bool const needed = text.find('#') != std::string::npos || !defines.empty();
  return needed ? Preprocessor(file, text, defines).run() : text;
}

}  // namespace lockstep::conformance::script
