// Compares the table of defaults in core/stack/README.md with Config, field by field; also tests
// the verb.
#include "tools/verbs/profiles/profiles.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <test_paths.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tools/base/output/json.hpp"
#include "tools/base/text/units.hpp"
#include "tools/verbs/verbs.hpp"

namespace lockstep::tools {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" `");
  const auto last = text.find_last_not_of(" `");
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

/// The cells of the lines `| a | b |` whose first cell is a `name`.
std::vector<std::vector<std::string>> documented() {
  std::ifstream file(LOCKSTEP_SOURCE_DIR "/core/stack/README.md");
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("| `")) {
      continue;
    }
    std::vector<std::string> cells;
    std::istringstream in(line.substr(1));
    for (std::string cell; std::getline(in, cell, '|');) {
      cells.push_back(trimmed(cell));
    }
    rows.push_back(cells);
  }
  return rows;
}

TEST(Profiles, AreDocumentedFieldByFieldWithAReason) {
  const std::vector<std::vector<std::string>> table = documented();
  for (const ProfileRow& row : profile_rows()) {
    const auto found =
        std::ranges::find_if(table, [&](const auto& cells) { return cells.front() == row.field; });
    ASSERT_NE(found, table.end()) << row.field << " has no row in core/stack/README.md";
    ASSERT_EQ(found->size(), 6u) << row.field;
    for (std::size_t i = 0; i < profile_names.size(); ++i) {
      EXPECT_EQ((*found)[i + 1], row.values[i]) << row.field << " of " << profile_names[i];
    }
    EXPECT_GT(found->back().size(), 8u) << row.field << " has no reason";
  }
  EXPECT_EQ(table.size(), profile_rows().size()) << "a documented field is gone";
}

TEST(Profiles, DifferingShowsOnlyDifferences) {
  const std::vector<ProfileRow> rows = profile_rows();
  EXPECT_THAT(profiles_text(rows, false, 0), HasSubstr("listeners_max"));
  EXPECT_THAT(profiles_text(rows, true, 0), Not(HasSubstr("listeners_max")));
  EXPECT_THAT(profiles_text(rows, true, 0), HasSubstr("window_shift "));
}

TEST(Profiles, TheVerbPrintsJson) {
  const auto json = parse_json(profiles_json(profile_rows(), false));
  EXPECT_EQ(json["fields"]["sack"]["default"], "on");
  EXPECT_EQ(json["fields"]["sack"]["rfc"], "off");
  EXPECT_EQ(json["fields"]["option_order"]["freebsd"], "freebsd");
  EXPECT_EQ(json["fields"]["user_timeout"]["linux"], "924s");

  CLI::App app;
  int exit_code = 7;
  register_profiles(app, exit_code);
  testing::internal::CaptureStdout();
  app.parse("profiles --differing --json");
  const auto said = parse_json(testing::internal::GetCapturedStdout());
  EXPECT_EQ(exit_code, 0);
  EXPECT_FALSE(said["fields"].contains("listeners_max"));
}

TEST(Profiles, TwoSideBySideWithTheSourceOfEachValue) {
  constexpr std::size_t linux_place = 2, freebsd_place = 3;
  const std::vector<ProfileRow> rows = profile_rows();
  for (const ProfileRow& row : rows) {
    EXPECT_GT(reason_of(row.field).size(), 8U) << row.field;
  }
  EXPECT_EQ(reason_of("no_such_field"), "");
  const std::string text = profiles_diff_text(rows, linux_place, freebsd_place);
  EXPECT_THAT(text, HasSubstr("quick_acks"));
  EXPECT_THAT(text, HasSubstr("(tcp(7), TCP_QUICKACK)"));
  EXPECT_THAT(text, Not(HasSubstr("timestamp_tick")));

  CLI::App app;
  int exit_code = 7;
  register_profiles(app, exit_code);
  testing::internal::CaptureStdout();
  app.parse("profiles --diff linux freebsd --json");
  const auto said = parse_json(testing::internal::GetCapturedStdout());
  EXPECT_EQ(exit_code, 0);
  EXPECT_EQ(said["profiles"], nlohmann::json({"linux", "freebsd"}));
  EXPECT_EQ(said["fields"]["quick_acks"]["linux"], "16");
  EXPECT_EQ(said["fields"]["quick_acks"]["freebsd"], "0");
  EXPECT_THAT(said["fields"]["quick_acks"]["source"].get<std::string>(), HasSubstr("tcp(7)"));
  EXPECT_THROW(app.parse("profiles --diff linux plan9"), CLI::ValidationError);
}

// switch_extensions_off() turns off exactly what profile rfc leaves out.
TEST(Profiles, ExtensionsOffEqualsTheRfcProfile) {
  Config bare;
  switch_extensions_off(bare);
  const Config rfc = profile_rfc();
  EXPECT_FALSE(bare.tcp.sack || bare.tcp.timestamps || bare.tcp.window_scale);
  EXPECT_EQ(bare.tcp.congestion, rfc.tcp.congestion);
  EXPECT_EQ(bare.tcp.receive_buffer_max, rfc.tcp.receive_buffer_max);
  EXPECT_NE(bare.tcp.rto_min, rfc.tcp.rto_min);
}

}  // namespace
}  // namespace lockstep::tools
