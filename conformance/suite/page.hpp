// The suite, the scripts and the requirements as one HTML file.
#pragma once

#include <string>

#include "conformance/requirements/coverage.hpp"
#include "conformance/requirements/live.hpp"
#include "conformance/script/report.hpp"
#include "conformance/suite/suite.hpp"

namespace lockstep::conformance {

/// The input of the page. Script names are relative to the repository, as in citations.
struct PageSource {
  const SuiteReport& suite;
  const script::Report& scripts;
  const tools::Catalogue& catalogue;
  const tools::CoverageReport& coverage;
  const tools::LiveResults& live;
};

/// The page: for each requirement the verdicts of our stack, of the Linux captures and of a live
/// Linux, with the evidence; each scenario and script; for each failure the packets side by side
/// and a sequence diagram.
std::string suite_html(const PageSource& source);

}  // namespace lockstep::conformance
