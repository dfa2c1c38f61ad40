// Integer expressions of the shell, $(( )), and of the preprocessor, #if.
#include "conformance/script/arithmetic.hpp"

#include <array>
#include <cctype>

#include "conformance/script/cursor.hpp"

namespace lockstep::conformance::script {
namespace {

struct Infix {
  std::string_view mark;
  int strength;
};
/// Longer ones first.
constexpr std::array<Infix, 18> infixes{{{"||", 1},
                                         {"&&", 2},
                                         {"==", 6},
                                         {"!=", 6},
                                         {"<=", 7},
                                         {">=", 7},
                                         {"<<", 8},
                                         {">>", 8},
                                         {"|", 3},
                                         {"^", 4},
                                         {"&", 5},
                                         {"<", 7},
                                         {">", 7},
                                         {"+", 9},
                                         {"-", 9},
                                         {"*", 10},
                                         {"/", 10},
                                         {"%", 10}}};

constexpr int depth_most = 64;

class Calculator {
 public:
  Calculator(std::string_view text, const Defines& defines) : text_(text), defines_(defines) {}

  std::optional<std::int64_t> run() {
    auto const out = expression(0);
    blanks();
    return out && at_ == text_.size() ? out : std::nullopt;
  }

 private:
  using Maybe = std::optional<std::int64_t>;

  void blanks() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) {
      ++at_;
    }
  }
  bool accept(std::string_view mark) {
    blanks();
    bool const found = text_.substr(at_).starts_with(mark);
    at_ += found ? mark.size() : 0;
    return found;
  }
  std::string_view word() {
    blanks();
    std::size_t const begin = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_')) {
      ++at_;
    }
    return text_.substr(begin, at_ - begin);
  }

  const std::string* value_of(std::string_view name) const {
    for (auto const& [known, value] : defines_) {
      if (known == name) {
        return &value;
      }
    }
    return nullptr;
  }

  Maybe defined() {
    bool const closed = accept("(");
    std::string_view const name = word();
    if (name.empty() || (closed && !accept(")"))) {
      return std::nullopt;
    }
    return value_of(name) != nullptr ? 1 : 0;
  }

  Maybe operand() {
    if (++depth_ > depth_most) {
      return std::nullopt;
    }
    Maybe out;
    if (accept("!")) {
      out = operand();
      out = out ? Maybe(*out == 0) : out;
    } else if (accept("~")) {
      out = operand();
      out = out ? Maybe(~*out) : out;
    } else if (accept("-")) {
      out = operand();
      out = out ? Maybe(static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(*out))) : out;
    } else if (accept("+")) {
      out = operand();
    } else if (accept("(")) {
      out = expression(0);
      out = accept(")") ? out : std::nullopt;
    } else {
      out = name_or_number();
    }
    --depth_;
    return out;
  }

  Maybe name_or_number() {
    accept("$");
    std::string_view const name = word();
    if (name.empty()) {
      return std::nullopt;
    }
    if (name == "defined") {
      return defined();
    }
    if (name.front() >= '0' && name.front() <= '9') {
      return parse_number(name);
    }
    const std::string* const value = value_of(name);
    if (value == nullptr) {
      return 0;
    }
    return value->empty() ? Maybe(1) : parse_number(*value);
  }

  static Maybe apply(std::string_view mark, std::int64_t a, std::int64_t b) {
    std::int64_t out = 0;
    if (mark == "+") return __builtin_add_overflow(a, b, &out) ? Maybe{} : out;
    if (mark == "-") return __builtin_sub_overflow(a, b, &out) ? Maybe{} : out;
    if (mark == "*") return __builtin_mul_overflow(a, b, &out) ? Maybe{} : out;
    if (mark == "/" || mark == "%") {
      bool const whole = b != 0 && !(b == -1 && a == INT64_MIN);
      return !whole ? Maybe{} : mark == "/" ? a / b : a % b;
    }
    if (mark == "<<" || mark == ">>") {
      if (b < 0 || b > 62 || a < 0 || (mark == "<<" && a > (INT64_MAX >> b))) {
        return std::nullopt;
      }
      return mark == "<<" ? a << b : a >> b;
    }
    if (mark == "||") return a != 0 || b != 0;
    if (mark == "&&") return a != 0 && b != 0;
    if (mark == "==") return a == b;
    if (mark == "!=") return a != b;
    if (mark == "<=") return a <= b;
    if (mark == ">=") return a >= b;
    if (mark == "<") return a < b;
    if (mark == ">") return a > b;
    if (mark == "|") return a | b;
    return mark == "^" ? a ^ b : a & b;
  }

  Maybe expression(int least) {
    if (++depth_ > depth_most) {
      return std::nullopt;
    }
    Maybe left = operand();
    while (left) {
      blanks();
      const Infix* next = nullptr;
      for (Infix const& one : infixes) {
        if (next == nullptr && text_.substr(at_).starts_with(one.mark)) {
          next = &one;
        }
      }
      if (next == nullptr || next->strength <= least) {
        break;
      }
      at_ += next->mark.size();
      Maybe const right = expression(next->strength);
      left = right ? apply(next->mark, *left, *right) : right;
    }
    --depth_;
    return left;
  }

  std::string_view text_;
  const Defines& defines_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::optional<std::int64_t> arithmetic(std::string_view text, const Defines& defines) {
  return Calculator(text, defines).run();
}

}  // namespace lockstep::conformance::script
