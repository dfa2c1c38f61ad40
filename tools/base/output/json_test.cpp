// JSON with strings from outside that may not be UTF-8.
#include "tools/base/output/json.hpp"

#include <gtest/gtest.h>

namespace lockstep::tools {
namespace {

TEST(Json, NamesThatAreNotUtf8AreWrittenAllTheSame) {
  nlohmann::ordered_json const document{{"capture", "a\xff.pcap"}};
  std::string const text = json_text(document);
  EXPECT_EQ(text, "{\n  \"capture\": \"a\xef\xbf\xbd.pcap\"\n}\n");
  EXPECT_EQ(nlohmann::json::parse(text).size(), 1u);
}

}  // namespace
}  // namespace lockstep::tools
