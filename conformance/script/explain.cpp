// Explains a step of a script, and lists the clauses that it cites.
#include "conformance/script/explain.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "conformance/requirements/catalogue.hpp"
#include "conformance/script/cursor.hpp"
#include "conformance/script/packet.hpp"
#include "conformance/script/run.hpp"
#include "tools/base/process/failure.hpp"

namespace lockstep::conformance::script {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& message) {
  throw tools::Failure(tools::ExitCode::bad_input, message);
}

struct At {
  std::string file;
  int line = 0;
};

At place_of(const std::string& place) {
  std::size_t const colon = place.rfind(':');
  auto const line =
      colon == std::string::npos ? std::nullopt : parse_number(place.substr(colon + 1));
  if (!line || *line < 1 || *line > 1'000'000 || colon == 0) {
    refuse(fmt::format("{}: expected a script and a line number, FILE:LINE", place));
  }
  return {place.substr(0, colon), static_cast<int>(*line)};
}

/// The event on the line, or one that began above and continues there.
std::size_t event_at(const Script& script, int line) {
  for (std::size_t i = 0; i < script.events.size(); ++i) {
    int const begin = script.events[i].place.line;
    bool const code = script.events[i].kind == Event::Kind::code;
    int const more = code ? static_cast<int>(std::count(script.events[i].code.begin(),
                                                        script.events[i].code.end(), '\n'))
                          : 0;
    if (begin <= line && line <= begin + more) {
      return i;
    }
  }
  int const first = script.events.front().place.line;
  refuse(
      fmt::format("{}:{}: there is no step on this line, expected a packet, a call, code "
                  "or a command: the first is on line {}",
                  script.file, line, first));
}

// ---- the step in words ----

std::string seconds(std::uint64_t ns) {
  std::string out = fmt::format("{}.{:09}", ns / 1'000'000'000, ns % 1'000'000'000);
  while (out.ends_with('0')) {
    out.pop_back();
  }
  return (out.ends_with('.') ? out.substr(0, out.size() - 1) : out) + " s";
}

std::string when_text(const When& when) {
  if (when.any) {
    return "at any time";
  }
  std::string const behind = when.relative ? " after the previous event" : " from the start";
  if (when.returns_at) {
    return fmt::format("from {} to {}{}", seconds(when.begin), seconds(*when.returns_at), behind);
  }
  if (when.end != when.begin) {
    return fmt::format("between {} and {}{}", seconds(when.begin), seconds(when.end), behind);
  }
  bool const now = when.relative && when.begin == 0;
  return now ? "at the instant of the previous event" : seconds(when.begin) + behind;
}

std::string flags_in_words(std::uint16_t flags) {
  constexpr std::string_view names[] = {"FIN", "SYN", "RST", "PSH", "ACK",
                                        "URG", "ECE", "CWR", "AE"};
  std::string out;
  for (std::size_t bit = 0; bit < std::size(names); ++bit) {
    if ((flags >> bit & 1) != 0) {
      out += (out.empty() ? "" : ",") + std::string(names[bit]);
    }
  }
  return out.empty() ? "no flag" : out;
}

std::string packet_in_words(const Packet& packet) {
  bool const in = packet.direction == Direction::in;
  std::string const who = in ? "the peer sends" : "our stack must send";
  if (packet.is_icmp) {
    return fmt::format("{} ICMP type {} code {}", in ? "the network sends" : who, packet.icmp.type,
                       packet.icmp.code);
  }
  TcpPacket const& tcp = packet.tcp;
  std::string out = fmt::format("{} a segment with {}, ", who, flags_in_words(tcp.flags));
  out += tcp.sequence.length == 0
             ? fmt::format("without data, at {}", tcp.sequence.begin)
             : fmt::format("with {} octets from {} to {}", tcp.sequence.length, tcp.sequence.begin,
                           tcp.sequence.begin + tcp.sequence.length);
  out += tcp.ack ? fmt::format(", which acknowledges up to {}", *tcp.ack) : "";
  out += tcp.window ? fmt::format(", window {}", *tcp.window) : "";
  out += tcp.urgent ? fmt::format(", urgent pointer {}", *tcp.urgent) : "";
  out += tcp.any_options ? ", with any options" : "";
  out += tcp.options.empty() ? "" : ", with options " + options_text(tcp.options);
  return out + (tcp.bad_checksum ? ", with a wrong checksum" : "");
}

std::string step_text(const Event& event) {
  std::string what;
  switch (event.kind) {
    case Event::Kind::packet:
      what = packet_in_words(event.packet);
      break;
    case Event::Kind::call:
      what = fmt::format("the application calls {}", event.call.name);
      what += event.call.result ? fmt::format(", which must return {}", *event.call.result) : "";
      what += event.when.returns_at ? ", and waits" : "";
      break;
    case Event::Kind::code:
      what = "the assertions on tcp_info are checked";
      break;
    case Event::Kind::command:
      what = event.shell.checks.empty() ? "a sysctl is set" : "the states of sockets are checked";
      break;
    case Event::Kind::left_out:
      what = "nothing happens, as this line is left out";
      break;
  }
  return what + ", " + when_text(event.when);
}

// ---- citations ----

/// RFC and section of a line `#= rfc9293#3.4`.
struct Section {
  std::string rfc, section;
};

void add_clauses(const std::string& text, const Section& section, int line,
                 std::vector<CitedClause>& out) {
  std::vector<std::string> ids;
  std::size_t at = 2;
  while (at < text.size()) {
    at = std::min(text.find_first_not_of(' ', at), text.size());
    std::size_t const end = std::min(text.find(' ', at), text.size());
    std::string word = text.substr(at, end - at);
    bool const more = word.ends_with(',');
    word = more ? word.substr(0, word.size() - 1) : word;
    if (word.find(':') == std::string::npos) {
      break;
    }
    ids.push_back(word);
    at = end;
    if (!more) {
      break;
    }
  }
  at = std::min(text.find_first_not_of(' ', at), text.size());
  for (std::string const& id : ids) {
    out.push_back({id, section.rfc, section.section, "", "", text.substr(at), line});
  }
}

/// The clauses cited in lines [begin, end), counted from 1.
std::vector<CitedClause> clauses_in(const Script& script, int begin, int end) {
  std::vector<CitedClause> out;
  Section section;
  for (int line = begin; line < end; ++line) {
    std::string const& text = script.lines[static_cast<std::size_t>(line) - 1];
    if (text.starts_with("#= rfc")) {
      std::size_t const hash = text.find('#', 2);
      std::size_t const name = 6;
      section = {text.substr(name, hash == std::string::npos ? hash : hash - name),
                 hash == std::string::npos ? "" : text.substr(hash + 1)};
    } else if (text.starts_with("## ")) {
      add_clauses(text, section, line, out);
    }
  }
  return out;
}

/// The first line of the comments directly above a line.
int comments_above(const Script& script, int line) {
  int begin = line;
  while (begin > 1) {
    std::string const& above = script.lines[static_cast<std::size_t>(begin) - 2];
    if (!above.starts_with("#") && !above.starts_with("//")) {
      break;
    }
    --begin;
  }
  return begin;
}

void name_clauses(const std::string& file, std::vector<CitedClause>& clauses) {
  std::optional<tools::Catalogue> catalogue;
  for (fs::path const& start : {fs::absolute(file).parent_path(), fs::current_path()}) {
    try {
      catalogue = catalogue ? catalogue : tools::load_catalogue(tools::find_root(start));
    } catch (const tools::Failure&) {
      // Outside the repository only the ids are available.
    }
  }
  for (CitedClause& one : clauses) {
    const tools::Requirement* const row = catalogue ? catalogue->find(one.id) : nullptr;
    if (row != nullptr) {
      one.level = row->level;
      one.summary = row->summary;
    }
  }
}

/// The state after `events` events; empty if one of them fails.
std::string state_behind(Script script, std::size_t events, Overrides overrides) {
  if (events == 0) {
    return "no event has happened";
  }
  script.events.resize(events);
  overrides.allow_trailing = true;
  overrides.cut = true;
  overrides.referee = false;
  Arena arena;
  Ran const ran = run(script, overrides, arena);
  return ran.verdict == Verdict::passed ? ran.state : "";
}

}  // namespace

Explained explain(const std::string& place, const Defines& defines, const Overrides& overrides) {
  At const at = place_of(place);
  Script const script = parse_file(at.file, defines);
  std::size_t const index = event_at(script, at.line);
  Event const& event = script.events[index];
  Explained out;
  out.file = at.file;
  out.line = event.place.line;
  out.text = script.lines[static_cast<std::size_t>(event.place.line) - 1];
  out.step = step_text(event);
  out.before = state_behind(script, index, overrides);
  out.after = state_behind(script, index + 1, overrides);
  int const head = script.events.front().place.line;
  out.script = clauses_in(script, 1, head);
  int const above = comments_above(script, event.place.line);
  out.here = index == 0 ? std::vector<CitedClause>{} : clauses_in(script, above, event.place.line);
  name_clauses(at.file, out.here);
  name_clauses(at.file, out.script);
  return out;
}

std::string explained_text(const Explained& what) {
  std::string out =
      fmt::format("{}:{}: {}\n  step    {}\n", what.file, what.line, what.text, what.step);
  const auto state = [](const std::string& known, const std::string& else_) {
    return known.empty() ? else_ : known;
  };
  out += fmt::format("  before  {}\n", state(what.before, "the script fails earlier"));
  out += fmt::format("  after   {}\n", state(what.after, "the script fails here"));
  const auto add = [&out](const std::string& title, const std::vector<CitedClause>& clauses) {
    out += clauses.empty() ? "" : "  " + title + "\n";
    for (CitedClause const& one : clauses) {
      out += fmt::format("    {} (RFC {}, {}{}): {}\n", one.id, one.rfc, one.section,
                         one.level.empty() ? "" : ", " + one.level,
                         one.summary.empty() ? "not in the catalogue" : one.summary);
      out += one.words.empty() ? "" : fmt::format("      here: {}\n", one.words);
    }
  };
  add("cited at this step", what.here);
  add("cited for the script", what.script);
  return what.here.empty() && what.script.empty() ? out + "  no citations\n" : out;
}

std::string explained_json(const Explained& what) {
  nlohmann::ordered_json out;
  out["file"] = what.file;
  out["line"] = what.line;
  out["text"] = what.text;
  out["step"] = what.step;
  out["before"] = what.before;
  out["after"] = what.after;
  const auto all = [](const std::vector<CitedClause>& clauses) {
    auto list = nlohmann::ordered_json::array();
    for (CitedClause const& one : clauses) {
      list.push_back({{"id", one.id},
                      {"rfc", one.rfc},
                      {"section", one.section},
                      {"level", one.level},
                      {"summary", one.summary},
                      {"words", one.words},
                      {"line", one.line}});
    }
    return list;
  };
  out["cited_here"] = all(what.here);
  out["cited_for_the_script"] = all(what.script);
  return out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace lockstep::conformance::script
