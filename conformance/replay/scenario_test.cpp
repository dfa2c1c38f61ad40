// An invalid scenario.toml gives one line: file, line, expectation and correction.
#include "conformance/replay/scenario.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tools/base/process/failure.hpp"

namespace lockstep::conformance {
namespace {

using ::testing::HasSubstr;

const std::string good = R"(title = "t"
shows = ["9293:P-3WHS"]
origin = "o"
made_by = "m"

[device]
address = "10.0.0.1"
port = 80
role = "passive"
profile = "rfc"
)";

std::string path() { return ::testing::TempDir() + "scenario_test.toml"; }

Scenario load(const std::string& text) {
  std::ofstream(path()) << text;
  return load_scenario(path());
}

std::string complaint(const std::string& text) {
  try {
    load(text);
  } catch (const tools::Failure& failure) {
    EXPECT_EQ(failure.code(), tools::ExitCode::bad_input);
    std::string const what = failure.what();
    EXPECT_EQ(what.find('\n'), std::string::npos) << what;
    EXPECT_THAT(what, HasSubstr("expected"));
    return what;
  }
  return "no complaint";
}

TEST(Scenario, ReadsCallsConfigurationAndTwins) {
  Scenario const s = load(good + R"([device.config]
delayed_ack_ms = 150
msl = "2.5s"
nagle = false
rst_policy = "rfc793"

[[call]]
after_packet = 3
do = "write"
bytes = 10

[[call]]
at = "1.5ms"
do = "close"

[[twin]]
clause = "9293:P-RTO"
edit = { packet = 2, delay = "-20ms" }
)");
  EXPECT_EQ(s.config.tcp.delayed_ack, Duration::milliseconds(150));
  EXPECT_EQ(s.config.tcp.msl, Duration::milliseconds(2500));
  EXPECT_FALSE(s.config.tcp.nagle);
  EXPECT_EQ(s.config.tcp.reset_policy, tcp::ResetPolicy::rfc793);
  ASSERT_EQ(s.calls.size(), 2u);
  EXPECT_EQ(s.calls[0].act, Act::write);
  EXPECT_EQ(*s.calls[1].at, Duration::microseconds(1500));
  ASSERT_EQ(s.twins.size(), 1u);
  EXPECT_EQ(s.twins[0].edit.delay_ns, -20'000'000);
  EXPECT_EQ(s.comparison, Comparison::exact);
}

TEST(Scenario, NamesFileLineAndMend) {
  EXPECT_THAT(complaint(good + "colour = \"red\"\n"),
              HasSubstr("scenario_test.toml:11: unknown key"));
  EXPECT_THAT(complaint(good + "[device.config]\ndelayed_ack = \"5 weeks\"\n"),
              HasSubstr(":12: 'delayed_ack' is \"5 weeks\""));
  EXPECT_THAT(complaint(good + "[device.config]\ndelayed_ack_ms = 9000\n"),
              HasSubstr("in that range"));
  EXPECT_THAT(complaint(good + "[[call]]\nafter_packet = 0\ndo = \"dance\"\n"),
              HasSubstr("listen"));
  EXPECT_THAT(complaint(good + "[[call]]\nafter_packet = 0\ndo = \"write\"\n"), HasSubstr("bytes"));
  EXPECT_THAT(complaint(good + "[[twin]]\nclause = \"9293:P-RTO\"\n"),
              HasSubstr("'edit' is missing"));
  EXPECT_THAT(complaint("title = \n"), HasSubstr(":1:"));
  EXPECT_THAT(complaint("title = \"t\"\n"), HasSubstr("is missing"));
}

TEST(Scenario, RefusesWrongDevices) {
  std::string text = good;
  text.replace(text.find("10.0.0.1"), 8, "10.0.0.x");
  EXPECT_THAT(complaint(text), HasSubstr("2001:db8::1"));
  text = good;
  text.replace(text.find("10.0.0.1"), 8, "2001:db8::1");
  EXPECT_EQ(complaint(text), "no complaint");
  text = good;
  text.replace(text.find("= 80"), 4, "= 99999");
  EXPECT_THAT(complaint(text), HasSubstr("1 to 65535"));
  text = good;
  text.replace(text.find("\"rfc\""), 5, "\"win\"");
  EXPECT_THAT(complaint(text), HasSubstr("\"linux\""));
}

}  // namespace
}  // namespace lockstep::conformance
