// Joins requirements and citations: where each requirement is shown, and which are bare.
#include "conformance/requirements/coverage.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace lockstep::tools {
namespace {

bool holds(const std::vector<int>& list, int number) {
  return std::find(list.begin(), list.end(), number) != list.end();
}

void count(CoverageSummary& summary, const CoverageRow& row) {
  ++summary.rows;
  summary.bare += row.bare() ? 1 : 0;
  const bool declined = row.declined != nullptr;
  if (row.requirement->recommends()) {
    ++summary.advised;
    summary.advised_shown += declined || !row.lacks_proof() ? 1 : 0;
  }
  if (!row.requirement->binds()) {
    return;
  }
  ++summary.binding;
  summary.in_code += row.lacks_code() ? 0 : 1;
  summary.proven += row.lacks_proof() ? 0 : 1;
  summary.declined += declined ? 1 : 0;
}

void place(CoverageRow& row, const Citation& citation) {
  switch (citation.proof) {
    case Proof::code:
      row.code.push_back(&citation);
      break;
    case Proof::test:
      row.tests.push_back(&citation);
      break;
    case Proof::script:
      row.scripts.push_back(&citation);
      break;
    case Proof::scenario:
      row.scenarios.push_back(&citation);
      break;
    case Proof::judge:
      row.judges.push_back(&citation);
      break;
  }
}

CoverageRow make_row(const Requirement& requirement, const Catalogue& catalogue,
                     const CoverageScope& scope) {
  CoverageRow row;
  row.requirement = &requirement;
  const auto declined = catalogue.declined.find(requirement.id);
  row.declined = declined == catalogue.declined.end() ? nullptr : &declined->second;
  row.in_scope = holds(scope.rfcs, requirement.rfc);
  row.required = requirement.binds() ||
                 (requirement.recommends() && row.in_scope && holds(scope.whole, requirement.rfc));
  return row;
}

}  // namespace

bool CoverageRow::bare() const {
  return required && declined == nullptr &&
         (lacks_proof() || (requirement->binds() && lacks_code()));
}

const char* CoverageRow::standing() const {
  return bare() ? "bare" : declined != nullptr ? "declined" : lacks_proof() ? "open" : "shown";
}

const char* CoverageRow::lack() const {
  if (!lacks_proof()) {
    return "not in code";
  }
  return lacks_code() ? "neither in code nor in a test" : "not in a test, script or scenario";
}

bool CoverageReport::has_finding() const {
  return !problems.empty() ||
         std::any_of(summaries.begin(), summaries.end(), [](const CoverageSummary& summary) {
           return summary.in_scope && summary.bare > 0;
         });
}

CoverageScope default_scope() {
  return {{791,  1191, 1337, 2018, 2883, 3042, 3168, 4443, 4821, 4861, 4862, 4987, 5482,
           5681, 5682, 5722, 5927, 5961, 6191, 6298, 6528, 6582, 6675, 6937, 6946, 6980,
           7323, 7413, 8200, 8201, 8257, 8985, 9110, 9112, 9293, 9406, 9438, 9937},
          {2018, 5681, 5961, 6298, 7323, 9293}};
}

CoverageReport make_report(const Catalogue& catalogue, const Citations& citations,
                           const CoverageScope& scope) {
  CoverageReport report;
  report.problems = catalogue.problems;
  report.problems.insert(report.problems.end(), citations.problems.begin(),
                         citations.problems.end());
  report.notes = citations.notes;
  for (const Requirement& requirement : catalogue.rows) {
    report.rows.push_back(make_row(requirement, catalogue, scope));
  }
  for (const Citation& citation : citations.found) {
    place(report.rows[catalogue.index_of.at(citation.id)], citation);
  }
  for (const CoverageRow& row : report.rows) {
    const int rfc = row.requirement->rfc;
    if (report.summaries.empty() || report.summaries.back().rfc != rfc) {
      report.summaries.push_back({.rfc = rfc});
      report.summaries.back().in_scope = row.in_scope;
      report.summaries.back().whole = row.in_scope && holds(scope.whole, rfc);
    }
    count(report.summaries.back(), row);
    if (row.declined != nullptr && !row.lacks_code()) {
      report.problems.push_back(
          {row.declined->file, row.declined->line,
           fmt::format("{} is declined, but {}:{} cites it in code; remove one of the two",
                       row.requirement->id, row.code.front()->file, row.code.front()->line)});
    }
  }
  return report;
}

}  // namespace lockstep::tools
