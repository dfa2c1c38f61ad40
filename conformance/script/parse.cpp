// Parses a script: its settings, then its events with their times.
#include <fmt/core.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "conformance/script/parts.hpp"
#include "conformance/script/preprocess.hpp"
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

/// What the parser of events needs and adds to.
struct Reading {
  Script& script;
  const Defines& defines;
  Strictness strictness;
};

void parse_event(Cursor& cursor, Reading& reading, Event& event) {
  IpMode const mode = reading.script.head.mode;
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
    event.shell = parse_command(cursor, reading.defines, reading.strictness, reading.script.notes);
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
}

/// Moves on to the next line that begins with a time, a command or code, and so is an event.
void skip_event(Cursor& cursor) {
  do {
    cursor.line();
    cursor.skip();
    char const c = cursor.peek();
    bool const timed = begins_time(cursor) && !cursor.rest().starts_with("...");
    if (timed || c == '`' || cursor.rest().starts_with("%{")) {
      return;
    }
  } while (!cursor.at_end());
}

/// What would be refused keeps only its time, and a note.
void parse_leniently(Cursor& cursor, Reading& reading, Event& event) {
  Cursor const begin = cursor;
  try {
    parse_event(cursor, reading, event);
  } catch (const tools::Failure& failure) {
    Cursor text = begin;
    text.skip();
    reading.script.notes.push_back({event.place, text.line(), failure.what(), true});
    cursor = begin;
    cursor.skip();
    skip_event(cursor);
    When const when = event.when;
    Place const place = event.place;
    event = Event{};
    event.kind = Event::Kind::left_out;
    event.place = place;
    event.when = when;
    event.when.returns_at.reset();
  }
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

Script parse(const std::string& file, const std::string& text, const Defines& defines,
             Strictness strictness) {
  Script script;
  script.file = file;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    script.lines.push_back(line);
  }
  Defines known = defines;
  std::string const clean = preprocess(file, text, known);
  Cursor cursor(file, clean, known);
  parse_head(cursor, script.head, known, script.notes);
  cursor.set_mode(script.head.mode);
  Reading reading{script, known, strictness};
  bool shell = false;
  while (!cursor.at_end()) {
    Event event;
    if (strictness == Strictness::lenient) {
      parse_leniently(cursor, reading, event);
    } else {
      parse_event(cursor, reading, event);
    }
    shell = shell || event.kind == Event::Kind::command;
    script.events.push_back(std::move(event));
  }
  Head const& head = script.head;
  script.upstream = shell && head.profile.empty() && head.config.empty() && !head.allow_trailing;
  if (script.upstream && !script.head.tolerance_given) {
    constexpr std::uint64_t packetdrills = 4'000'000;
    script.head.tolerance_ns = packetdrills;
  }
  check_order(cursor, script.events);
  if (script.events.empty()) {
    cursor.fail(cursor.place(),
                "this script has no event, expected one such as "
                "'+0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3': write one");
  }
  return script;
}

Script parse_file(const std::string& path, const Defines& defines, Strictness strictness) {
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
  return parse(path, text.str(), defines, strictness);
}

}  // namespace lockstep::conformance::script
