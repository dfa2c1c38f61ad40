// Replays foreign captures and compares with a table of verdicts that was checked by hand.
#include <gtest/gtest.h>
#include <test_paths.hpp>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>

#include "conformance/replay/replay.hpp"
#include "conformance/replay/report.hpp"
#include "tools/base/output/toml.hpp"

namespace lockstep::conformance {
namespace {

// The captures below the folder, by name.
std::map<std::string, std::string> captures_in(const std::string& folder) {
  std::map<std::string, std::string> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    std::string const ending = entry.path().extension();
    if (ending == ".pcap" || ending == ".pcapng") {
      paths[entry.path().filename()] = entry.path();
    }
  }
  return paths;
}

class ForeignCaptures : public testing::Test {
 protected:
  void SetUp() override {
    const char* const folder = std::getenv("LOCKSTEP_CAPTURES");
    if (folder == nullptr) {
      GTEST_SKIP() << "LOCKSTEP_CAPTURES is not set: name the folder with the foreign captures";
    }
    paths_ = captures_in(folder);
  }
  std::map<std::string, std::string> paths_;
};

TEST_F(ForeignCaptures, ReplayToTheVerdictsCheckedByHand) {
  std::string const table =
      std::string(LOCKSTEP_SOURCE_DIR) + "/conformance/replay/zeek_expected.toml";
  toml::table const expected = toml::parse_file(table);
  for (const toml::node& node : *expected["capture"].as_array()) {
    const toml::table& entry = *node.as_table();
    std::string const name = entry["name"].value_or(std::string());
    SCOPED_TRACE(name);
    ASSERT_TRUE(paths_.contains(name));
    std::string const path = paths_[name];
    paths_.erase(name);
    CaptureFlows const capture = read_flows(path);
    const toml::array& flows = *entry["flows"].as_array();
    EXPECT_EQ(capture.packets, static_cast<std::uint64_t>(entry["packets"].value_or(0)));
    ASSERT_EQ(capture.flows.size(), flows.size());
    for (std::size_t i = 0; i < flows.size(); ++i) {
      Endpoint const device = choose_device(capture.flows[i]);
      Replayed const result = replay_flow(capture.flows[i], device, nullptr);
      EXPECT_EQ(tools::text_of(device), (*flows[i].as_table())["device"].value_or(std::string()));
      EXPECT_EQ(verdict_text(result.verdict),
                (*flows[i].as_table())["verdict"].value_or(std::string()))
          << divergence_text(result);
    }
  }
  for (const auto& [name, path] : paths_) {
    ADD_FAILURE() << path << " has no row in the table: replay it, check it by hand, add it";
  }
}

// Whichever side our TCP replaces, there is a verdict, and the verdict has a reason.
TEST_F(ForeignCaptures, GiveAVerdictForEitherSide) {
  for (const auto& [name, path] : paths_) {
    SCOPED_TRACE(path);
    for (const Flow& flow : read_flows(path).flows) {
      for (const Endpoint& device : {flow.first, flow.second}) {
        Verdict const verdict = replay_flow(flow, device, nullptr).verdict;
        EXPECT_EQ(verdict.judgement == Judgement::cannot_tell, !verdict.reason.empty());
        EXPECT_EQ(verdict.judgement == Judgement::violates, verdict.divergence.has_value());
        EXPECT_EQ(verdict.judgement == Judgement::differs_allowed, !verdict.rules.empty());
      }
    }
  }
}

}  // namespace
}  // namespace lockstep::conformance
