// Joins requirements and citations: which requirement is shown where, and which is bare.
#pragma once

#include <string>
#include <vector>

#include "tools/coverage/catalogue.hpp"
#include "tools/coverage/citations.hpp"

namespace lockstep::tools {

/// One requirement and every place that cites it. Pointers are into the catalogue and the
/// citations, which must outlive it.
struct CoverageRow {
  const Requirement* requirement = nullptr;
  const Declined* declined = nullptr;  ///< null: not declined
  std::vector<const Citation*> code;
  std::vector<const Citation*> tests;
  std::vector<const Citation*> scenarios;

  bool lacks_code() const { return code.empty(); }
  bool lacks_proof() const { return tests.empty() && scenarios.empty(); }
  /// Binds, is not declined, and lacks its code or its proof.
  bool bare() const;
};

/// The rows of one RFC, counted.
struct CoverageSummary {
  int rfc = 0;
  int rows = 0;
  int binding = 0;        ///< at MUST, MUST NOT or text
  int in_code = 0;        ///< of the binding ones
  int proven = 0;         ///< of the binding ones: in a test or a scenario
  int declined = 0;       ///< of the binding ones
  int bare = 0;
  bool in_scope = false;  ///< its bare rows decide the exit code
};

/// The whole answer.
struct CoverageReport {
  std::vector<CoverageRow> rows;
  std::vector<CoverageSummary> summaries;
  std::vector<Problem> problems;  ///< of the scan, of declined.toml, and declined yet cited
  std::vector<Problem> notes;     ///< worth a look, no finding

  /// True if there is a problem, or a bare row in an RFC in scope.
  bool has_finding() const;
};

/// Joins both. `scope` are the RFC numbers whose bare rows are findings.
CoverageReport make_report(const Catalogue& catalogue, const Citations& citations,
                           const std::vector<int>& scope);

/// What to print.
struct CoveragePrint {
  std::vector<int> rfcs;   ///< only these; empty: every RFC in scope or with a citation
  bool bare_only = false;  ///< only bare rows, problems and the summary
};

/// The report as text, ending in the summary and one line with the verdict.
std::string coverage_text(const CoverageReport& report, const Catalogue& catalogue,
                          const CoveragePrint& print);

/// The report as one JSON object: requirements, summaries, problems, finding.
std::string coverage_json(const CoverageReport& report, const Catalogue& catalogue,
                          const CoveragePrint& print);

}  // namespace lockstep::tools
