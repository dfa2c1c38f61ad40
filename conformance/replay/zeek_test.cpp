// Captures that nobody here made replay to a table of verdicts that was checked by hand.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

#include "conformance/replay/replay.hpp"
#include "conformance/replay/report.hpp"

namespace lockstep::conformance {
namespace {

TEST(ForeignCaptures, ReplayToTheVerdictsCheckedByHand) {
  const char* folder = std::getenv("LOCKSTEP_CAPTURES");
  if (folder == nullptr) {
    GTEST_SKIP() << "LOCKSTEP_CAPTURES is not set: name the folder with the foreign captures";
  }
  std::string const table =
      std::string(LOCKSTEP_SOURCE_DIR) + "/conformance/replay/zeek_expected.toml";
  toml::table const expected = toml::parse_file(table);
  std::size_t replayed = 0;
  for (const toml::node& node : *expected["capture"].as_array()) {
    const toml::table& entry = *node.as_table();
    std::string const name = entry["name"].value_or(std::string());
    std::string path = std::string(folder) + "/" + name;
    if (!std::filesystem::exists(path)) {
      path = std::string(folder) + "/zeek/" + name;
    }
    SCOPED_TRACE(path);
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
    ++replayed;
  }
  EXPECT_EQ(replayed, 28u);
}

}  // namespace
}  // namespace lockstep::conformance
