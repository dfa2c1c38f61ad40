// The scripts of this room: each passes, each fails when what it expects is altered.
#include <gtest/gtest.h>

#include <algorithm>

#include "conformance/script/report.hpp"
#include "tools/cli/failure.hpp"

namespace lockstep::conformance::script {
namespace {

const std::string room = "conformance/script";

/// Another expectation of the same form; false where there is none to alter.
bool alter(Event& event) {
  bool const leaves = event.kind == Event::Kind::packet &&
                      event.packet.direction == Direction::out;
  if (leaves && event.packet.is_icmp) {
    event.packet.icmp.code ^= 1;
  } else if (leaves && event.packet.tcp.ack) {
    *event.packet.tcp.ack += 1;
  } else if (leaves && (event.packet.tcp.flags & 0x02) != 0) {
    event.packet.tcp.flags ^= 0x08;  // of a SYN the number is the script's to choose
  } else if (leaves) {
    event.packet.tcp.sequence.begin += 1;
  } else if (event.kind == Event::Kind::call && event.call.result &&
             event.call.name != "socket" && event.call.name != "accept") {
    *event.call.result += 1;  // a new descriptor's number is the script's to choose, too
  } else {
    return false;
  }
  return true;
}

TEST(Corpus, EachScriptPasses) {
  auto const files = find_scripts({room});
  EXPECT_GE(files.size(), 260u);
  Report const report = run_all(files, {});
  EXPECT_EQ(report.exit_code(), 0) << table_text(report, true, 0);
}

TEST(Corpus, EachAlteredExpectationFails) {
  Arena arena;
  std::size_t altered = 0;
  for (std::string const& file : find_scripts({room})) {
    Script const script = parse_file(file, {});
    std::size_t of_this = 0;
    for (std::size_t i = 0; i < script.events.size(); ++i) {
      Script twin = script;
      if (!alter(twin.events[i])) {
        continue;
      }
      ++of_this;
      EXPECT_EQ(run(twin, {}, arena).verdict, Verdict::failed)
          << file << ":" << twin.events[i].place.line;
    }
    EXPECT_GE(of_this, 1u) << file;
    altered += of_this;
  }
  EXPECT_GE(altered, 1000u);
}

TEST(Corpus, ComesOutAlikeInAnyOrderAndWithAnyJobs) {
  auto files = find_scripts({room});
  Batch batch;
  std::string const once = json_text(run_all(files, batch));
  batch.jobs = 3;
  EXPECT_EQ(json_text(run_all(files, batch)), once);
  // One after the other in an arena that others have used, from the last to the first.
  Arena arena;
  Report backwards;
  std::reverse(files.begin(), files.end());
  for (std::string const& file : files) {
    backwards.scripts.push_back(run_file(file, {}, {}, arena));
  }
  std::reverse(backwards.scripts.begin(), backwards.scripts.end());
  EXPECT_EQ(json_text(backwards), once);
}

TEST(Corpus, ReportsSayWhatFailed) {
  Report report;
  Arena arena;
  Script script = parse_file(find_scripts({room}).front(), {});
  report.scripts.push_back(run(script, {}, arena));
  const auto event = std::find_if(script.events.rbegin(), script.events.rend(),
                                  [](const Event& one) {
                                    return one.kind == Event::Kind::packet &&
                                           one.packet.direction == Direction::out;
                                  });
  ASSERT_NE(event, script.events.rend());
  ASSERT_TRUE(alter(*event));
  report.scripts.push_back(run(script, {}, arena));
  report.scripts.push_back(run_file("no/such.pkt", {}, {}, arena));
  EXPECT_EQ(report.exit_code(), 3);
  std::string const tap = tap_text(report);
  EXPECT_EQ(tap.rfind("TAP version 14\n1..3\nok 1 - ", 0), 0u) << tap;
  EXPECT_NE(tap.find("\nnot ok 2 - "), std::string::npos) << tap;
  EXPECT_NE(tap.find("\nnot ok 3 - no/such.pkt\n  ---\n  message: \""), std::string::npos) << tap;
  std::string const junit = junit_text(report);
  EXPECT_NE(junit.find("tests=\"3\" failures=\"1\" errors=\"1\""), std::string::npos) << junit;
  std::string const table = table_text(report, true, 0);
  EXPECT_NE(table.find("1 of 3 scripts pass, 1 fail, 1 cannot be run"), std::string::npos);
  EXPECT_NE(table.find("expected"), std::string::npos) << table;
}

TEST(Corpus, WhatIsNotThereIsRefused) {
  EXPECT_THROW(find_scripts({"no/such"}), tools::Failure);
  EXPECT_THROW(find_scripts({"tools/cli"}), tools::Failure);
}

}  // namespace
}  // namespace lockstep::conformance::script
