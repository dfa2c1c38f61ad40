// Parses a call: its arguments, at any depth, and its expected result.
#include <arpa/inet.h>
#include <fmt/core.h>

#include <cerrno>

#include "conformance/script/calls.hpp"
#include "conformance/script/constants.hpp"
#include "conformance/script/parts.hpp"

namespace lockstep::conformance::script {
namespace {

constexpr std::size_t depth_max = 8;

/// A list, a record or a function that is not closed yet.
struct Open {
  Value value;
  char close = ')';
  bool complete = false;  // an item was read; a comma or the closing mark must follow
};

bool begins_number(char c) { return (c >= '0' && c <= '9') || c == '-'; }

/// A constant, or an errno, as SO_ERROR returns it.
std::optional<std::int64_t> named(std::string_view name) {
  if (auto const error = error_number(name)) {
    return *error;
  }
  return constant(name);
}

/// Linux's runner of scripts defines two names by the version of IP.
std::optional<std::int64_t> named_for(const Cursor& cursor, const std::string& name) {
  bool const v6 = cursor.mode() == IpMode::ipv6;
  if (name == "CMSG_LEVEL_IP") {
    return v6 ? 41 : 0;
  }
  if (name == "CMSG_TYPE_RECVERR") {
    return v6 ? 25 : 11;
  }
  return named(name);
}

std::int64_t parse_plain_term(Cursor& cursor) {
  cursor.skip();
  Place const at = cursor.place();
  if (begins_number(cursor.peek())) {
    return cursor.number("a number");
  }
  std::string const name = cursor.word("an argument: a number, a name, a string, [...] or {...}");
  if (const std::string* const value = cursor.defined(name)) {
    auto const number = parse_number(*value);
    auto const known = number ? number : named(*value);
    if (known) {
      return *known;
    }
  }
  auto const value = named_for(cursor, name);
  if (!value) {
    cursor.fail(at, fmt::format("the name {} is not known, expected that of a constant: define it "
                                "with --define, or write its number",
                                name));
  }
  return *value;
}

std::int64_t parse_term(Cursor& cursor) {
  if (cursor.accept("~")) {
    return ~parse_plain_term(cursor);
  }
  return parse_plain_term(cursor);
}

Value parse_number_value(Cursor& cursor) {
  Value out;
  out.kind = Value::Kind::number;
  out.place = cursor.place();
  out.number = parse_term(cursor);
  while (cursor.accept("|")) {
    out.number |= parse_term(cursor);
  }
  return out;
}

/// Reads `name =` or `name(...) =` before a record's item; consumes nothing if there is none.
std::string accept_name(Cursor& cursor) {
  Cursor ahead = cursor;
  std::string const name(ahead.next_word());
  if (name.empty() || begins_number(name.front())) {
    return {};
  }
  ahead.accept(name);
  if (ahead.accept("(")) {
    ahead.until(")", "an argument");
  }
  if (!ahead.accept("=")) {
    return {};
  }
  cursor = ahead;
  return name;
}

Value container(Value::Kind kind, Place place) {
  Value out;
  out.kind = kind;
  out.place = place;
  return out;
}

/// Opens a nested value, or adds a complete item to the innermost open one.
void take_item(Cursor& cursor, std::vector<Open>& open) {
  cursor.skip();
  Place const at = cursor.place();
  if (open.size() > depth_max) {
    cursor.fail(at, "brackets are nested too deep, expected at most 8 levels");
  }
  Open& top = open.back();
  if (top.value.kind == Value::Kind::record) {
    std::string const name = accept_name(cursor);
    if (!name.empty()) {
      top.value.names.push_back(name);
    }
    if (top.value.names.size() != (name.empty() ? 0 : top.value.items.size() + 1)) {
      cursor.fail(at,
                  "some items here have names and others do not, expected all or none: correct "
                  "the record");
    }
  }
  top.complete = true;
  if (cursor.accept("...")) {
    top.value.items.push_back(container(Value::Kind::ellipsis, at));
  } else if (cursor.accept("[")) {
    open.push_back({container(Value::Kind::list, at), ']'});
  } else if (cursor.accept("{")) {
    open.push_back({container(Value::Kind::record, at), '}'});
  } else if (cursor.accept("\"")) {
    Value text = container(Value::Kind::text, at);
    text.text = cursor.until("\"", "a string");
    top.value.items.push_back(std::move(text));
  } else {
    Cursor ahead = cursor;
    std::string const name(ahead.next_word());
    ahead.accept(name);
    if (!name.empty() && !begins_number(name.front()) && ahead.accept("(")) {
      cursor = ahead;
      open.push_back({container(Value::Kind::function, at), ')'});
      open.back().value.text = name;
    } else {
      top.value.items.push_back(parse_number_value(cursor));
    }
  }
}

/// htons(80) is a number, inet_addr("10.0.0.1") a string.
Value evaluated(Cursor& cursor, Value value) {
  if (value.kind != Value::Kind::function) {
    return value;
  }
  bool const single = value.items.size() == 1;
  Value::Kind const kind = single ? value.items[0].kind : Value::Kind::ellipsis;
  if ((value.text == "htons" || value.text == "htonl") && kind == Value::Kind::number) {
    std::int64_t const most = value.text == "htons" ? 65535 : 0xffff'ffff;
    if (value.items[0].number < 0 || value.items[0].number > most) {
      cursor.fail(value.place,
                  fmt::format("{} of {} is out of range, expected 0 to {}: correct the "
                              "number",
                              value.text, value.items[0].number, most));
    }
    return value.items[0];
  }
  if ((value.text == "inet_addr" || value.text == "inet_pton") && kind == Value::Kind::text) {
    return value.items[0];
  }
  if (value.text == "inet_pton" && value.items.size() == 2 &&
      value.items[1].kind == Value::Kind::text) {
    return value.items[1];
  }
  cursor.fail(value.place,
              fmt::format("the function {} is not known with these arguments, "
                          "expected htons(NUMBER) or inet_addr(\"ADDRESS\"): correct it",
                          value.text));
}

std::vector<Value> parse_arguments(Cursor& cursor) {
  std::vector<Open> open(1);
  while (true) {
    Open& top = open.back();
    if (cursor.accept(std::string_view(&top.close, 1))) {
      if (open.size() == 1) {
        return std::move(top.value.items);
      }
      Value done = evaluated(cursor, std::move(top.value));
      open.pop_back();
      open.back().value.items.push_back(std::move(done));
    } else if (top.complete) {
      if (!cursor.accept(",")) {
        cursor.unexpected(fmt::format("',' or '{}'", top.close), "commas separate the arguments");
      }
      top.complete = false;
    } else {
      take_item(cursor, open);
    }
  }
}

void parse_result(Cursor& cursor, Call& call) {
  cursor.expect("=", "the expected result follows the call, such as = 0 or = ...");
  if (cursor.accept("...")) {
    return;
  }
  call.result = parse_number_value(cursor).number;
  cursor.skip();
  if (*call.result == -1 && cursor.peek() == 'E') {
    Place const at = cursor.place();
    std::string const name = cursor.word("an errno");
    auto const number = error_number(name);
    if (!number) {
      cursor.fail(at, fmt::format("the errno {} is not known, expected one such as EAGAIN: correct "
                                  "the name",
                                  name));
    }
    call.error = *number;
  }
  if (cursor.accept("(")) {
    cursor.until(")", "a remark");
  }
}

}  // namespace

Call parse_call(Cursor& cursor) {
  Call call;
  cursor.skip();
  Place const at = cursor.place();
  call.name = cursor.word("a packet (< or >), a call, `a command` or %{ code }%");
  cursor.expect("(", "a call has its arguments in parentheses");
  call.arguments = parse_arguments(cursor);
  if (std::string const fault = fault_of_call(call); !fault.empty()) {
    cursor.fail(at, fault);
  }
  parse_result(cursor, call);
  return call;
}

}  // namespace lockstep::conformance::script
