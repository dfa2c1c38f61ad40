// Assertions over what TCP_INFO gives: comparisons and arithmetic on whole numbers.
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

struct Field {
  std::string_view name;
  std::int64_t (*get)(const lockstep_tcp_info& info);
};

#define FIELD(name)                                                                        \
  Field {                                                                                  \
    #name, [](const lockstep_tcp_info& info) { return static_cast<std::int64_t>(info.name); } \
  }

constexpr std::array fields{
    FIELD(tcpi_state), FIELD(tcpi_ca_state), FIELD(tcpi_retransmits), FIELD(tcpi_probes),
    FIELD(tcpi_backoff), FIELD(tcpi_options), FIELD(tcpi_wscale), FIELD(tcpi_rto),
    FIELD(tcpi_ato), FIELD(tcpi_snd_mss), FIELD(tcpi_rcv_mss), FIELD(tcpi_unacked),
    FIELD(tcpi_sacked), FIELD(tcpi_lost), FIELD(tcpi_retrans), FIELD(tcpi_fackets),
    FIELD(tcpi_last_data_sent), FIELD(tcpi_last_ack_sent), FIELD(tcpi_last_data_recv),
    FIELD(tcpi_last_ack_recv), FIELD(tcpi_pmtu), FIELD(tcpi_rcv_ssthresh), FIELD(tcpi_rtt),
    FIELD(tcpi_rttvar), FIELD(tcpi_snd_ssthresh), FIELD(tcpi_snd_cwnd), FIELD(tcpi_advmss),
    FIELD(tcpi_reordering), FIELD(tcpi_rcv_rtt), FIELD(tcpi_rcv_space),
    FIELD(tcpi_total_retrans), FIELD(tcpi_pacing_rate), FIELD(tcpi_max_pacing_rate),
    FIELD(tcpi_bytes_acked), FIELD(tcpi_bytes_received), FIELD(tcpi_segs_out),
    FIELD(tcpi_segs_in), FIELD(tcpi_notsent_bytes), FIELD(tcpi_min_rtt),
    FIELD(tcpi_data_segs_in), FIELD(tcpi_data_segs_out), FIELD(tcpi_delivery_rate),
    FIELD(tcpi_busy_time), FIELD(tcpi_rwnd_limited), FIELD(tcpi_sndbuf_limited),
    FIELD(tcpi_delivered), FIELD(tcpi_delivered_ce), FIELD(tcpi_bytes_sent),
    FIELD(tcpi_bytes_retrans), FIELD(tcpi_dsack_dups), FIELD(tcpi_reord_seen),
    FIELD(tcpi_rcv_ooopack), FIELD(tcpi_snd_wnd), FIELD(tcpi_rcv_wnd), FIELD(tcpi_rehash),
    FIELD(tcpi_total_rto), FIELD(tcpi_total_rto_recoveries), FIELD(tcpi_total_rto_time),
    Field{"tcpi_snd_wscale",
          [](const lockstep_tcp_info& info) { return std::int64_t{info.tcpi_wscale & 15}; }},
    Field{"tcpi_rcv_wscale",
          [](const lockstep_tcp_info& info) { return std::int64_t{info.tcpi_wscale >> 4}; }},
};

#undef FIELD

const Field* field_named(std::string_view name) {
  auto const found = std::find_if(fields.begin(), fields.end(),
                                  [name](const Field& field) { return field.name == name; });
  return found == fields.end() ? nullptr : &*found;
}

/// Longer ones first, so that `<=` is not taken for `<`. A prefix binds tightest.
struct Operator {
  std::string_view mark;
  int strength;
  bool prefix = false;
};
constexpr std::array<Operator, 19> operators{{{"or", 1},  {"and", 2}, {"==", 4}, {"!=", 4},
                                              {"<=", 4},  {">=", 4},  {"<<", 8}, {">>", 8},
                                              {"//", 10}, {"<", 4},   {">", 4},  {"|", 5},
                                              {"^", 6},   {"&", 7},   {"+", 9},  {"-", 9},
                                              {"*", 10},  {"%", 10},  {"/", 10}}};
constexpr Operator negate{"not", 3, true};
constexpr Operator minus{"neg", 11, true};
constexpr Operator parenthesis{"(", 0, true};

/// What is neither an operand nor an operator ends an expression.
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
      auto const next = accept_operator(cursor_);
      if (!next) {
        break;
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
    if (auto const number = parse_number(name)) {
      out_.steps.push_back({Assertion::Step::Kind::number, *number, {}});
    } else if (field_named(name) != nullptr) {
      out_.steps.push_back({Assertion::Step::Kind::field, 0, name});
    } else if (auto const value = name == "True" ? 1 : name == "False" ? 0 : constant(name)) {
      out_.steps.push_back({Assertion::Step::Kind::number, *value, {}});
    } else {
      cursor_.fail(at, fmt::format("the name {} is not known, expected a field of tcp_info or a "
                                   "constant such as TCP_ESTABLISHED: mend it",
                                   name));
    }
  }

  void apply() {
    out_.steps.push_back({Assertion::Step::Kind::apply, 0, std::string(waiting_.back().mark)});
    waiting_.pop_back();
  }

  void push(const Operator& next) {
    while (!waiting_.empty() && waiting_.back().strength >= next.strength) {
      if (waiting_.back().strength == 4 && next.strength == 4) {
        cursor_.unexpected("'and' between two comparisons", "a < b < c is not read here");
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

std::int64_t binary(const std::string& mark, std::int64_t a, std::int64_t b) {
  auto const x = static_cast<std::uint64_t>(a);
  auto const y = static_cast<std::uint64_t>(b);
  bool const divides = b > 0;
  // Divided as Python does it, downwards.
  std::int64_t const floor = divides ? a / b - (a % b < 0 ? 1 : 0) : 0;
  if (mark == "or" || mark == "and") {
    return mark == "or" ? (a != 0 ? a : b) : (a != 0 ? b : a);
  }
  if (mark == "==") return a == b;
  if (mark == "!=") return a != b;
  if (mark == "<=") return a <= b;
  if (mark == ">=") return a >= b;
  if (mark == "<") return a < b;
  if (mark == ">") return a > b;
  if (mark == "<<") return static_cast<std::int64_t>(x << (y & 63));
  if (mark == ">>") return static_cast<std::int64_t>(x >> (y & 63));
  if (mark == "|") return a | b;
  if (mark == "^") return a ^ b;
  if (mark == "&") return a & b;
  if (mark == "+") return static_cast<std::int64_t>(x + y);
  if (mark == "-") return static_cast<std::int64_t>(x - y);
  if (mark == "*") return static_cast<std::int64_t>(x * y);
  if (mark == "%") return divides ? a - floor * b : 0;
  return floor;
}

}  // namespace

std::vector<Assertion> parse_code(const Script& script, const Event& event) {
  // Blank lines in front keep the lines' numbers; the first line's columns are made up for.
  std::string text(static_cast<std::size_t>(event.code_place.line - 1), '\n');
  text += std::string(static_cast<std::size_t>(event.code_place.column - 1), ' ') + event.code;
  Defines const none;
  Cursor cursor(script.file, text, none);
  std::vector<Assertion> out;
  while (!cursor.at_end()) {
    if (cursor.accept(";")) {
      continue;
    }
    Assertion one;
    one.place = cursor.place();
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
      cursor.line();  // what Python would say when it fails
    }
    out.push_back(std::move(one));
  }
  return out;
}

bool holds(const Assertion& assertion, const lockstep_tcp_info& info, std::string& seen) {
  std::vector<std::int64_t> values;
  const auto pop = [&values] {
    std::int64_t const value = values.empty() ? 0 : values.back();
    values.pop_back();
    return value;
  };
  for (Assertion::Step const& step : assertion.steps) {
    if (step.kind == Assertion::Step::Kind::number) {
      values.push_back(step.number);
    } else if (step.kind == Assertion::Step::Kind::field) {
      values.push_back(field_named(step.name)->get(info));
      seen += fmt::format("{}{} = {}", seen.empty() ? "" : ", ", step.name, values.back());
    } else if (step.name == "not") {
      values.push_back(pop() == 0);
    } else if (step.name == "neg") {
      values.push_back(binary("-", 0, pop()));
    } else {
      std::int64_t const b = pop();
      std::int64_t const a = pop();
      values.push_back(binary(step.name, a, b));
    }
  }
  return values.back() != 0;
}

}  // namespace lockstep::conformance::script
