// Prints a coverage report, as text and as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "tools/coverage/coverage.hpp"

namespace lockstep::tools {
namespace {

using Places = std::vector<const Citation*>;
using Output = std::back_insert_iterator<std::string>;

bool asked_for(int rfc, const CoveragePrint& print) {
  const std::vector<int>& rfcs = print.rfcs;
  return rfcs.empty() || std::find(rfcs.begin(), rfcs.end(), rfc) != rfcs.end();
}

/// True if the row has something to tell: it is cited, declined, or bare in an RFC in scope.
bool tells(const CoverageRow& row, bool in_scope) {
  return !row.lacks_code() || !row.lacks_proof() || row.declined != nullptr ||
         (in_scope && row.bare());
}

const char* lack(const CoverageRow& row) {
  if (!row.lacks_proof()) {
    return "not in code";
  }
  return row.lacks_code() ? "neither in code nor in a test" : "not in a test or scenario";
}

void print_places(Output out, const char* kind, const Places& places) {
  if (places.empty()) {
    return;
  }
  std::string list;
  for (const Citation* citation : places) {
    list += fmt::format("{}{}:{}", list.empty() ? "" : " ", citation->file, citation->line);
  }
  fmt::format_to(out, "      {:<9} {}\n", kind, list);
}

void print_row(Output out, const CoverageRow& row) {
  const Requirement& requirement = *row.requirement;
  fmt::format_to(out, "  {}{} ({}, section {}): {}\n", row.bare() ? "BARE " : "", requirement.id,
                 requirement.level, requirement.section, requirement.summary);
  print_places(out, "code", row.code);
  print_places(out, "test", row.tests);
  print_places(out, "scenario", row.scenarios);
  if (row.declined != nullptr) {
    fmt::format_to(out, "      declined  {}\n", row.declined->reason);
  }
  if (row.bare()) {
    fmt::format_to(out, "      bare      {}\n", lack(row));
  }
}

void print_rows(Output out, const CoverageReport& report, const Catalogue& catalogue,
                const CoverageSummary& summary, bool bare_only) {
  bool headed = false;
  for (const CoverageRow& row : report.rows) {
    const bool shown = bare_only ? summary.in_scope && row.bare() : tells(row, summary.in_scope);
    if (row.requirement->rfc != summary.rfc || !shown) {
      continue;
    }
    if (!headed) {
      fmt::format_to(out, "RFC {} {}\n", summary.rfc, catalogue.titles.at(summary.rfc));
      headed = true;
    }
    print_row(out, row);
  }
  if (headed) {
    fmt::format_to(out, "\n");
  }
}

void print_summaries(Output out, const CoverageReport& report, const CoveragePrint& print) {
  fmt::format_to(out, "{:>5} {:>6} {:>8} {:>8} {:>8} {:>9} {:>6}  {}\n", "RFC", "rows", "binding",
                 "in code", "proven", "declined", "bare", "decides");
  for (const CoverageSummary& summary : report.summaries) {
    const bool told = summary.in_scope || summary.in_code > 0 || summary.proven > 0;
    if (told && asked_for(summary.rfc, print)) {
      fmt::format_to(out, "{:>5} {:>6} {:>8} {:>8} {:>8} {:>9} {:>6}  {}\n", summary.rfc,
                     summary.rows, summary.binding, summary.in_code, summary.proven,
                     summary.declined, summary.bare, summary.in_scope ? "yes" : "no");
    }
  }
}

nlohmann::ordered_json places_json(const Places& places) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Citation* citation : places) {
    list.push_back({{"file", citation->file}, {"line", citation->line}});
  }
  return list;
}

nlohmann::ordered_json problems_json(const std::vector<Problem>& problems) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Problem& problem : problems) {
    list.push_back({{"file", problem.file}, {"line", problem.line}, {"message", problem.message}});
  }
  return list;
}

nlohmann::ordered_json row_json(const CoverageRow& row) {
  const Requirement& requirement = *row.requirement;
  nlohmann::ordered_json object = {{"id", requirement.id},
                                   {"rfc", requirement.rfc},
                                   {"section", requirement.section},
                                   {"level", requirement.level},
                                   {"summary", requirement.summary},
                                   {"code", places_json(row.code)},
                                   {"tests", places_json(row.tests)},
                                   {"scenarios", places_json(row.scenarios)},
                                   {"declined", nullptr},
                                   {"bare", row.bare()}};
  if (row.declined != nullptr) {
    object["declined"] = row.declined->reason;
  }
  return object;
}

nlohmann::ordered_json summary_json(const CoverageSummary& summary) {
  return {{"rfc", summary.rfc},           {"rows", summary.rows},
          {"binding", summary.binding},   {"in_code", summary.in_code},
          {"proven", summary.proven},     {"declined", summary.declined},
          {"bare", summary.bare},         {"in_scope", summary.in_scope}};
}

}  // namespace

std::string coverage_text(const CoverageReport& report, const Catalogue& catalogue,
                          const CoveragePrint& print) {
  std::string text;
  const Output out = std::back_inserter(text);
  int bare = 0;
  for (const CoverageSummary& summary : report.summaries) {
    if (asked_for(summary.rfc, print)) {
      print_rows(out, report, catalogue, summary, print.bare_only);
    }
    bare += summary.in_scope ? summary.bare : 0;
  }
  print_summaries(out, report, print);
  for (const Problem& note : report.notes) {
    fmt::format_to(out, "{}:{}: note: {}\n", note.file, note.line, note.message);
  }
  for (const Problem& problem : report.problems) {
    fmt::format_to(out, "{}:{}: {}\n", problem.file, problem.line, problem.message);
  }
  fmt::format_to(out, "{}: {} bare requirements, {} problems\n",
                 report.has_finding() ? "finding" : "fine", bare, report.problems.size());
  return text;
}

std::string coverage_json(const CoverageReport& report, const Catalogue& catalogue,
                          const CoveragePrint& print) {
  nlohmann::ordered_json requirements = nlohmann::ordered_json::array();
  for (const CoverageRow& row : report.rows) {
    if (asked_for(row.requirement->rfc, print) && (!print.bare_only || row.bare())) {
      requirements.push_back(row_json(row));
    }
  }
  nlohmann::ordered_json summaries = nlohmann::ordered_json::array();
  for (const CoverageSummary& summary : report.summaries) {
    if (asked_for(summary.rfc, print)) {
      summaries.push_back(summary_json(summary));
      summaries.back()["title"] = catalogue.titles.at(summary.rfc);
    }
  }
  const nlohmann::ordered_json document = {{"finding", report.has_finding()},
                                           {"summaries", summaries},
                                           {"problems", problems_json(report.problems)},
                                           {"notes", problems_json(report.notes)},
                                           {"requirements", requirements}};
  return document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace lockstep::tools
