// Prints a coverage report as text and as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <nlohmann/json.hpp>

#include "conformance/requirements/coverage.hpp"
#include "conformance/requirements/live.hpp"
#include "tools/base/output/json.hpp"
#include "tools/base/output/table.hpp"

namespace lockstep::tools {
namespace {

using Places = std::vector<const Citation*>;
using Output = std::back_insert_iterator<std::string>;

bool asked_for(int rfc, const CoveragePrint& print) {
  const std::vector<int>& rfcs = print.rfcs;
  return rfcs.empty() || std::find(rfcs.begin(), rfcs.end(), rfc) != rfcs.end();
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
  print_places(out, "script", row.scripts);
  print_places(out, "scenario", row.scenarios);
  print_places(out, "judge", row.judges);
  if (row.declined != nullptr) {
    fmt::format_to(out, "      declined  {}\n", row.declined->reason);
  }
  if (row.bare()) {
    fmt::format_to(out, "      bare      {}\n", row.lack());
  }
}

/// "core/tcp/output.cpp:12 +3": the first place, and the number of others.
std::string first_of(std::initializer_list<const Places*> lists) {
  std::string text;
  std::size_t more = 0;
  for (const Places* places : lists) {
    for (const Citation* citation : *places) {
      if (text.empty()) {
        text = citation->name.empty() ? fmt::format("{}:{}", citation->file, citation->line)
                                      : citation->name;
      } else {
        ++more;
      }
    }
  }
  return text.empty() ? "-" : more == 0 ? text : fmt::format("{} +{}", text, more);
}

void add_line(TextTable& table, const CoverageRow& row) {
  const Requirement& requirement = *row.requirement;
  const std::string shown = row.declined != nullptr
                                ? row.declined->reason
                                : first_of({&row.tests, &row.scripts, &row.scenarios});
  table.add({requirement.id, requirement.level, requirement.section, row.standing(),
             first_of({&row.code}), fmt::format("{}", row.tests.size()),
             fmt::format("{}", row.scripts.size()), fmt::format("{}", row.scenarios.size()),
             row.bare() ? row.lack() : shown});
}

void print_rows(Output out, const CoverageReport& report, const Catalogue& catalogue,
                const CoverageSummary& summary, const CoveragePrint& print) {
  using Align = TextTable::Align;
  TextTable table({{"id", Align::left},
                   {"level", Align::left},
                   {"section", Align::left},
                   {"is", Align::left},
                   {"code", Align::left},
                   {"tests"},
                   {"scripts"},
                   {"scenarios"},
                   {"shown by, or reason", Align::left}});
  const bool as_table = !print.places && !print.bare_only;
  bool headed = false;
  for (const CoverageRow& row : report.rows) {
    if (row.requirement->rfc != summary.rfc || !is_selected(row, print)) {
      continue;
    }
    if (!headed) {
      fmt::format_to(out, "RFC {} {}\n", summary.rfc, catalogue.titles.at(summary.rfc));
      headed = true;
    }
    if (as_table) {
      add_line(table, row);
    } else {
      print_row(out, row);
    }
  }
  if (headed) {
    fmt::format_to(out, "{}\n", as_table ? table.text(print.columns) : "");
  }
}

void print_summaries(Output out, const CoverageReport& report, const CoveragePrint& print) {
  using Align = TextTable::Align;
  TextTable table({{"RFC"},
                   {"rows"},
                   {"binding"},
                   {"in code"},
                   {"proven"},
                   {"declined"},
                   {"advised"},
                   {"shown or declined"},
                   {"bare"},
                   {"decides", Align::left}});
  for (const CoverageSummary& summary : report.summaries) {
    const bool listed = summary.in_scope || summary.in_code > 0 || summary.proven > 0;
    if (listed && asked_for(summary.rfc, print)) {
      const auto number = [](int value) { return fmt::format("{}", value); };
      table.add({number(summary.rfc), number(summary.rows), number(summary.binding),
                 number(summary.in_code), number(summary.proven), number(summary.declined),
                 number(summary.advised), number(summary.advised_shown), number(summary.bare),
                 summary.whole      ? "yes, and advice"
                 : summary.in_scope ? "yes"
                                    : "no"});
    }
  }
  fmt::format_to(out, "{}", table.text(print.columns));
}

nlohmann::ordered_json places_json(const Places& places) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Citation* citation : places) {
    nlohmann::ordered_json place = {{"file", citation->file}, {"line", citation->line}};
    if (!citation->name.empty()) {
      place["name"] = citation->name;
    }
    list.push_back(std::move(place));
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

/// For each live target, the number of the requirement's tests and how many pass.
nlohmann::ordered_json live_json(const std::string& id, const LiveResults& live) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for (const auto& [target, cells] : live.cells) {
    if (const LiveCell* cell = live.cell(target, id)) {
      object[target] = {{"passed", cell->passed}, {"tests", cell->tests()}};
    }
  }
  return object;
}

nlohmann::ordered_json row_json(const CoverageRow& row, const LiveResults* live) {
  const Requirement& requirement = *row.requirement;
  nlohmann::ordered_json object = {{"id", requirement.id},
                                   {"rfc", requirement.rfc},
                                   {"section", requirement.section},
                                   {"level", requirement.level},
                                   {"summary", requirement.summary},
                                   {"code", places_json(row.code)},
                                   {"tests", places_json(row.tests)},
                                   {"scripts", places_json(row.scripts)},
                                   {"scenarios", places_json(row.scenarios)},
                                   {"judges", places_json(row.judges)},
                                   {"declined", nullptr},
                                   {"required", row.required},
                                   {"standing", row.standing()},
                                   {"bare", row.bare()}};
  if (row.declined != nullptr) {
    object["declined"] = row.declined->reason;
  }
  if (live != nullptr) {
    object["live"] = live_json(requirement.id, *live);
  }
  return object;
}

nlohmann::ordered_json summary_json(const CoverageSummary& summary) {
  return {{"rfc", summary.rfc},         {"rows", summary.rows},
          {"binding", summary.binding}, {"in_code", summary.in_code},
          {"proven", summary.proven},   {"declined", summary.declined},
          {"advised", summary.advised}, {"advised_shown", summary.advised_shown},
          {"bare", summary.bare},       {"in_scope", summary.in_scope},
          {"whole", summary.whole}};
}

}  // namespace

bool is_selected(const CoverageRow& row, const CoveragePrint& print) {
  if (!asked_for(row.requirement->rfc, print)) {
    return false;
  }
  const bool bare = row.in_scope && row.bare();
  return print.bare_only
             ? bare
             : bare || !row.lacks_code() || !row.lacks_proof() || row.declined != nullptr;
}

std::string coverage_text(const CoverageReport& report, const Catalogue& catalogue,
                          const CoveragePrint& print) {
  std::string text;
  const Output out = std::back_inserter(text);
  int bare = 0;
  for (const CoverageSummary& summary : report.summaries) {
    if (asked_for(summary.rfc, print)) {
      print_rows(out, report, catalogue, summary, print);
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

std::string rows_json(const std::vector<const CoverageRow*>& rows, const LiveResults& live) {
  nlohmann::ordered_json requirements = nlohmann::ordered_json::array();
  for (const CoverageRow* row : rows) {
    requirements.push_back(row_json(*row, &live));
  }
  const nlohmann::ordered_json document = {{"requirements", requirements}};
  return json_text(document);
}

std::string coverage_json(const CoverageReport& report, const Catalogue& catalogue,
                          const CoveragePrint& print) {
  nlohmann::ordered_json requirements = nlohmann::ordered_json::array();
  for (const CoverageRow& row : report.rows) {
    if (asked_for(row.requirement->rfc, print) && (!print.bare_only || row.bare())) {
      requirements.push_back(row_json(row, print.live));
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
  return json_text(document);
}

}  // namespace lockstep::tools
