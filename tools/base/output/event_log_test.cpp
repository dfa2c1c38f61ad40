// Events as lines of JSON.
#include "tools/base/output/event_log.hpp"

#include <gtest/gtest.h>

namespace lockstep::tools {
namespace {

TEST(EventLog, JsonHasTimeLevelEventAndFields) {
  EXPECT_EQ(json_line_of({LogLevel::warning, "capture", "a \"b\"\n\xff"},
                         {{"file", std::string("x")}, {"frames", std::uint64_t{3}}},
                         1'764'350'448'123'456'789),
            "{\"time\":\"2025-11-28T17:20:48.123456Z\",\"level\":\"warning\",\"event\":\"capture\","
            "\"message\":\"a \\\"b\\\"\\n\xef\xbf\xbd\",\"file\":\"x\",\"frames\":3}\n");
}

TEST(EventLog, TextHasOnlyWhatMatters) {
  testing::internal::CaptureStderr();
  log_event({LogLevel::info, "serving", "it began"});
  log_event({LogLevel::warning, "lost", "three frames"}, {{"frames", std::uint64_t{3}}});
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "lockstep: warning: three frames\n");
  set_log_format(LogFormat::json);
  testing::internal::CaptureStderr();
  log_event({LogLevel::info, "serving", "it began"});
  set_log_format(LogFormat::text);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("\"event\":\"serving\""),
            std::string::npos);
}

}  // namespace
}  // namespace lockstep::tools
