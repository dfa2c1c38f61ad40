// Joins requirements and citations: which requirement is shown where, and which is bare.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "conformance/requirements/catalogue.hpp"
#include "conformance/requirements/citations.hpp"

namespace lockstep::tools {

/// One requirement and every place that cites it. Pointers are into the catalogue and the
/// citations, which must outlive it.
struct CoverageRow {
  const Requirement* requirement = nullptr;
  const Declined* declined = nullptr;  ///< null: not declined
  bool in_scope = false;               ///< its RFC decides the exit code
  bool owed = false;                   ///< must be shown or declined: the lists below decide bare()
  std::vector<const Citation*> code;
  std::vector<const Citation*> tests;
  std::vector<const Citation*> scripts;
  std::vector<const Citation*> scenarios;
  std::vector<const Citation*> judges;  ///< prove nothing by themselves

  bool lacks_code() const { return code.empty(); }
  bool lacks_proof() const { return tests.empty() && scripts.empty() && scenarios.empty(); }
  /// Owed, not declined, and without a proof; or without code, if it binds.
  bool bare() const;
  /// In one word: "shown", "declined", "bare", or "open" where nothing shows it and nothing need.
  const char* standing() const;
  /// What is missing of a bare row.
  const char* lack() const;
};

/// The rows of one RFC, counted.
struct CoverageSummary {
  int rfc = 0;
  int rows = 0;
  int binding = 0;        ///< at MUST, MUST NOT or text
  int in_code = 0;        ///< of the binding ones
  int proven = 0;         ///< of the binding ones: in a test, a script or a scenario
  int declined = 0;       ///< of the binding ones
  int advised = 0;        ///< at SHOULD, SHOULD NOT or RECOMMENDED
  int advised_shown = 0;  ///< of those: proven or declined
  int bare = 0;
  bool in_scope = false;  ///< its bare rows decide the exit code
  bool whole = false;     ///< what is advised is owed as well
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

/// Which RFCs decide.
struct CoverageScope {
  std::vector<int> rfcs;   ///< what binds in them is owed
  std::vector<int> whole;  ///< and what they advise, if they are among `rfcs`
};

/// The RFCs that this stack is built by, and those of them of which every SHOULD is owed.
CoverageScope default_scope();

/// Joins both. Bare rows of the RFCs in `scope` are findings.
CoverageReport make_report(const Catalogue& catalogue, const Citations& citations,
                           const CoverageScope& scope);

struct LiveResults;

/// What to print.
struct CoveragePrint {
  std::vector<int> rfcs;              ///< only these; empty: every RFC in scope or with a citation
  bool bare_only = false;             ///< only bare rows, problems and the summary
  bool places = false;                ///< as text: every place of each row, not a line a row
  std::size_t columns = 0;            ///< of the terminal; 0: there is none
  const LiveResults* live = nullptr;  ///< what live targets did; null: nothing is told of it
};

/// True if the row is to be printed: it is asked for, and it is cited, declined or bare.
bool is_told(const CoverageRow& row, const CoveragePrint& print);

/// The report as text, ending in the summary and one line with the verdict.
std::string coverage_text(const CoverageReport& report, const Catalogue& catalogue,
                          const CoveragePrint& print);

/// The report as one JSON object, as README.md describes it.
std::string coverage_json(const CoverageReport& report, const Catalogue& catalogue,
                          const CoveragePrint& print);

/// A column of verdicts that the page of requirements shows beside each row.
struct VerdictColumn {
  struct Cell {
    std::string state;   ///< "good", "allowed", "bad", "unknown": its colour and its filter
    std::string text;    ///< one line
    std::string detail;  ///< HTML, shown when the row is opened; may be empty
  };
  std::string title;
  std::string key;                    ///< a name for the filter: small letters
  std::map<std::string, Cell> cells;  ///< by the requirement's id
};

/// The requirements as a part of a page (tools/base/output/page.hpp): filters, and a row each
/// that opens to show its places.
std::string coverage_section(const CoverageReport& report, const Catalogue& catalogue,
                             const CoveragePrint& print, const std::vector<VerdictColumn>& columns);

/// The report as one HTML file without any other file.
std::string coverage_html(const CoverageReport& report, const Catalogue& catalogue,
                          const CoveragePrint& print);

}  // namespace lockstep::tools
