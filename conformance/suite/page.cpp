// Joins scenarios, scripts and requirements in one page.
#include "conformance/suite/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "conformance/replay/report.hpp"
#include "conformance/suite/failures.hpp"
#include "tools/base/output/page.hpp"
#include "tools/base/output/xml.hpp"

namespace lockstep::conformance {
namespace {

using tools::VerdictColumn;
using tools::xml_escaped;

/// From best to worst; the worst piece of evidence is the verdict.
enum class Standing : std::uint8_t { good, allowed, unknown, bad };

const char* state_of(Standing standing) {
  switch (standing) {
    case Standing::good:
      return "good";
    case Standing::allowed:
      return "allowed";
    case Standing::unknown:
      return "unknown";
    default:
      return "bad";
  }
}

const char* words_of(Standing standing) {
  switch (standing) {
    case Standing::good:
      return "agrees";
    case Standing::allowed:
      return "differs, allowed";
    case Standing::unknown:
      return "cannot tell";
    default:
      return "violates";
  }
}

Standing standing_of(const Replayed& replayed) {
  switch (replayed.verdict.judgement) {
    case Judgement::agrees:
      return Standing::good;
    case Judgement::differs_allowed:
      return Standing::allowed;
    case Judgement::cannot_tell:
      return Standing::unknown;
    default:
      return Standing::bad;
  }
}

/// A scenario or a script that ran, for the lists.
struct Piece {
  std::string name;
  Standing standing = Standing::good;
  std::string text;  ///< the verdict in words
};

/// The evidence, by requirement.
using Evidence = std::map<std::string, std::vector<Piece>>;

/// The column of verdicts: each cell has the worst verdict and lists all pieces.
VerdictColumn column_of(const std::string& title, const std::string& key,
                        const Evidence& evidence) {
  VerdictColumn out{title, key, {}};
  for (const auto& [id, pieces] : evidence) {
    Standing worst = Standing::good;
    std::string detail;
    for (const Piece& piece : pieces) {
      worst = std::max(worst, piece.standing);
      detail += fmt::format("{} <code>{}</code><br>",
                            tools::badge_html(state_of(piece.standing), piece.text),
                            xml_escaped(piece.name));
    }
    out.cells[id] = {state_of(worst), words_of(worst), detail};
  }
  return out;
}

bool is_linux(const Scenario& scenario) { return scenario.origin.find("recorded: Linux") == 0; }

Evidence evidence_of_ours(const PageSource& source) {
  Evidence out;
  for (const SuiteCase& one : source.suite.cases) {
    const Replayed& replayed = one.result->replayed;
    for (const std::string& id : one.result->scenario.shows) {
      out[id].push_back({one.name, standing_of(replayed), verdict_text(replayed.verdict)});
    }
  }
  std::map<std::string, const script::Ran*> ran;
  for (const script::Ran& one : source.scripts.scripts) {
    ran[one.file] = &one;
  }
  for (const tools::CoverageRow& row : source.coverage.rows) {
    for (const tools::Citation* citation : row.scripts) {
      auto const found = ran.find(citation->file);
      if (found != ran.end()) {
        bool const passed = found->second->verdict == script::Verdict::passed;
        out[row.requirement->id].push_back({citation->file, passed ? Standing::good : Standing::bad,
                                            passed ? "agrees" : "violates"});
      }
    }
  }
  // Requirements without a scenario or a script: the tests show them, and ctest runs those.
  for (const tools::CoverageRow& row : source.coverage.rows) {
    if (!row.tests.empty() && !out.contains(row.requirement->id)) {
      out[row.requirement->id] = {};
    }
  }
  return out;
}

Evidence evidence_of_linux(const SuiteReport& suite) {
  Evidence out;
  for (const SuiteCase& one : suite.cases) {
    if (!is_linux(one.result->scenario)) {
      continue;
    }
    const Verdict& verdict = one.result->replayed.verdict;
    for (const std::string& id : one.result->scenario.shows) {
      out[id].push_back({one.name, standing_of(one.result->replayed), verdict_text(verdict)});
    }
  }
  return out;
}

std::vector<VerdictColumn> columns_of(const PageSource& source) {
  std::vector<VerdictColumn> out{column_of("Lockstep", "lockstep", evidence_of_ours(source)),
                                 column_of("Linux", "linux", evidence_of_linux(source.suite))};
  if (!source.live.cells.empty()) {
    out.push_back(tools::live_column(source.live, "linux", "Linux, live", "live"));
  }
  for (auto& [id, cell] : out[0].cells) {
    if (cell.detail.empty()) {
      cell = {"plain", "tests", ""};
    }
  }
  return out;
}

std::string twin_name(const SuiteCase& one, const TwinResult& twin) {
  return fmt::format("{}, the twin that must violate {} ({})", one.name, twin.twin->clause,
                     twin.twin->text);
}

std::string failures_html(const PageSource& source) {
  std::string out;
  for (const SuiteCase& one : source.suite.cases) {
    if (standing_of(one.result->replayed) > Standing::allowed) {
      out +=
          failure_html(one.name, verdict_text(one.result->replayed.verdict), one.result->replayed);
    }
    for (const TwinResult& twin : one.result->twins) {
      if (!twin.passes()) {
        out +=
            failure_html(twin_name(one, twin), verdict_text(twin.replayed.verdict), twin.replayed);
      }
    }
  }
  for (const script::Ran& ran : source.scripts.scripts) {
    if (ran.verdict != script::Verdict::passed) {
      out += failure_html(ran);
    }
  }
  return "<section id=\"failures\"><h2>Failures</h2>\n" +
         (out.empty() ? "<p class=\"note\">None: every scenario and script passed, and "
                        "every twin was detected.</p>\n"
                      : out) +
         "</section>\n";
}

std::string run_row(const char* kind, const Piece& piece, const std::string& title,
                    const std::string& more) {
  return fmt::format(
      "<details class=\"row\" data-kind=\"{}\" data-verdict=\"{}\"><summary>"
      "<span class=\"id\">{}</span><span class=\"what\">{}</span><span>{}</span></summary>"
      "<div class=\"more\"><dl>{}</dl></div></details>\n",
      kind, state_of(piece.standing), xml_escaped(piece.name), xml_escaped(title),
      tools::badge_html(state_of(piece.standing), words_of(piece.standing)), more);
}

std::string term(const char* name, const std::string& html) {
  return html.empty() ? "" : fmt::format("<dt>{}</dt><dd>{}</dd>\n", name, html);
}

std::string codes(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) {
    out += fmt::format("<code>{}</code> ", xml_escaped(text));
  }
  return out;
}

std::string scenario_row(const SuiteCase& one) {
  const Scenario& scenario = one.result->scenario;
  const Replayed& replayed = one.result->replayed;
  std::string twins;
  for (const TwinResult& twin : one.result->twins) {
    twins += fmt::format("{} {}: <code>{}</code><br>",
                         tools::badge_html(twin.passes() ? "good" : "bad",
                                           twin.passes() ? "detected" : "not detected"),
                         xml_escaped(twin.twin->text), xml_escaped(twin.twin->clause));
  }
  std::string notes;
  for (const std::string& note : replayed.script.notes) {
    notes += xml_escaped(note) + "<br>";
  }
  std::string const more =
      term("verdict", xml_escaped(verdict_text(replayed.verdict))) +
      term("origin", xml_escaped(scenario.origin)) + term("shows", codes(scenario.shows)) +
      term("packets", fmt::format("{} played, {} sent, {} of virtual time", replayed.run.packets_in,
                                  replayed.run.sent.size(), time_text(replayed.run.virtual_time))) +
      term("twins", twins) + term("notes", notes);
  return run_row(is_linux(scenario) ? "linux" : "authored", {one.name, standing_of(replayed), ""},
                 scenario.title, more);
}

std::string script_row(const script::Ran& ran,
                       const std::map<std::string, std::vector<std::string>>& ids_of) {
  bool const passed = ran.verdict == script::Verdict::passed;
  auto const ids = ids_of.find(ran.file);
  std::vector<std::string> const shows =
      ids == ids_of.end() ? std::vector<std::string>{} : ids->second;
  return run_row(
      "script", {ran.file, passed ? Standing::good : Standing::bad, ""}, "",
      term("shows", codes(shows)) +
          term("packets", fmt::format("{} in, {} out, {} of virtual time", ran.packets_in,
                                      ran.packets_out, time_text(Duration{ran.virtual_ns}))));
}

std::string runs_html(const PageSource& source) {
  std::map<std::string, std::vector<std::string>> ids_of;
  for (const tools::CoverageRow& row : source.coverage.rows) {
    for (const tools::Citation* citation : row.scripts) {
      ids_of[citation->file].push_back(row.requirement->id);
    }
  }
  std::string out =
      "<section class=\"list\" id=\"runs\" style=\"--columns: minmax(0, 22rem) 1fr 9rem\">\n"
      "<h2>Scenarios and scripts</h2>\n" +
      tools::filters_html({{"kind",
                            "every kind",
                            {{"authored", "scenarios from the RFCs"},
                             {"linux", "captures of Linux"},
                             {"script", "scripts"}}},
                           {"verdict",
                            "any verdict",
                            {{"good", "agrees"},
                             {"allowed", "differs, allowed"},
                             {"unknown", "cannot tell"},
                             {"bad", "violates"}}}}) +
      "<div class=\"rows\"><div class=\"head\"><span>name</span><span>what it shows</span>"
      "<span>verdict</span></div>\n";
  for (const SuiteCase& one : source.suite.cases) {
    out += scenario_row(one);
  }
  for (const script::Ran& ran : source.scripts.scripts) {
    out += script_row(ran, ids_of);
  }
  return out +
         "<div class=\"none\" hidden>Nothing matches these filters.</div></div>\n</section>\n";
}

tools::Tile share(std::size_t good, std::size_t all, const char* label) {
  return {fmt::format("{} of {}", good, all), label, good == all ? "good" : "bad"};
}

}  // namespace

std::string suite_html(const PageSource& source) {
  const SuiteReport& suite = source.suite;
  std::size_t const scenarios = suite.cases.size();
  std::vector<tools::Tile> const tiles{
      share(scenarios - suite.failed_scenarios(), scenarios, "scenarios agree"),
      share(suite.twins() - suite.failed_twins(), suite.twins(),
            "twins are detected: captures with one fault"),
      share(source.scripts.count(script::Verdict::passed), source.scripts.scripts.size(),
            "scripts pass")};
  std::string const body =
      tools::tiles_html(tiles) + failures_html(source) +
      tools::coverage_section(source.coverage, source.catalogue, {}, columns_of(source)) +
      runs_html(source);
  return tools::page_html(
      "Lockstep: conformance",
      "For each binding sentence of the RFCs: the verdict of the scenarios and scripts that "
      "show it, in virtual time and without tolerance, that of captures of Linux, and "
      "how many of the scapy tests a live Linux passes.",
      body);
}

}  // namespace lockstep::conformance
