// Calls of a script, and their expressions, without recursion: what is open stands on a stack.
#include <fmt/core.h>

#include <limits>

#include "conformance/script/parse.hpp"

namespace lockstep::script {
namespace {

using Kind = Node::Kind;

// A list, a structure or a call's arguments of which the end has not come.
struct Open {
  std::uint32_t node = 0;
  std::string_view end;                         // what closes it
  std::uint32_t bits = Node::no_name;           // an | of which the next operand is awaited
  std::uint32_t complement = Node::no_name;     // a ~ of which the operand is awaited
  std::uint32_t name = Node::no_name;           // of the next element, in a structure
};

class Reader {
 public:
  Reader(Cursor& cursor, Call& call) : cursor_(cursor), call_(call), open_(1) {}

  std::uint32_t read() {
    for (;;) {
      std::uint32_t value = Node::no_name;
      if (begins_value(value)) {
        continue;  // something has opened, whose first value is next
      }
      // The value is whole; perhaps with it what holds it, and so on.
      for (;;) {
        value = combine(value);
        if (value == Node::no_name) {
          break;
        }
        if (open_.size() == 1) {
          return value;
        }
        if (!add_element(value)) {
          break;
        }
        value = open_.back().node;
        open_.pop_back();
      }
    }
  }

 private:
  std::uint32_t make(Kind kind) {
    Node node;
    node.kind = kind;
    node.place = cursor_.place();
    call_.nodes.push_back(node);
    return static_cast<std::uint32_t>(call_.nodes.size() - 1);
  }
  Node& at(std::uint32_t node) { return call_.nodes[node]; }

  void open(std::uint32_t node, std::string_view end) {
    if (open_.size() > nesting_max) {
      Cursor::fail(at(node).place, fmt::format("nested deeper than {}", nesting_max));
    }
    Open opened;
    opened.node = node;
    opened.end = end;
    open_.push_back(opened);
  }

  // True: a container has opened and is not empty. False: `value` is whole.
  bool begins_value(std::uint32_t& value) {
    char const c = cursor_.peek();
    if (c == '~') {
      if (open_.back().complement != Node::no_name) {
        cursor_.fail("one ~");
      }
      open_.back().complement = make(Kind::bits_not);
      cursor_.take("~");
      return true;
    }
    if (c == '[' || c == '{') {
      value = make(c == '[' ? Kind::list : Kind::structure);
      cursor_.take(c == '[' ? "[" : "{");
      return opens(value, c == '[' ? "]" : "}");
    }
    if (cursor_.sees("...")) {
      value = make(Kind::ellipsis);
      cursor_.take("...");
      return false;
    }
    if (c == '"') {
      value = make(Kind::text);
      at(value).word = cursor_.quoted();
      at(value).open = cursor_.take("...");
      return false;
    }
    if (is_digit(c) || c == '-') {
      value = make(Kind::number);
      bool const negative = cursor_.take_just("-");
      std::uint64_t const most = std::uint64_t{std::numeric_limits<std::int64_t>::max()};
      auto const number = static_cast<std::int64_t>(cursor_.number("a value", most));
      at(value).number = negative ? -number : number;
      return false;
    }
    value = make(Kind::word);
    at(value).word = cursor_.word();
    if (at(value).word.empty()) {
      cursor_.fail("a value: a number, a name, \"text\", [...], {...} or ...");
    }
    at(value).called = cursor_.take("(");
    return at(value).called && opens(value, ")");
  }

  // True unless it is empty.
  bool opens(std::uint32_t node, std::string_view end) {
    if (cursor_.take(end)) {
      return false;
    }
    open(node, end);
    return true;
  }

  // Applies ~ and |; no_name: another operand is to come.
  std::uint32_t combine(std::uint32_t value) {
    Open& holder = open_.back();
    if (holder.complement != Node::no_name) {
      at(holder.complement).children.push_back(value);
      value = holder.complement;
      holder.complement = Node::no_name;
    }
    if (holder.bits != Node::no_name) {
      at(holder.bits).children.push_back(value);
    }
    if (cursor_.sees("|")) {
      if (holder.bits == Node::no_name) {
        holder.bits = make(Kind::bits_or);
        at(holder.bits).place = at(value).place;
        at(holder.bits).children.push_back(value);
      }
      cursor_.take("|");
      return Node::no_name;
    }
    if (holder.bits != Node::no_name) {
      value = holder.bits;
      holder.bits = Node::no_name;
    }
    return value;
  }

  // True: that was the last one, and what holds it is whole.
  bool add_element(std::uint32_t value) {
    Open& holder = open_.back();
    bool const named = at(holder.node).kind == Kind::structure;
    if (named && holder.name == Node::no_name && at(value).kind == Kind::word &&
        cursor_.sees("=")) {
      cursor_.take("=");
      holder.name = value;
      return false;
    }
    at(holder.node).children.push_back(value);
    if (named) {
      at(holder.node).names.push_back(holder.name);
      holder.name = Node::no_name;
    }
    if (cursor_.take(",")) {
      return false;
    }
    if (!cursor_.take(holder.end)) {
      cursor_.fail(fmt::format("',' or '{}'", holder.end));
    }
    return true;
  }

  Cursor& cursor_;
  Call& call_;
  std::vector<Open> open_;  // the first one is the expression itself
};

// (Resource temporarily unavailable): what strerror says, for the reader alone.
void skip_note(Cursor& cursor) {
  if (cursor.take_just("(")) {
    static_cast<void>(cursor.until(")", "note"));
  }
}

}  // namespace

std::uint32_t parse_expression(Cursor& cursor, Call& call) { return Reader(cursor, call).read(); }

Call parse_call(Cursor& cursor) {
  Call out;
  out.name = cursor.word();
  if (out.name.empty()) {
    cursor.fail("an event: < or > and a packet, a call, `command` or %{ code }%");
  }
  cursor.expect("(");
  if (!cursor.take(")")) {
    do {
      out.arguments.push_back(parse_expression(cursor, out));
    } while (cursor.take(","));
    if (!cursor.take(")")) {
      cursor.fail("',' or ')'");
    }
  }
  cursor.expect("=");
  out.result = parse_expression(cursor, out);
  Node const& result = out.nodes[out.result];
  if (result.kind == Kind::number && result.number == -1) {
    out.error = cursor.word();
  }
  skip_note(cursor);
  return out;
}

}  // namespace lockstep::script
