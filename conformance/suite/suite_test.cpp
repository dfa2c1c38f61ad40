// Every scenario of pcaps/ agrees, every twin violates its clause, and the reports show it.
#include "conformance/suite/suite.hpp"

#include <gtest/gtest.h>
#include <test_paths.hpp>

#include <fstream>
#include <nlohmann/json.hpp>

#include "conformance/replay/export.hpp"
#include "conformance/suite/failures.hpp"
#include "conformance/suite/page.hpp"
#include "tools/base/output/json.hpp"
#include "tools/base/process/failure.hpp"

namespace lockstep::conformance {
namespace {

const std::string room = std::string(LOCKSTEP_SOURCE_DIR) + "/pcaps";

TEST(Suite, EveryScenarioAgreesAndEveryTwinViolates) {
  SuiteReport const report = run_suite(find_cases(room, {}));
  EXPECT_GE(report.cases.size(), 40u);
  EXPECT_GE(report.twins(), report.cases.size());
  EXPECT_TRUE(report.passes()) << table_text(report, false, 0);
  for (const SuiteCase& one : report.cases) {
    EXPECT_FALSE(one.result->twins.empty()) << one.name;
  }
}

TEST(Suite, SelectsByName) {
  auto const cases = find_cases(room, {"rfc9293-3.5-three-way-handshake"});
  EXPECT_EQ(cases.size(), 2u);
  EXPECT_THROW(find_cases(room, {"nothing-has-this-name"}), tools::Failure);
  EXPECT_THROW(find_cases(room + "/common", {}), tools::Failure);
}

TEST(Suite, ReplaysTheSameEveryTime) {
  auto const cases = find_cases(room, {"rfc5681"});
  EXPECT_EQ(suite_json(run_suite(cases)), suite_json(run_suite(cases)));
}

TEST(Suite, ReportsAreWellFormed) {
  SuiteReport const report = run_suite(find_cases(room, {"three-way-handshake"}));
  auto const json = tools::parse_json(suite_json(report));
  EXPECT_EQ(json["scenarios"], report.cases.size());
  EXPECT_EQ(json["cases"][0]["name"], report.cases[0].name);
  std::string const xml = suite_junit(report);
  EXPECT_NE(xml.find("<testsuite name=\"conformance\""), std::string::npos);
  EXPECT_NE(xml.find("failures=\"0\""), std::string::npos);
}

// page_test.py opens the page in Chromium; this checks the contents of its parts.
TEST(Page, ShowsEachCaseAndTheWorstVerdict) {
  SuiteReport const suite = run_suite(find_cases(room, {"rfc9293-3.5-linux-server"}));
  script::Report scripts;
  scripts.scripts.resize(2);
  scripts.scripts[0].file = "conformance/script/x.pkt";
  scripts.scripts[1].file = "conformance/script/y.pkt";
  scripts.scripts[1].verdict = script::Verdict::bad;
  scripts.scripts[1].error = "y.pkt:1:1: <what> & why";
  tools::Catalogue catalogue;
  catalogue.rows = {{"9293:P-3WHS", 9293, "3.5", "text", "handshake"},
                    {"9293:MUST-1", 9293, "3.1", "MUST", "by a test"}};
  catalogue.index_of = {{"9293:P-3WHS", 0}, {"9293:MUST-1", 1}};
  catalogue.titles = {{9293, "TCP"}};
  tools::Citations citations;
  citations.found = {{"9293:P-3WHS", tools::Proof::script, "conformance/script/y.pkt", 2, ""},
                     {"9293:MUST-1", tools::Proof::test, "core/x_test.cpp", 2, "X.Y"}};
  auto const coverage = tools::make_report(catalogue, citations, {{9293}, {}});
  tools::LiveResults live;
  live.differences["linux"]["t"] = {"t", "expected <A>", "Linux sends B & C."};
  live.cells["linux"]["9293:P-3WHS"] = {2, {&live.differences["linux"]["t"]}};
  live.cells["linux"]["9293:MUST-1"] = {1, {}};
  std::string const page = suite_html({suite, scripts, catalogue, coverage, live});
  EXPECT_NE(page.find("data-live=\"bad\""), std::string::npos);
  EXPECT_NE(page.find("data-live=\"good\""), std::string::npos);
  EXPECT_NE(page.find(">2 of 3<"), std::string::npos);
  EXPECT_NE(page.find("Linux sends B &amp; C."), std::string::npos);
  tools::LiveResults const none;
  EXPECT_EQ(suite_html({suite, scripts, catalogue, coverage, none}).find("data-live"),
            std::string::npos);
  EXPECT_NE(page.find("data-is=\"bare\" data-lockstep=\"bad\" data-linux=\""), std::string::npos);
  EXPECT_NE(page.find("data-lockstep=\"plain\" data-linux=\"none\""), std::string::npos);
  EXPECT_NE(page.find("data-kind=\"linux\""), std::string::npos);
  EXPECT_NE(page.find("y.pkt:1:1: &lt;what&gt; &amp; why"), std::string::npos);
  EXPECT_NE(page.find("<b>1 of 2</b><span>scripts pass"), std::string::npos);
}

TEST(Page, DrawsTheLastPacketsOfACapture) {
  SuiteReport const suite = run_suite(find_cases(room, {"rfc9293-3.5-three-way-handshake-active"}));
  tools::PcapngWriter writer;
  add_packets(suite.cases[0].result->replayed, writer);
  auto const count = [](const std::string& text, std::string_view word) {
    std::size_t out = 0;
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
      ++out;
    }
    return out;
  };
  std::string const all = capture_svg(writer.bytes(), 100);
  EXPECT_GE(count(all, "<path"), 3u);
  EXPECT_NE(all.find(">S seq "), std::string::npos);
  EXPECT_EQ(count(capture_svg(writer.bytes(), 2), "<path"), 2u);
  EXPECT_EQ(count(all, "arrow marked"), 2u) << "the last one: its line and its head";
  std::vector<std::byte> torn = writer.bytes();
  torn.resize(torn.size() - 7);
  EXPECT_EQ(count(capture_svg(torn, 100), "<path"), count(all, "<path") - 1);
  EXPECT_EQ(capture_svg({}, 5), "");
}

}  // namespace
}  // namespace lockstep::conformance
