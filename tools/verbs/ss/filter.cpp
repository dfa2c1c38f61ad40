// A parser by recursive descent, limited in depth; terms are compared by one function.
#include "tools/verbs/ss/filter.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "tools/base/process/failure.hpp"
#include "tools/base/text/suggestion.hpp"
#include "tools/base/text/units.hpp"

namespace lockstep::tools {

struct Filter::Node {
  enum class Kind : std::uint8_t { all, any, negated, term };
  Kind kind = Kind::all;
  std::vector<std::shared_ptr<const Node>> parts;
  std::function<bool(const Filtered&)> term;
};

namespace {

using Node = Filter::Node;
using NodePtr = std::shared_ptr<const Node>;

[[noreturn]] void wrong(const std::string& what) {
  throw Failure(ExitCode::bad_input, "filter: " + what);
}

/// Names of states: those of ss, then those of RFC 9293.
constexpr std::array<std::pair<std::string_view, std::string_view>, 17> state_names{{
    {"established", "ESTABLISHED"},
    {"syn-sent", "SYN-SENT"},
    {"syn-recv", "SYN-RECEIVED"},
    {"fin-wait-1", "FIN-WAIT-1"},
    {"fin-wait-2", "FIN-WAIT-2"},
    {"time-wait", "TIME-WAIT"},
    {"closed", "CLOSED"},
    {"close-wait", "CLOSE-WAIT"},
    {"last-ack", "LAST-ACK"},
    {"listening", "LISTEN"},
    {"closing", "CLOSING"},
    {"listen", "LISTEN"},
    {"syn-received", "SYN-RECEIVED"},
    {"all", "*"},
    {"connected", "+"},
    {"synchronized", "="},
    {"bucket", "-"},
}};

bool is_in(std::string_view group, std::string_view state) {
  bool const listens = state == "LISTEN";
  bool const small = state == "TIME-WAIT" || state == "SYN-RECEIVED";
  if (group == "*") {
    return true;
  }
  if (group == "+") {  // all but LISTEN and CLOSED
    return !listens && state != "CLOSED";
  }
  if (group == "=") {  // connected, except SYN-SENT
    return !listens && state != "CLOSED" && state != "SYN-SENT";
  }
  return group == "-" ? small : group == state;
}

/// Splits at blanks, and before and after operators and parentheses.
std::vector<std::string> tokens_of(const std::vector<std::string>& words) {
  constexpr std::string_view marks = "=!<>&|";
  std::vector<std::string> out;
  for (const std::string& word : words) {
    bool goes_on = false;
    bool was_mark = false;
    for (char const letter : word) {
      bool const is_mark = marks.find(letter) != std::string_view::npos;
      if (std::isspace(static_cast<unsigned char>(letter)) != 0) {
        goes_on = false;
      } else if (letter == '(' || letter == ')') {
        out.emplace_back(1, letter);
        goes_on = false;
      } else if (goes_on && is_mark == was_mark) {
        out.back() += letter;
      } else {
        out.emplace_back(1, letter);
        goes_on = true;
      }
      was_mark = is_mark;
    }
  }
  return out;
}

enum class Order : std::uint8_t { equal, unequal, more, less, at_least, at_most };

std::optional<Order> order_of(std::string_view word) {
  constexpr std::array<std::pair<std::string_view, Order>, 13> names{{{"=", Order::equal},
                                                                      {"==", Order::equal},
                                                                      {"eq", Order::equal},
                                                                      {"!=", Order::unequal},
                                                                      {"ne", Order::unequal},
                                                                      {"neq", Order::unequal},
                                                                      {">", Order::more},
                                                                      {"gt", Order::more},
                                                                      {"<", Order::less},
                                                                      {"lt", Order::less},
                                                                      {">=", Order::at_least},
                                                                      {"ge", Order::at_least},
                                                                      {"<=", Order::at_most}}};
  for (auto const& [name, order] : names) {
    if (name == word) {
      return order;
    }
  }
  return word == "le" ? std::optional(Order::at_most) : std::nullopt;
}

bool holds(Order order, std::uint16_t left, std::uint16_t right) {
  switch (order) {
    case Order::equal:
      return left == right;
    case Order::unequal:
      return left != right;
    case Order::more:
      return left > right;
    case Order::less:
      return left < right;
    case Order::at_least:
      return left >= right;
    case Order::at_most:
      break;
  }
  return left <= right;
}

std::uint16_t port_in(std::string_view text) {
  std::string_view const digits = text.starts_with(':') ? text.substr(1) : text;
  std::uint16_t port = 0;
  auto const [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (digits.empty() || error != std::errc{} || end != digits.data() + digits.size()) {
    wrong(fmt::format("{}: expected a port, like :80: correct it", text));
  }
  return port;
}

/// A host or a network, and a port if one follows.
struct Place {
  IpAddress address;
  std::uint32_t bits = 0;  ///< of 128; those of an IPv4 address are the last 32
  std::optional<std::uint16_t> port;

  bool matches(const Endpoint& end) const {
    bool const same = bits == 0 || (end.address.is_v4() == address.is_v4() &&
                                    common_bits({end.address, address}) >= bits);
    return same && (!port || end.port.value == *port);
  }
};

Place place_in(const std::string& text) {
  Place out;
  std::string host = text;
  std::size_t const colon = text.rfind(':');
  bool const bracketed = text.starts_with('[');
  bool const has_port =
      colon != std::string::npos && (bracketed ? text[colon - 1] == ']' : text.find(':') == colon);
  if (has_port) {
    out.port = port_in(std::string_view(text).substr(colon));
    host = text.substr(0, colon);
  }
  if (bracketed && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  }
  if (has_port && (host.empty() || host == "*")) {
    return out;
  }
  if (auto const network = parse_address_and_prefix(host)) {
    out.address = network->address;
    out.bits = network->prefix_bits + (network->address.is_v4() ? 96 : 0);
  } else if (auto const address = parse_address(host)) {
    out.address = *address;
    out.bits = 128;
  } else {
    wrong(
        fmt::format("{}: expected an address like 10.0.0.1, 10.0.0.0/8, 10.0.0.1:80 or "
                    "[2001:db8::1]:80: correct it",
                    text));
  }
  return out;
}

NodePtr term_of(std::function<bool(const Filtered&)> term) {
  auto node = std::make_shared<Node>();
  node->kind = Node::Kind::term;
  node->term = std::move(term);
  return node;
}

NodePtr joined(Node::Kind kind, std::vector<NodePtr> parts) {
  if (parts.size() == 1 && kind != Node::Kind::negated) {
    return parts.front();
  }
  auto node = std::make_shared<Node>();
  node->kind = kind;
  node->parts = std::move(parts);
  return node;
}

class Parser {
 public:
  explicit Parser(std::vector<std::string> tokens) : tokens_(std::move(tokens)) {}

  NodePtr whole() {
    NodePtr out = any();
    if (at_ < tokens_.size()) {
      wrong(fmt::format("{}: nothing fits here: correct it", tokens_[at_]));
    }
    return out;
  }

 private:
  static constexpr std::uint32_t depth_max = 64;

  bool take(std::initializer_list<std::string_view> words) {
    bool const found =
        at_ < tokens_.size() && std::find(words.begin(), words.end(), tokens_[at_]) != words.end();
    at_ += found ? 1 : 0;
    return found;
  }
  std::string next(const char* expected) {
    if (at_ == tokens_.size()) {
      wrong(fmt::format("{} is missing at its end: add it", expected));
    }
    return tokens_[at_++];
  }

  NodePtr any() {
    std::vector<NodePtr> parts{every()};
    while (take({"or", "|", "||"})) {
      parts.push_back(every());
    }
    return joined(Node::Kind::any, std::move(parts));
  }
  NodePtr every() {
    std::vector<NodePtr> parts{one()};
    auto const ends = [this] {
      return at_ == tokens_.size() || tokens_[at_] == ")" || tokens_[at_] == "or" ||
             tokens_[at_] == "|" || tokens_[at_] == "||";
    };
    while (take({"and", "&", "&&"}) || !ends()) {
      parts.push_back(one());
    }
    return joined(Node::Kind::all, std::move(parts));
  }
  NodePtr one() {
    if (++depth_ > depth_max) {
      wrong(fmt::format("more than {} terms within each other: shorten it", depth_max));
    }
    NodePtr out;
    if (take({"not", "!"})) {
      out = joined(Node::Kind::negated, {one()});
    } else if (take({"("})) {
      out = any();
      if (!take({")"})) {
        wrong("a closing parenthesis is missing: add it");
      }
    } else {
      out = term(next("a term, like `state established` or `sport = :80`,"));
    }
    --depth_;
    return out;
  }

  NodePtr term(const std::string& word) {
    if (word == "state" || word == "exclude") {
      return state(word == "exclude");
    }
    bool const local = word == "sport" || word == "src";
    if (word == "sport" || word == "dport") {
      return port(local);
    }
    if (word == "src" || word == "dst") {
      bool const negated = take({"!=", "ne", "neq"});
      static_cast<void>(take({"=", "==", "eq"}));
      Place const place = place_in(next("an address"));
      return term_of([place, local, negated](const Filtered& row) {
        return place.matches(local ? row.local : row.remote) != negated;
      });
    }
    wrong(fmt::format("{}: expected state, exclude, sport, dport, src or dst{}: correct it", word,
                      suggestion(word, {"state", "exclude", "sport", "dport", "src", "dst"})));
  }
  NodePtr state(bool excluded) {
    std::string const word = next("the name of a state");
    std::string small = word;
    std::transform(small.begin(), small.end(), small.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    std::vector<std::string> names;
    for (auto const& [name, state] : state_names) {
      if (name == small) {
        return term_of(
            [state, excluded](const Filtered& row) { return is_in(state, row.state) != excluded; });
      }
      names.emplace_back(name);
    }
    wrong(fmt::format("{}: no such state{}: choose one like established or time-wait", word,
                      suggestion(word, names)));
  }
  NodePtr port(bool local) {
    std::string word = next("a port");
    auto const order = order_of(word);
    std::uint16_t const number = port_in(order ? next("a port") : word);
    return term_of([number, local, how = order.value_or(Order::equal)](const Filtered& row) {
      return holds(how, (local ? row.local : row.remote).port.value, number);
    });
  }

  std::vector<std::string> tokens_;
  std::size_t at_ = 0;
  std::uint32_t depth_ = 0;
};

bool passes_node(const Node& node, const Filtered& row) {
  auto const part = [&](const NodePtr& each) { return passes_node(*each, row); };
  switch (node.kind) {
    case Node::Kind::all:
      return std::all_of(node.parts.begin(), node.parts.end(), part);
    case Node::Kind::any:
      return std::any_of(node.parts.begin(), node.parts.end(), part);
    case Node::Kind::negated:
      return !part(node.parts.front());
    case Node::Kind::term:
      break;
  }
  return node.term(row);
}

}  // namespace

Filter Filter::read(const std::vector<std::string>& words) {
  Filter out;
  auto tokens = tokens_of(words);
  out.root_ = tokens.empty() ? std::make_shared<Node>() : Parser(std::move(tokens)).whole();
  return out;
}

bool Filter::passes(const Filtered& row) const { return passes_node(*root_, row); }

}  // namespace lockstep::tools
