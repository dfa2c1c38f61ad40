// Every scenario of pcaps/ agrees, every twin violates its clause, and the reports say so.
#include "conformance/suite/suite.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tools/cli/failure.hpp"

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

TEST(Suite, PicksByName) {
  auto const cases = find_cases(room, {"rfc9293-3.5-three-way-handshake"});
  EXPECT_EQ(cases.size(), 2u);
  EXPECT_THROW(find_cases(room, {"nothing-has-this-name"}), tools::Failure);
  EXPECT_THROW(find_cases(room + "/common", {}), tools::Failure);
}

TEST(Suite, ReplaysAlikeEveryTime) {
  auto const cases = find_cases(room, {"rfc5681"});
  EXPECT_EQ(suite_json(run_suite(cases)), suite_json(run_suite(cases)));
}

TEST(Suite, ReportsAreWellFormed) {
  SuiteReport const report = run_suite(find_cases(room, {"three-way-handshake"}));
  auto const json = nlohmann::json::parse(suite_json(report));
  EXPECT_EQ(json["scenarios"], report.cases.size());
  EXPECT_EQ(json["cases"][0]["name"], report.cases[0].name);
  std::string const xml = suite_junit(report);
  EXPECT_NE(xml.find("<testsuite name=\"conformance\""), std::string::npos);
  EXPECT_NE(xml.find("failures=\"0\""), std::string::npos);
}

}  // namespace
}  // namespace lockstep::conformance
