// Scripts as a whole: settings, events, their times.
#include "conformance/script/parse.hpp"

#include <fmt/core.h>

namespace lockstep::script {
namespace {

Setting parse_setting(Cursor& cursor) {
  Setting out;
  out.place = cursor.place();
  cursor.take_just("--");
  while (is_word_letter(cursor.peek()) || cursor.peek() == '-') {
    out.name += cursor.next();
  }
  if (out.name.empty()) {
    cursor.fail("the name of a setting behind --");
  }
  if (cursor.take_just("=")) {
    if (cursor.peek() == '"') {
      out.value = cursor.quoted();
    } else {
      while (cursor.peek() > ' ') {
        out.value += cursor.next();
      }
    }
  }
  cursor.skip();
  return out;
}

bool takes_command(Cursor& cursor, Command& out) {
  if (!cursor.take_just("`")) {
    return false;
  }
  out.text = cursor.until("`", "command");
  return true;
}

// A time after the first one, of the same kind: with a sign where that had one.
Duration parse_further(Cursor& cursor, const When& when, bool signed_too) {
  if (signed_too && when.kind == When::Kind::relative && !cursor.take_just("+")) {
    cursor.fail("'+': both ends of a span are relative, or none is");
  }
  Place const place = cursor.place();
  Duration const out = cursor.seconds();
  if (out < when.at) {
    Cursor::fail(place, "this ends before it begins");
  }
  return out;
}

Event parse_event(Cursor& cursor) {
  Event out;
  out.place = cursor.place();
  out.when = parse_when(cursor);
  Command command;
  if (cursor.peek() == '<' || cursor.peek() == '>') {
    out.what = parse_packet(cursor);
  } else if (takes_command(cursor, command)) {
    out.what = command;
  } else if (cursor.take_just("%{")) {
    out.what = Code{cursor.until("}%", "code")};
  } else {
    out.what = parse_call(cursor);
  }
  if (out.when.returns && !std::holds_alternative<Call>(out.what)) {
    Cursor::fail(out.place, "only a call blocks: no ... in the time of anything else");
  }
  if (out.when.latest && !std::holds_alternative<Packet>(out.what)) {
    Cursor::fail(out.place, "only a packet has a span of time: no ~ in the time of anything else");
  }
  return out;
}

}  // namespace

When parse_when(Cursor& cursor) {
  When out;
  if (cursor.take("*")) {
    out.kind = When::Kind::any;
    return out;
  }
  bool const relative = cursor.take_just("+");
  out.kind = relative ? When::Kind::relative : When::Kind::absolute;
  if (!relative && !is_digit(cursor.peek()) && cursor.peek() != '.') {
    cursor.fail("a time (1.5, +0.1, *) before an event");
  }
  out.at = cursor.seconds();
  if (cursor.take_just("~")) {
    out.latest = parse_further(cursor, out, true);
  } else if (cursor.take_just("...")) {
    cursor.take_just("+");
    out.returns = parse_further(cursor, out, false);
  }
  if (cursor.peek() > ' ' && cursor.peek() != '/' && cursor.peek() != '<' &&
      cursor.peek() != '>' && cursor.peek() != '`' && cursor.peek() != '%') {
    cursor.fail("a space behind the time");
  }
  cursor.skip();
  return out;
}

Script parse(std::string_view text) {
  Cursor cursor(text);
  Script out;
  cursor.skip();
  while (cursor.sees("--")) {
    out.settings.push_back(parse_setting(cursor));
  }
  Command first;
  if (takes_command(cursor, first)) {
    out.first = first;
  }
  while (!cursor.at_end()) {
    out.events.push_back(parse_event(cursor));
  }
  return out;
}

}  // namespace lockstep::script
