// Each sentence is the summary of its requirement, and every clause that a replay names has one.
#include "conformance/replay/sentences.hpp"

#include <gtest/gtest.h>
#include <test_paths.hpp>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>

#include "tools/base/output/toml.hpp"

namespace lockstep::conformance {
namespace {

std::map<std::string, std::string> summaries() {
  std::map<std::string, std::string> out;
  std::string const folder = std::string(LOCKSTEP_SOURCE_DIR) + "/conformance/requirements";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::string const name = entry.path().filename();
    if (!name.starts_with("rfc") || entry.path().extension() != ".toml") {
      continue;
    }
    toml::table const table = toml::parse_file(entry.path().string());
    for (const toml::node& node : *table["requirements"].as_array()) {
      const toml::table& row = *node.as_table();
      out[row["id"].value_or(std::string())] = row["summary"].value_or(std::string());
    }
  }
  return out;
}

std::string text_of_file(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(Sentences, AreTheSummariesOfTheRequirements) {
  auto const rows = summaries();
  std::regex const clause("\"([0-9]{3,4}:[A-Z0-9-]+)\"");
  std::size_t count = 0;
  std::string const folder = std::string(LOCKSTEP_SOURCE_DIR) + "/conformance/replay";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::string const name = entry.path().filename();
    if (!name.ends_with(".cpp") || name.ends_with("_test.cpp")) {
      continue;
    }
    std::string const text = text_of_file(entry.path());
    for (std::sregex_iterator at(text.begin(), text.end(), clause), end; at != end; ++at) {
      std::string const id = (*at)[1];
      auto const row = rows.find(id);
      if (row == rows.end()) {
        continue;  // of a table row that was corrected: see lockstep coverage
      }
      ++count;
      EXPECT_EQ(sentence_of(id), row->second) << id << " in " << name;
    }
  }
  EXPECT_GT(count, 100u);
  EXPECT_TRUE(sentence_of("1:NONE").empty());
}

}  // namespace
}  // namespace lockstep::conformance
