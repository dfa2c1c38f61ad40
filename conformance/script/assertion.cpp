// Assertions about the fields of TCP_INFO: comparisons and integer arithmetic.
#include "conformance/script/assertion.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "conformance/script/constants.hpp"
#include "conformance/script/cursor.hpp"

namespace lockstep::conformance::script {
namespace {

/// Wide enough for the product of two fields, some of which have 64 bits.
__extension__ using Whole = __int128;
__extension__ using Magnitude = unsigned __int128;

struct Field {
  std::string_view name;
  std::uint64_t (*get)(const lockstep_tcp_info& info);
};

#define FIELD(name)                                                                            \
  Field {                                                                                      \
    #name, [](const lockstep_tcp_info& info) { return static_cast<std::uint64_t>(info.name); } \
  }

constexpr std::array fields{
    FIELD(tcpi_state),
    FIELD(tcpi_ca_state),
    FIELD(tcpi_retransmits),
    FIELD(tcpi_probes),
    FIELD(tcpi_backoff),
    FIELD(tcpi_options),
    FIELD(tcpi_wscale),
    FIELD(tcpi_rto),
    FIELD(tcpi_ato),
    FIELD(tcpi_snd_mss),
    FIELD(tcpi_rcv_mss),
    FIELD(tcpi_unacked),
    FIELD(tcpi_sacked),
    FIELD(tcpi_lost),
    FIELD(tcpi_retrans),
    FIELD(tcpi_fackets),
    FIELD(tcpi_last_data_sent),
    FIELD(tcpi_last_ack_sent),
    FIELD(tcpi_last_data_recv),
    FIELD(tcpi_last_ack_recv),
    FIELD(tcpi_pmtu),
    FIELD(tcpi_rcv_ssthresh),
    FIELD(tcpi_rtt),
    FIELD(tcpi_rttvar),
    FIELD(tcpi_snd_ssthresh),
    FIELD(tcpi_snd_cwnd),
    FIELD(tcpi_advmss),
    FIELD(tcpi_reordering),
    FIELD(tcpi_rcv_rtt),
    FIELD(tcpi_rcv_space),
    FIELD(tcpi_total_retrans),
    FIELD(tcpi_pacing_rate),
    FIELD(tcpi_max_pacing_rate),
    FIELD(tcpi_bytes_acked),
    FIELD(tcpi_bytes_received),
    FIELD(tcpi_segs_out),
    FIELD(tcpi_segs_in),
    FIELD(tcpi_notsent_bytes),
    FIELD(tcpi_min_rtt),
    FIELD(tcpi_data_segs_in),
    FIELD(tcpi_data_segs_out),
    FIELD(tcpi_delivery_rate),
    FIELD(tcpi_busy_time),
    FIELD(tcpi_rwnd_limited),
    FIELD(tcpi_sndbuf_limited),
    FIELD(tcpi_delivered),
    FIELD(tcpi_delivered_ce),
    FIELD(tcpi_bytes_sent),
    FIELD(tcpi_bytes_retrans),
    FIELD(tcpi_dsack_dups),
    FIELD(tcpi_reord_seen),
    FIELD(tcpi_rcv_ooopack),
    FIELD(tcpi_snd_wnd),
    FIELD(tcpi_rcv_wnd),
    FIELD(tcpi_rehash),
    FIELD(tcpi_total_rto),
    FIELD(tcpi_total_rto_recoveries),
    FIELD(tcpi_total_rto_time),
    Field{"tcpi_snd_rexmitpack",  // of FreeBSD
          [](const lockstep_tcp_info& info) { return std::uint64_t{info.tcpi_total_retrans}; }},
    Field{"tcpi_snd_wscale",
          [](const lockstep_tcp_info& info) { return std::uint64_t{info.tcpi_wscale & 15u}; }},
    Field{"tcpi_rcv_wscale",
          [](const lockstep_tcp_info& info) { return std::uint64_t{info.tcpi_wscale} >> 4; }},
};

#undef FIELD

const Field* field_named(std::string_view name) {
  auto const found = std::find_if(fields.begin(), fields.end(),
                                  [name](const Field& field) { return field.name == name; });
  return found == fields.end() ? nullptr : &*found;
}

/// Fields of tcp_info that systems have and this stack does not.
bool is_foreign(std::string_view name) {
  constexpr std::array<std::string_view, 24> names{"tcpi_snd_nxt",
                                                   "tcpi_rcv_nxt",
                                                   "tcpi_toe_tid",
                                                   "tcpi_snd_zerowin",
                                                   "tcpi_snd_bwnd",
                                                   "tcpi_rcv_numsacks",
                                                   "tcpi_rcv_adv",
                                                   "tcpi_dupacks",
                                                   "tcpi_rttmin",
                                                   "tcpi_snd_una",
                                                   "tcpi_snd_max",
                                                   "tcpi_received_ce",
                                                   "tcpi_received_ce_bytes",
                                                   "tcpi_received_e0_bytes",
                                                   "tcpi_received_e1_bytes",
                                                   "tcpi_delivered_ce_bytes",
                                                   "tcpi_delivered_e0_bytes",
                                                   "tcpi_delivered_e1_bytes",
                                                   "tcpi_accecn_fail_mode",
                                                   "tcpi_accecn_opt_seen",
                                                   "tcpi_ecn_mode",
                                                   "tcpi_fastopen_client_fail",
                                                   "tcpi_delivery_rate_app_limited",
                                                   "tcpi_options2"};
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Longer operators first, so that `<=` is not read as `<`. A prefix operator binds tightest.
struct Operator {
  std::string_view mark;
  int strength;
  bool prefix = false;
};
constexpr std::array<Operator, 19> operators{{{"or", 1},
                                              {"and", 2},
                                              {"==", 4},
                                              {"!=", 4},
                                              {"<=", 4},
                                              {">=", 4},
                                              {"<<", 8},
                                              {">>", 8},
                                              {"//", 10},
                                              {"<", 4},
                                              {">", 4},
                                              {"|", 5},
                                              {"^", 6},
                                              {"&", 7},
                                              {"+", 9},
                                              {"-", 9},
                                              {"*", 10},
                                              {"%", 10},
                                              {"/", 10}}};
constexpr Operator negate{"not", 3, true};
constexpr Operator minus{"neg", 11, true};
constexpr Operator parenthesis{"(", 0, true};
/// Between the comparisons of a chain.
constexpr std::string_view also_mark = "also";
constexpr Operator also_operator{also_mark, 4};

/// Anything that is neither an operand nor an operator ends an expression.
std::optional<Operator> accept_operator(Cursor& cursor) {
  for (Operator const& one : operators) {
    bool const is_word = std::isalpha(static_cast<unsigned char>(one.mark.front())) != 0;
    if (is_word ? cursor.accept_word(one.mark) : cursor.accept(one.mark)) {
      return one;
    }
  }
  return std::nullopt;
}

class Reader {
 public:
  Reader(Cursor& cursor, Assertion& out) : cursor_(cursor), out_(out) {}

  void read() {
    while (true) {
      read_operand();
      while (!open_.empty() && cursor_.accept(")")) {
        close();
      }
      cursor_.skip();
      Place const at = cursor_.place();
      auto const next = accept_operator(cursor_);
      if (!next) {
        break;
      }
      if (next->mark == "/") {
        cursor_.fail(at,
                     "'/' gives a fraction in Python, expected '//': only integers are "
                     "supported here");
      }
      push(*next);
    }
    while (!waiting_.empty()) {
      if (waiting_.back().mark == "(") {
        cursor_.unexpected("')'", "a parenthesis is open");
      }
      apply();
    }
  }

 private:
  void read_operand() {
    while (true) {
      cursor_.skip();
      if (cursor_.accept("(")) {
        waiting_.push_back(parenthesis);
        open_.push_back(cursor_.place());
      } else if (cursor_.accept_word("not")) {
        waiting_.push_back(negate);
      } else if (cursor_.accept("-")) {
        waiting_.push_back(minus);
      } else {
        break;
      }
    }
    Place const at = cursor_.place();
    std::string const name = cursor_.word("a number or a field such as tcpi_snd_cwnd");
    bool const octal = name.size() > 1 && name[0] == '0' && name[1] >= '0' && name[1] <= '9';
    if (auto const number = octal ? std::nullopt : parse_number(name)) {
      out_.steps.push_back({Assertion::Step::Kind::number, *number, {}});
    } else if (field_named(name) != nullptr) {
      out_.steps.push_back({Assertion::Step::Kind::field, 0, name});
    } else if (auto const value = name == "True" ? 1 : name == "False" ? 0 : constant(name)) {
      out_.steps.push_back({Assertion::Step::Kind::number, *value, {}});
    } else if (is_foreign(name)) {
      cursor_.fail(at, fmt::format("this stack has no value for {}, expected another field: remove "
                                   "the assertion",
                                   name));
    } else {
      cursor_.fail(at, fmt::format("the name {} is not known, expected a field of tcp_info or a "
                                   "constant such as TCP_ESTABLISHED: correct it",
                                   name));
    }
  }

  void apply() {
    out_.steps.push_back({Assertion::Step::Kind::apply, 0, std::string(waiting_.back().mark)});
    waiting_.pop_back();
  }

  /// `a < b < c` is `a < b and b < c`: the first comparison keeps b for the second.
  void push(const Operator& next) {
    bool const compares = next.strength == 4;
    while (!waiting_.empty() && waiting_.back().strength >= next.strength) {
      bool const also = waiting_.back().mark == also_mark;
      if (compares && also) {
        break;
      }
      if (compares && waiting_.back().strength == 4) {
        out_.steps.push_back({Assertion::Step::Kind::keep, 0, std::string(waiting_.back().mark)});
        waiting_.back() = also_operator;
        break;
      }
      apply();
    }
    waiting_.push_back(next);
  }

  void close() {
    while (waiting_.back().mark != "(") {
      apply();
    }
    waiting_.pop_back();
    open_.pop_back();
  }

  Cursor& cursor_;
  Assertion& out_;
  std::vector<Operator> waiting_;
  std::vector<Place> open_;
};

/// A number, or why there is none; an operand that is not evaluated may have none.
struct Operand {
  Whole number = 0;
  std::string_view fault;
};

/// Python integers are unbounded; here a result beyond 64 bits and a sign is an error.
Operand bounded(Whole number) {
  constexpr Whole most = UINT64_MAX;
  return -most <= number && number <= most ? Operand{number, {}}
                                           : Operand{0, "a number of more than 64 bits"};
}

Operand product(Whole a, Whole b) {
  bool const negative = (a < 0) != (b < 0);
  Magnitude const size =
      static_cast<Magnitude>(a < 0 ? -a : a) * static_cast<Magnitude>(b < 0 ? -b : b);
  if (size > UINT64_MAX) {
    return {0, "a number of more than 64 bits"};
  }
  return bounded(negative ? -static_cast<Whole>(size) : static_cast<Whole>(size));
}

/// Rounds towards minus infinity; the remainder has the sign of the divisor.
Operand divided(Whole a, Whole b, bool remainder) {
  if (b == 0) {
    return {0, "a division by zero"};
  }
  bool const down = a % b != 0 && (a % b < 0) != (b < 0);
  Whole const floor = a / b - (down ? 1 : 0);
  return bounded(remainder ? a - floor * b : floor);
}

Operand shifted(const std::string& mark, Whole a, Whole by) {
  if (by < 0) {
    return {0, "a negative shift"};
  }
  if (mark == ">>") {
    return bounded(a >> (by < 100 ? static_cast<int>(by) : 100));
  }
  if (a != 0 && by > 63) {
    return {0, "a shift by more than 63 bits"};
  }
  return product(a, Whole{1} << (a == 0 ? 0 : static_cast<int>(by)));
}

/// With Python's semantics: `and` and `or` evaluate the second operand only if the first does not
/// decide.
Operand binary(const std::string& mark, const Operand& first, const Operand& second) {
  Whole const a = first.number, b = second.number;
  if (!first.fault.empty()) {
    return first;
  }
  if (mark == "or" || mark == "and" || mark == also_mark) {
    return (mark == "or") == (a != 0) ? first : second;
  }
  if (!second.fault.empty()) {
    return second;
  }
  if (mark == "==") return {a == b, {}};
  if (mark == "!=") return {a != b, {}};
  if (mark == "<=") return {a <= b, {}};
  if (mark == ">=") return {a >= b, {}};
  if (mark == "<") return {a < b, {}};
  if (mark == ">") return {a > b, {}};
  if (mark == "<<" || mark == ">>") return shifted(mark, a, b);
  if (mark == "|") return bounded(a | b);
  if (mark == "^") return bounded(a ^ b);
  if (mark == "&") return bounded(a & b);
  if (mark == "+") return bounded(a + b);
  if (mark == "-") return bounded(a - b);
  if (mark == "*") return product(a, b);
  return divided(a, b, mark == "%");
}

/// Skips the message of an assert statement, or a print statement, up to its end.
void skip_message(Cursor& cursor) {
  int depth = 0;
  while (cursor.peek() != '\0') {
    char const c = cursor.peek();
    if (depth == 0 && (c == '\n' || c == ';')) {
      return;
    }
    bool const joined = c == '\\' && cursor.peek(1) == '\n';
    cursor.take();
    if (joined) {
      cursor.take();
    }
    depth += c == '(' || c == '[' ? 1 : (c == ')' || c == ']') && depth > 0 ? -1 : 0;
    if (c == '"' || c == '\'') {
      cursor.until(std::string_view(&c, 1), "a text");
    }
  }
}

}  // namespace

std::vector<Assertion> parse_code(const Script& script, const Event& event,
                                  std::vector<Note>* notes) {
  // Blank lines and spaces in front keep the line and column numbers of the script.
  std::string text(static_cast<std::size_t>(event.code_place.line - 1), '\n');
  text += std::string(static_cast<std::size_t>(event.code_place.column - 1), ' ') + event.code;
  Defines const none;
  Cursor cursor(script.file, text, none, Comments::of_code);
  std::vector<Assertion> out;
  bool idle = false;
  while (!cursor.at_end()) {
    if (cursor.accept(";")) {
      continue;
    }
    Assertion one;
    one.place = cursor.place();
    if (cursor.accept_word("pass")) {
      idle = true;
      continue;
    }
    std::string_view const from = cursor.rest();
    if (cursor.accept_word("print")) {
      skip_message(cursor);
      idle = true;
      if (notes != nullptr) {
        std::string const said(from.substr(0, from.size() - cursor.rest().size()));
        notes->push_back({one.place, said, "nothing is printed", false});
      }
      continue;
    }
    if (!cursor.accept_word("assert")) {
      cursor.unexpected("assert", "only assertions are evaluated here, no other Python");
    }
    cursor.skip();
    std::string_view const begin = cursor.rest();
    Reader(cursor, one).read();
    one.text = std::string(begin.substr(0, begin.size() - cursor.rest().size()));
    while (!one.text.empty() && std::isspace(static_cast<unsigned char>(one.text.back())) != 0) {
      one.text.pop_back();
    }
    if (cursor.accept(",")) {
      skip_message(cursor);
    }
    out.push_back(std::move(one));
  }
  if (out.empty() && !idle) {
    cursor.fail(event.code_place,
                "no assertion here, expected one such as assert tcpi_state "
                "== TCP_ESTABLISHED: write one, or remove the code");
  }
  return out;
}

bool holds(const Assertion& assertion, const lockstep_tcp_info& info, std::string& seen) {
  std::vector<Operand> values;
  const auto pop = [&values] {
    Operand const value = values.back();
    values.pop_back();
    return value;
  };
  const auto see = [&seen](const std::string& what) { seen += (seen.empty() ? "" : ", ") + what; };
  for (Assertion::Step const& step : assertion.steps) {
    if (step.kind == Assertion::Step::Kind::number) {
      values.push_back({step.number, {}});
    } else if (step.kind == Assertion::Step::Kind::field) {
      std::uint64_t const value = field_named(step.name)->get(info);
      values.push_back({value, {}});
      see(fmt::format("{} = {}", step.name, value));
    } else if (step.kind == Assertion::Step::Kind::keep) {
      Operand const b = pop();
      Operand const a = pop();
      values.push_back(binary(step.name, a, b));
      values.push_back(b);
    } else if (step.name == "not") {
      Operand const value = pop();
      values.push_back({value.number == 0, value.fault});
    } else if (step.name == "neg") {
      values.push_back(binary("-", {}, pop()));
    } else {
      Operand const b = pop();
      Operand const a = pop();
      values.push_back(binary(step.name, a, b));
    }
  }
  Operand const whole = values.back();
  if (!whole.fault.empty()) {
    see(fmt::format("it cannot be evaluated: {}", whole.fault));
  }
  return whole.fault.empty() && whole.number != 0;
}

}  // namespace lockstep::conformance::script
