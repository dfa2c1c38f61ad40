// Parses a script: its settings, then its events with their times.
#include <fmt/core.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "conformance/script/parts.hpp"
#include "tools/base/process/failure.hpp"

namespace lockstep::conformance::script {
namespace {

When parse_when(Cursor& cursor) {
  When when;
  if (cursor.accept("*")) {
    when.any = true;
    return when;
  }
  when.relative = cursor.accept("+");
  when.begin = cursor.seconds();
  when.end = when.begin;
  if (cursor.accept("...")) {
    Place const at = cursor.place();
    when.returns_at = cursor.seconds();
    if (*when.returns_at < when.begin) {
      cursor.fail(at,
                  "a call cannot return before it begins, expected a later time: it is "
                  "relative to the same event as the first");
    }
  } else if (cursor.accept("~")) {
    Place const at = cursor.place();
    if (cursor.accept("+") != when.relative) {
      cursor.fail(at,
                  "one end of the range is relative and the other is not, expected '+' at "
                  "both or neither: correct one");
    }
    when.end = cursor.seconds();
    if (when.end < when.begin) {
      cursor.fail(at, "the range ends before it begins, expected a later time: swap the two");
    }
  }
  return when;
}

bool begins_time(Cursor& cursor) {
  cursor.skip();
  char const c = cursor.peek();
  return c == '+' || c == '*' || c == '.' || (c >= '0' && c <= '9');
}

Event parse_event(Cursor& cursor, IpMode mode) {
  Event event;
  event.when.relative = true;
  cursor.skip();
  event.place = cursor.place();
  bool const timed = begins_time(cursor);
  if (timed) {
    event.when = parse_when(cursor);
  }
  cursor.skip();
  char const c = cursor.peek();
  if (c == '`') {
    event.kind = Event::Kind::command;
    event.command = parse_command(cursor);
  } else if (cursor.accept("%{")) {
    event.kind = Event::Kind::code;
    event.code_place = cursor.place();
    event.code = cursor.until("}%", "code");
  } else if (!timed) {
    cursor.unexpected("a time such as +0.1, `a command` or %{ code }%",
                      "each call and each packet begins with its time");
  } else if (c == '<' || c == '>') {
    event.kind = Event::Kind::packet;
    event.packet = parse_packet(cursor, mode);
  } else {
    event.call = parse_call(cursor);
  }
  bool const is_call = event.kind == Event::Kind::call;
  bool const goes_out =
      event.kind == Event::Kind::packet && event.packet.direction == Direction::out;
  if (event.when.returns_at && !is_call) {
    cursor.fail(event.place,
                "a time with ... is only for calls, expected a single "
                "time: only calls block");
  }
  if ((event.when.any || event.when.end != event.when.begin) && !goes_out) {
    cursor.fail(event.place,
                "an open time is only for packets of the stack, "
                "expected a single time: a range is for packets that must be sent");
  }
  return event;
}

/// Absolute times must not decrease.
void check_order(Cursor& cursor, const std::vector<Event>& events) {
  std::uint64_t latest = 0;
  for (Event const& event : events) {
    bool const fixed = !event.when.any && !event.when.relative;
    if (fixed && event.when.begin < latest) {
      cursor.fail(event.place,
                  "this time is before that of the previous event, expected a later "
                  "one: put the events in order");
    }
    latest = fixed ? event.when.begin : latest;
  }
}

}  // namespace

const Value* Value::field(const std::string& name, std::size_t at) const {
  if (names.empty()) {
    return at < items.size() ? &items[at] : nullptr;
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) {
      return &items[i];
    }
  }
  return nullptr;
}

Script parse(const std::string& file, const std::string& text, const Defines& defines) {
  Script script;
  script.file = file;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    script.lines.push_back(line);
  }
  Defines known = defines;
  Cursor cursor(file, text, known);
  parse_head(cursor, script.head, known);
  while (!cursor.at_end()) {
    script.events.push_back(parse_event(cursor, script.head.mode));
  }
  check_order(cursor, script.events);
  if (script.events.empty()) {
    cursor.fail(cursor.place(),
                "this script has no event, expected one such as "
                "'+0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3': write one");
  }
  return script;
}

Script parse_file(const std::string& path, const Defines& defines) {
  std::error_code error;
  auto const kind = std::filesystem::status(path, error).type();
  bool const found =
      kind != std::filesystem::file_type::none && kind != std::filesystem::file_type::not_found;
  if (found && kind != std::filesystem::file_type::regular) {
    throw tools::Failure(tools::ExitCode::bad_input,
                         fmt::format("{}: is not a regular file, expected a .pkt "
                                     "script: save it to a file",
                                     path));
  }
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream) {
    throw tools::Failure(tools::ExitCode::environment,
                         fmt::format("{}: cannot be read, expected a script: check its name and "
                                     "permissions",
                                     path));
  }
  return parse(path, text.str(), defines);
}

}  // namespace lockstep::conformance::script
