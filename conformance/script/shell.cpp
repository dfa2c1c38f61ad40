// The words of shell commands: pipelines, quotes, redirections, and $(( )).
#include "conformance/script/shell.hpp"

#include <fmt/core.h>

#include <string_view>

#include "conformance/script/arithmetic.hpp"

namespace lockstep::conformance::script {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

class Splitter {
 public:
  Splitter(const Cursor& cursor, Place at, const std::string& text, const Defines& defines)
      : cursor_(cursor), text_(text), defines_(defines), place_(at) {}

  std::vector<Pipeline> run() {
    while (at_ < text_.size()) {
      step();
    }
    end_pipeline();
    return std::move(out_);
  }

 private:
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  char take() {
    char const c = text_[at_++];
    place_ = c == '\n' ? Place{place_.line + 1, 1} : Place{place_.line, place_.column + 1};
    if (begun_) {
      now_.text += c == '\n' ? ' ' : c;
    }
    return c;
  }
  bool accept(std::string_view mark) {
    if (text_.compare(at_, mark.size(), mark) != 0) {
      return false;
    }
    for (std::size_t i = 0; i < mark.size(); ++i) {
      take();
    }
    return true;
  }
  void begin() {
    if (!begun_) {
      begun_ = true;
      now_.place = place_;
      now_.spare = next_is_spare_;
      next_is_spare_ = false;
    }
  }

  void step() {
    char const c = peek();
    if (c == '\\' && (peek(1) == '\n' || (peek(1) == '\r' && peek(2) == '\n'))) {
      accept("\\\r");
      accept("\\");
      accept("\n");
      end_word();
    } else if (is_space(c)) {
      end_word();
      take();
    } else if (c == '\n' || c == ';') {
      end_pipeline();
      take();
    } else if (c == '#' && !in_word_) {
      while (at_ < text_.size() && peek() != '\n') {
        begun_ ? end_pipeline() : void();
        take();
      }
    } else if (text_.compare(at_, 2, "&&") == 0 || text_.compare(at_, 2, "||") == 0) {
      end_pipeline();
      next_is_spare_ = c == '|';
      take();
      take();
    } else if (c == '|') {
      end_command();
      take();
    } else if (c == '&' && peek(1) != '>') {
      end_pipeline();
      take();
    } else if (c == '>' || c == '<' || (c == '&' && peek(1) == '>')) {
      redirect();
    } else {
      begin();
      take_part(c);
    }
  }

  void take_part(char c) {
    in_word_ = true;
    if (c == '\'' || c == '"') {
      quoted(c);
    } else if (c == '\\' && at_ + 1 < text_.size()) {
      take();
      word_ += take();
    } else if (c == '$') {
      dollar();
    } else {
      word_ += take();
    }
  }

  void quoted(char quote) {
    Place const at = place_;
    take();
    while (at_ < text_.size() && peek() != quote) {
      if (quote == '"' && peek() == '$') {
        dollar();
      } else {
        bool const escaped = quote == '"' && peek() == '\\' && (peek(1) == '"' || peek(1) == '\\');
        if (escaped) {
          take();
        }
        word_ += take();
      }
    }
    if (at_ == text_.size()) {
      cursor_.fail(at, "a quote begins here and does not end, expected another: add it");
    }
    take();
  }

  /// $(( )) is replaced by its value; a variable stays as it is.
  void dollar() {
    Place const at = place_;
    if (!accept("$((")) {
      if (peek(1) == '(') {
        cursor_.fail(at,
                     "the output of a command is used here, expected its text: commands are "
                     "interpreted here, not run");
      }
      word_ += take();
      return;
    }
    std::string inner;
    int depth = 0;
    while (at_ < text_.size() && !(depth == 0 && text_.compare(at_, 2, "))") == 0)) {
      depth += peek() == '(' ? 1 : peek() == ')' ? -1 : 0;
      inner += take();
    }
    auto const value = arithmetic(inner, defines_);
    if (!accept("))") || !value) {
      cursor_.fail(at, fmt::format("$(({})) cannot be evaluated, expected numbers and operators, "
                                   "then )): correct it",
                                   inner));
    }
    word_ += std::to_string(*value);
  }

  /// [N]>FILE, >>FILE, 2>&1, &>FILE, <FILE.
  void redirect() {
    bool const numbered = word_ == "1" || word_ == "2";
    bool const errors = word_ == "2";
    if (in_word_ && numbered) {
      word_.clear();
      in_word_ = false;
    }
    end_word();
    bool const reads = peek() == '<';
    Place const at = place_;
    while (peek() == '>' || peek() == '<' || peek() == '&') {
      take();
    }
    while (is_space(peek())) {
      take();
    }
    std::string target;
    while (at_ < text_.size() && !is_space(peek()) && peek() != '\n' && peek() != ';' &&
           peek() != '|' && peek() != '&') {
      target += take();
    }
    if (reads || target.empty()) {
      cursor_.fail(at, "this redirection is not supported, expected > FILE: remove it");
    }
    bool const kept = !errors && target != "/dev/null" && target != "1" && target != "2";
    now_.written = kept ? target : now_.written;
  }

  void end_word() {
    if (in_word_) {
      if (word_ == "!" && now_.commands.empty() && words_.empty()) {
        now_.negated = true;
      } else {
        words_.push_back(word_);
      }
    }
    word_.clear();
    in_word_ = false;
  }
  void end_command() {
    end_word();
    if (!words_.empty()) {
      now_.commands.push_back({std::move(words_)});
    }
    words_.clear();
  }
  void end_pipeline() {
    end_command();
    while (!now_.text.empty() && is_space(now_.text.back())) {
      now_.text.pop_back();
    }
    if (!now_.commands.empty()) {
      out_.push_back(std::move(now_));
    }
    now_ = Pipeline{};
    begun_ = false;
  }

  const Cursor& cursor_;
  const std::string& text_;
  const Defines& defines_;
  Place place_;
  std::size_t at_ = 0;
  std::vector<Pipeline> out_;
  Pipeline now_;
  std::vector<std::string> words_;
  std::string word_;
  bool in_word_ = false;
  bool begun_ = false;
  bool next_is_spare_ = false;
};

}  // namespace

std::vector<Pipeline> split_shell(const Cursor& cursor, Place at, const std::string& text,
                                  const Defines& defines) {
  return Splitter(cursor, at, text, defines).run();
}

}  // namespace lockstep::conformance::script
