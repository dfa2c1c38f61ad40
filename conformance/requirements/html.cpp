// The requirements as a page: filters, and one row each that opens to show its places.
#include <fmt/format.h>

#include <map>
#include <set>

#include "conformance/requirements/coverage.hpp"
#include "conformance/requirements/live.hpp"
#include "tools/base/output/page.hpp"
#include "tools/base/output/xml.hpp"

namespace lockstep::tools {
namespace {

using Places = std::vector<const Citation*>;

const char* state_of(const CoverageRow& row) {
  return row.bare()                ? "bad"
         : row.declined != nullptr ? "unknown"
         : row.lacks_proof()       ? "plain"
                                   : "good";
}

void add_places(std::string& out, const char* kind, const Places& places) {
  if (places.empty()) {
    return;
  }
  out += fmt::format("<dt>{}</dt><dd>", kind);
  for (const Citation* citation : places) {
    const std::string place = xml_escaped(fmt::format("{}:{}", citation->file, citation->line));
    out += citation->name.empty()
               ? fmt::format("<code>{}</code> ", place)
               : fmt::format("<code title=\"{}\">{}</code> ", place, xml_escaped(citation->name));
  }
  out += "</dd>\n";
}

std::string more_html(const CoverageRow& row, const std::vector<VerdictColumn>& columns) {
  std::string out = fmt::format("<div class=\"more\"><dl><dt>section</dt><dd>RFC {}, {}</dd>\n",
                                row.requirement->rfc, xml_escaped(row.requirement->section));
  add_places(out, "code", row.code);
  add_places(out, "tests", row.tests);
  add_places(out, "scripts", row.scripts);
  add_places(out, "scenarios", row.scenarios);
  add_places(out, "judges", row.judges);
  if (row.declined != nullptr) {
    out += fmt::format("<dt>declined</dt><dd>{}</dd>\n", xml_escaped(row.declined->reason));
  }
  if (row.bare()) {
    out += fmt::format("<dt>bare</dt><dd>{}</dd>\n", row.lack());
  }
  for (const VerdictColumn& column : columns) {
    const auto cell = column.cells.find(row.requirement->id);
    if (cell != column.cells.end() && !cell->second.detail.empty()) {
      out +=
          fmt::format("<dt>{}</dt><dd>{}</dd>\n", xml_escaped(column.title), cell->second.detail);
    }
  }
  return out + "</dl></div>";
}

std::string row_html(const CoverageRow& row, const std::vector<VerdictColumn>& columns) {
  const Requirement& requirement = *row.requirement;
  std::string attributes;
  std::string cells;
  for (const VerdictColumn& column : columns) {
    const auto cell = column.cells.find(requirement.id);
    const bool has_cell = cell != column.cells.end();
    attributes +=
        fmt::format(" data-{}=\"{}\"", column.key, has_cell ? cell->second.state : "none");
    cells +=
        fmt::format("<span><span class=\"label\">{}</span>{}</span>", xml_escaped(column.title),
                    has_cell ? badge_html(cell->second.state, cell->second.text) : "&ndash;");
  }
  return fmt::format(
      "<details class=\"row\" data-rfc=\"{}\" data-level=\"{}\" data-is=\"{}\"{}>"
      "<summary><span class=\"id\">{}</span><span class=\"level\">{}</span>"
      "<span class=\"what\">{}</span>{}<span>{}</span></summary>{}</details>\n",
      requirement.rfc, xml_escaped(requirement.level), row.standing(), attributes,
      xml_escaped(requirement.id), xml_escaped(requirement.level), xml_escaped(requirement.summary),
      cells, badge_html(state_of(row), row.standing()), more_html(row, columns));
}

std::vector<Choice> choices_of(const CoverageReport& report, const Catalogue& catalogue,
                               const CoveragePrint& print,
                               const std::vector<VerdictColumn>& columns) {
  Choice rfcs{"rfc", "every RFC", {}};
  std::set<std::string> levels;
  for (const CoverageRow& row : report.rows) {
    if (!is_selected(row, print)) {
      continue;
    }
    const std::string number = fmt::format("{}", row.requirement->rfc);
    if (rfcs.values.empty() || rfcs.values.back().first != number) {
      rfcs.values.emplace_back(
          number, fmt::format("RFC {} {}", number, catalogue.titles.at(row.requirement->rfc)));
    }
    levels.insert(row.requirement->level);
  }
  Choice level{"level", "every level", {}};
  for (const std::string& name : levels) {
    level.values.emplace_back(name, name);
  }
  std::vector<Choice> out{rfcs,
                          level,
                          {"is",
                           "shown, declined or bare",
                           {{"shown", "shown"},
                            {"declined", "declined"},
                            {"bare", "bare"},
                            {"open", "open: not required"}}}};
  for (const VerdictColumn& column : columns) {
    out.push_back({column.key,
                   fmt::format("{}: any verdict", column.title),
                   {{"good", column.title + ": agrees"},
                    {"allowed", column.title + ": differs, allowed"},
                    {"bad", column.title + ": violates"},
                    {"unknown", column.title + ": cannot tell"},
                    {"plain", column.title + ": by tests alone"},
                    {"none", column.title + ": not judged"}}});
  }
  return out;
}

std::vector<Tile> tiles_of(const CoverageReport& report, const CoveragePrint& print) {
  std::size_t rows = 0;
  std::size_t shown = 0;
  std::size_t declined = 0;
  std::size_t bare = 0;
  for (const CoverageRow& row : report.rows) {
    if (is_selected(row, print)) {
      ++rows;
      bare += row.in_scope && row.bare() ? 1 : 0;
      declined += row.declined != nullptr ? 1 : 0;
      shown += row.declined == nullptr && !row.lacks_proof() ? 1 : 0;
    }
  }
  return {{fmt::format("{}", rows), "requirements", ""},
          {fmt::format("{}", shown), "shown by a test, a script or a scenario", ""},
          {fmt::format("{}", declined), "declined with a reason", ""},
          {fmt::format("{}", bare), "bare: required, but not shown", bare == 0 ? "good" : "bad"},
          {fmt::format("{}", report.problems.size()), "wrong citations",
           report.problems.empty() ? "good" : "bad"}};
}

/// A field for each RFC in scope: how much of it is shown; a click filters its rows.
std::string sums_html(const CoverageReport& report, const Catalogue& catalogue,
                      const CoveragePrint& print) {
  struct Sum {
    std::size_t rows = 0, shown = 0, declined = 0, bare = 0;
  };
  std::map<int, Sum> sums;
  for (const CoverageRow& row : report.rows) {
    const bool counts = row.requirement->binds() || row.requirement->recommends();
    if (row.in_scope && counts && is_selected(row, print)) {
      Sum& sum = sums[row.requirement->rfc];
      ++sum.rows;
      sum.shown += row.declined == nullptr && !row.lacks_proof() ? 1 : 0;
      sum.declined += row.declined != nullptr ? 1 : 0;
      sum.bare += row.bare() ? 1 : 0;
    }
  }
  std::string out = "<div class=\"sums\">";
  for (const auto& [rfc, sum] : sums) {
    const std::string rest = (sum.declined == 0 ? "" : fmt::format(", {} declined", sum.declined)) +
                             (sum.bare == 0 ? "" : fmt::format(", {} bare", sum.bare));
    out += fmt::format(
        "<a href=\"#requirements.rfc={0}\" title=\"{1}\"><b>RFC {0}</b><span>{2} of {3} shown{4}"
        "</span></a>\n",
        rfc, xml_escaped(catalogue.titles.at(rfc)), sum.shown, sum.rows, rest);
  }
  return out + "</div>\n";
}

std::string problems_html(const CoverageReport& report) {
  if (report.problems.empty()) {
    return {};
  }
  std::string out = "<h2>Wrong citations</h2>\n<div class=\"scroll\"><pre>";
  for (const Problem& problem : report.problems) {
    out += xml_escaped(fmt::format("{}:{}: {}\n", problem.file, problem.line, problem.message));
  }
  return out + "</pre></div>\n";
}

}  // namespace

std::string coverage_section(const CoverageReport& report, const Catalogue& catalogue,
                             const CoveragePrint& print,
                             const std::vector<VerdictColumn>& columns) {
  std::string grid = "9.5rem 7.5rem 1fr";
  std::string titles = "<span>id</span><span>level</span><span>requirement</span>";
  for (const VerdictColumn& column : columns) {
    grid += " 8.5rem";
    titles += fmt::format("<span>{}</span>", xml_escaped(column.title));
  }
  std::string out = fmt::format(
      "<section class=\"list\" id=\"requirements\" style=\"--columns: {} 6rem\">\n"
      "<h2>Requirements</h2>\n{}{}{}<div class=\"rows\">"
      "<div class=\"head\">{}<span>is</span></div>\n",
      grid, tiles_html(tiles_of(report, print)), sums_html(report, catalogue, print),
      filters_html(choices_of(report, catalogue, print, columns)), titles);
  for (const CoverageRow& row : report.rows) {
    if (is_selected(row, print)) {
      out += row_html(row, columns);
    }
  }
  return out +
         "<div class=\"none\" hidden>Nothing matches these filters.</div></div>\n</section>\n" +
         problems_html(report);
}

std::string coverage_html(const CoverageReport& report, const Catalogue& catalogue,
                          const CoveragePrint& print) {
  std::vector<VerdictColumn> columns;
  if (print.live != nullptr && !print.live->cells.empty()) {
    columns.push_back(live_column(*print.live, "tap:lockstep", "on a TAP", "tap"));
    columns.push_back(live_column(*print.live, "linux", "Linux " + print.live->kernel, "linux"));
  }
  return page_html("Lockstep: requirements",
                   "Each binding sentence of an RFC, where it is implemented, and what shows it. A "
                   "row opens to show its places.",
                   coverage_section(report, catalogue, print, columns));
}

}  // namespace lockstep::tools
