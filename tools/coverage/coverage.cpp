// Joins requirements and citations: which requirement is shown where, and which is bare.
#include "tools/coverage/coverage.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace lockstep::tools {
namespace {

void count(CoverageSummary& summary, const CoverageRow& row) {
  ++summary.rows;
  if (!row.requirement->binds()) {
    return;
  }
  ++summary.binding;
  summary.in_code += row.lacks_code() ? 0 : 1;
  summary.proven += row.lacks_proof() ? 0 : 1;
  summary.declined += row.declined != nullptr ? 1 : 0;
  summary.bare += row.bare() ? 1 : 0;
}

void place(CoverageRow& row, const Citation& citation) {
  switch (citation.proof) {
    case Proof::code:
      row.code.push_back(&citation);
      break;
    case Proof::test:
      row.tests.push_back(&citation);
      break;
    case Proof::scenario:
      row.scenarios.push_back(&citation);
      break;
  }
}

}  // namespace

bool CoverageRow::bare() const {
  return requirement->binds() && declined == nullptr && (lacks_code() || lacks_proof());
}

bool CoverageReport::has_finding() const {
  return !problems.empty() ||
         std::any_of(summaries.begin(), summaries.end(), [](const CoverageSummary& summary) {
           return summary.in_scope && summary.bare > 0;
         });
}

CoverageReport make_report(const Catalogue& catalogue, const Citations& citations,
                           const std::vector<int>& scope) {
  CoverageReport report;
  report.problems = catalogue.problems;
  report.problems.insert(report.problems.end(), citations.problems.begin(),
                         citations.problems.end());
  report.notes = citations.notes;
  for (const Requirement& requirement : catalogue.rows) {
    CoverageRow row;
    row.requirement = &requirement;
    const auto declined = catalogue.declined.find(requirement.id);
    row.declined = declined == catalogue.declined.end() ? nullptr : &declined->second;
    report.rows.push_back(std::move(row));
  }
  for (const Citation& citation : citations.found) {
    place(report.rows[catalogue.index_of.at(citation.id)], citation);
  }
  for (const CoverageRow& row : report.rows) {
    const int rfc = row.requirement->rfc;
    if (report.summaries.empty() || report.summaries.back().rfc != rfc) {
      report.summaries.push_back({.rfc = rfc});
      report.summaries.back().in_scope = std::find(scope.begin(), scope.end(), rfc) != scope.end();
    }
    count(report.summaries.back(), row);
    if (row.declined != nullptr && !row.lacks_code()) {
      report.problems.push_back(
          {row.declined->file, row.declined->line,
           fmt::format("{} is declined, but {}:{} cites it in code; drop one of the two",
                       row.requirement->id, row.code.front()->file, row.code.front()->line)});
    }
  }
  return report;
}

}  // namespace lockstep::tools
