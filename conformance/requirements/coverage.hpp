// Joins requirements and citations: where each requirement is shown, and which are bare.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "conformance/requirements/catalogue.hpp"
#include "conformance/requirements/citations.hpp"

namespace lockstep::tools {

/// One requirement and every place that cites it. Points into the catalogue and the citations,
/// which must outlive it.
struct CoverageRow {
  const Requirement* requirement = nullptr;
  const Declined* declined = nullptr;  ///< null: not declined
  bool in_scope = false;               ///< its RFC affects the exit code
  bool required = false;               ///< must be shown or declined; see bare()
  std::vector<const Citation*> code;
  std::vector<const Citation*> tests;
  std::vector<const Citation*> scripts;
  std::vector<const Citation*> scenarios;
  std::vector<const Citation*> judges;  ///< no proof by themselves

  bool lacks_code() const { return code.empty(); }
  bool lacks_proof() const { return tests.empty() && scripts.empty() && scenarios.empty(); }
  /// Required, not declined, and without a proof; or binding and without code.
  bool bare() const;
  /// In one word: "shown", "declined", "bare", or "open" if it is not shown and need not be.
  const char* standing() const;
  /// What a bare row lacks.
  const char* lack() const;
};

/// The counts of one RFC.
struct CoverageSummary {
  int rfc = 0;
  int rows = 0;
  int binding = 0;        ///< MUST, MUST NOT or text
  int in_code = 0;        ///< of the binding ones
  int proven = 0;         ///< of the binding ones: in a test, a script or a scenario
  int declined = 0;       ///< of the binding ones
  int advised = 0;        ///< SHOULD, SHOULD NOT or RECOMMENDED
  int advised_shown = 0;  ///< of those: proven or declined
  int bare = 0;
  bool in_scope = false;  ///< its bare rows affect the exit code
  bool whole = false;     ///< its advisory rows are required as well
};

/// The complete report.
struct CoverageReport {
  std::vector<CoverageRow> rows;
  std::vector<CoverageSummary> summaries;
  std::vector<Problem> problems;  ///< of the scan and declined.toml; rows declined yet cited
  std::vector<Problem> notes;     ///< hints; they are no findings

  /// True if there is a problem, or a bare row in an RFC in scope.
  bool has_finding() const;
};

/// The RFCs that affect the exit code.
struct CoverageScope {
  std::vector<int> rfcs;   ///< their binding rows are required
  std::vector<int> whole;  ///< so are their advisory rows, if they are among `rfcs`
};

/// The RFCs that this stack implements, and those of them of which every SHOULD is required.
CoverageScope default_scope();

/// Joins both. Bare rows of the RFCs in `scope` are findings.
CoverageReport make_report(const Catalogue& catalogue, const Citations& citations,
                           const CoverageScope& scope);

struct LiveResults;

/// Print options.
struct CoveragePrint {
  std::vector<int> rfcs;              ///< only these; empty: every RFC in scope or with a citation
  bool bare_only = false;             ///< only bare rows, problems and the summary
  bool places = false;                ///< text: every place of each row, not one line per row
  std::size_t columns = 0;            ///< width of the terminal; 0: none
  const LiveResults* live = nullptr;  ///< results of live targets; null: not printed
};

/// True if the row is to be printed: it is selected, and it is cited, declined or bare.
bool is_selected(const CoverageRow& row, const CoveragePrint& print);

/// The report as text; ends with the summary and the verdict on one line.
std::string coverage_text(const CoverageReport& report, const Catalogue& catalogue,
                          const CoveragePrint& print);

/// The report as one JSON object, described in README.md.
std::string coverage_json(const CoverageReport& report, const Catalogue& catalogue,
                          const CoveragePrint& print);

/// These rows alone, as the list `requirements` of one JSON object.
std::string rows_json(const std::vector<const CoverageRow*>& rows, const LiveResults& live);

/// A column of verdicts beside each row of the requirements page.
struct VerdictColumn {
  struct Cell {
    std::string state;   ///< "good", "allowed", "bad", "unknown": its colour and its filter
    std::string text;    ///< one line
    std::string detail;  ///< HTML, shown when the row is opened; may be empty
  };
  std::string title;
  std::string key;                    ///< lower case, used by the filter
  std::map<std::string, Cell> cells;  ///< by requirement id
};

/// The requirements as a section of a page (tools/base/output/page.hpp): filters, and one row each
/// that opens to show its places.
std::string coverage_section(const CoverageReport& report, const Catalogue& catalogue,
                             const CoveragePrint& print, const std::vector<VerdictColumn>& columns);

/// The report as a single self-contained HTML file.
std::string coverage_html(const CoverageReport& report, const Catalogue& catalogue,
                          const CoveragePrint& print);

}  // namespace lockstep::tools
