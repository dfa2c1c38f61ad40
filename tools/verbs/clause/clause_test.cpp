// What a clause says, where it is implemented, and what shows it.
#include "tools/verbs/clause/clause.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <test_paths.hpp>

#include "tools/base/process/failure.hpp"

namespace lockstep::tools {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class Clause : public testing::Test {
 protected:
  std::vector<std::string> ids(const std::vector<std::string>& words) {
    std::vector<std::string> out;
    for (const CoverageRow* const row : clauses_named(words, report_)) {
      out.push_back(row->requirement->id);
    }
    return out;
  }
  std::string refusal(const std::string& word) {
    try {
      ids({word});
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), ExitCode::bad_input);
      return failure.what();
    }
    return "";
  }
  std::string text(const std::string& word, const LiveResults& live = {}) {
    return clauses_text(clauses_named({word}, report_), live);
  }

  static Requirement row(std::string id, int rfc, std::string section, std::string level) {
    return {id, rfc, std::move(section), std::move(level), "The sentence of " + id};
  }

  Clause() {
    catalogue_.rows = {row("9293:MUST-40", 9293, "3.7.1", "MUST NOT"),
                       row("9293:TWICE", 9293, "3", "text"), row("7323:TWICE", 7323, "2", "MAY"),
                       row("7323:TS-1", 7323, "2.1", "MUST")};
    for (std::size_t i = 0; i < catalogue_.rows.size(); ++i) {
      catalogue_.index_of[catalogue_.rows[i].id] = i;
    }
    catalogue_.titles = {{9293, "TCP"}, {7323, "High Performance"}};
    catalogue_.declined["7323:TWICE"] = {"Nobody needs it.", "declined.toml", 3};
    citations_.found = {{"9293:MUST-40", Proof::code, "core/a.cpp", 12, ""},
                        {"9293:MUST-40", Proof::code, "core/b.cpp", 7, ""},
                        {"9293:MUST-40", Proof::test, "core/a_test.cpp", 99, "A.Test"}};
    report_ = make_report(catalogue_, citations_, {{9293}, {}});
  }

  Catalogue catalogue_;
  Citations citations_;
  CoverageReport report_;
};

TEST_F(Clause, IsNamedByItsIdInAnyCaseOrByTheRest) {
  EXPECT_THAT(ids({"9293:MUST-40"}), ElementsAre("9293:MUST-40"));
  EXPECT_THAT(ids({"must-40", "7323:ts-1"}), ElementsAre("9293:MUST-40", "7323:TS-1"));
  EXPECT_THAT(ids({"7323"}), ElementsAre("7323:TWICE", "7323:TS-1"));
  EXPECT_THAT(ids({"7323:TWICE"}), ElementsAre("7323:TWICE"));
}

TEST_F(Clause, WhatIsNoneIsRefusedWithTheNearest) {
  EXPECT_EQ(refusal("TWICE"), "several RFCs have a clause 'TWICE': choose 9293:TWICE, 7323:TWICE");
  EXPECT_THAT(refusal("9293:MUST-400"), HasSubstr("(did you mean '9293:MUST-40'?)"));
  EXPECT_THAT(refusal("TS-2"), HasSubstr("(did you mean 'TS-1'?)"));
  EXPECT_THAT(refusal("1"), HasSubstr("there is no clause '1': name one"));
  EXPECT_THAT(refusal(""), HasSubstr("there is no clause ''"));
}

TEST_F(Clause, SaysWhereItIsMetAndShown) {
  EXPECT_EQ(text("9293:MUST-40"),
            "9293:MUST-40 (MUST NOT, RFC 9293 section 3.7.1)\n"
            "  The sentence of 9293:MUST-40\n"
            "  code      core/a.cpp:12\n"
            "            core/b.cpp:7\n"
            "  tests     core/a_test.cpp:99  A.Test\n");
  EXPECT_THAT(text("7323:TWICE"), HasSubstr("\n  declined  Nobody needs it.\n"));
  LiveResults live;
  live.cells["linux"]["7323:TS-1"].passed = 4;
  LiveDifference const difference;
  live.cells["lwip"]["7323:TS-1"].differing.push_back(&difference);
  EXPECT_THAT(text("7323:TS-1", live), HasSubstr("\n  passes    linux 4 of 4, lwip 0 of 1\n"));
  EXPECT_THAT(text("9293:MUST-40", live), Not(HasSubstr("passes")));
}

TEST(ClauseRoot, IsGivenOrFound) {
  EXPECT_EQ(clause_root("/some/where"), "/some/where");
  EXPECT_TRUE(std::filesystem::exists(clause_root("") / "conformance/requirements/rfc9293.toml"));
}

}  // namespace
}  // namespace lockstep::tools
