// The metrics page, and that the dashboard queries exactly its metrics.
#include "tools/verbs/serve/metrics.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <test_paths.hpp>

#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "tools/base/output/json.hpp"
#include "tools/base/process/failure.hpp"

namespace lockstep::tools {
namespace {

std::set<std::string> names_in(const std::string& text, const char* pattern) {
  std::set<std::string> out;
  std::regex const expression(pattern);
  for (auto it = std::sregex_iterator(text.begin(), text.end(), expression);
       it != std::sregex_iterator(); ++it) {
    out.insert((*it)[1].str());
  }
  return out;
}

std::set<std::string> served() {
  return names_in(metrics_text({ServeTotals{}}), "# TYPE (lockstep_[a-z_]+) ");
}

TEST(Metrics, EachHasHelpTypeAndOneLinePerShard) {
  ServeTotals busy;
  busy.server.connections = 12;
  busy.stack.drops.count(Drop::tcp_checksum);
  std::string const text = metrics_text({ServeTotals{}, busy});
  EXPECT_NE(text.find("# TYPE lockstep_connections_total counter\n"
                      "lockstep_connections_total{shard=\"0\"} 0\n"
                      "lockstep_connections_total{shard=\"1\"} 12\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("lockstep_drops_total{reason=\"tcp_checksum\",shard=\"1\"} 1\n"),
            std::string::npos);
  std::set<std::string> const with_help = names_in(text, "# HELP (lockstep_[a-z_]+) [A-Z]");
  EXPECT_EQ(with_help, served());
  EXPECT_EQ(names_in(text, "(?:^|\n)(lockstep_[a-z_]+)\\{"), served());
  EXPECT_EQ(text.back(), '\n');
}

TEST(Metrics, EachNumberOfAPortAShardAndALoopIsServed) {
  // Each counter gets a distinct value; counters that one metric sums or labels are listed.
  ServeTotals busy;
  busy.port = {.frames_in = 101,
               .frames_out = 102,
               .too_long = 103,
               .too_short = 104,
               .malformed = 120,
               .segmented = 105,
               .taken_apart = 106,
               .left_out = 107,
               .missed = 108,
               .link_down = 1000,
               .no_buffers = 2000,
               .refused = 4000,
               .blocked = 109,
               .read_errors = 110};
  busy.loop = {.turns = 111, .worked = 112, .slept = 113};
  busy.shard = {.forwarded = 114, .announced = 115, .given = 116, .lost = 117};
  busy.time_wait = 118;
  busy.journal_bytes = 119;
  std::string const text = metrics_text({busy});
  for (int value = 101; value <= 120; ++value) {
    EXPECT_EQ(
        names_in(text, fmt::format("(lockstep_[a-z_]+)\\{{[^\n]*\\}} {}\n", value).c_str()).size(),
        1u)
        << value;
  }
  EXPECT_NE(text.find("lockstep_frames_unsent_total{shard=\"0\"} 7000\n"), std::string::npos);
}

TEST(Metrics, TheDashboardQueriesTheServedMetrics) {
  std::ifstream file(std::string(LOCKSTEP_SOURCE_DIR) + "/tools/verbs/serve/grafana.json");
  auto const dashboard = parse_json(file);
  std::set<std::string> asked;
  for (auto const& panel : dashboard.at("panels")) {
    ASSERT_FALSE(panel.at("targets").empty());
    for (auto const& target : panel.at("targets")) {
      auto const names = names_in(target.at("expr").get<std::string>(), "(lockstep_[a-z_]+)");
      ASSERT_FALSE(names.empty());
      asked.insert(names.begin(), names.end());
    }
  }
  // All metrics, and no others.
  EXPECT_EQ(asked, served());
}

TEST(Metrics, WhereTheyAreServed) {
  EXPECT_EQ(metrics_place("10.9.0.2:9100"), (Endpoint{IpAddress::v4(10, 9, 0, 2), Port{9100}}));
  EXPECT_EQ(metrics_place("[2001:db8::2]:1").address, (IpAddress{0x2001'0db8'0000'0000, 2}));
  for (const char* const wrong :
       {"", ":", "9100", "10.9.0.2", "10.9.0.2:", "10.9.0.2:0", "10.9.0.2:65536",
        "2001:db8::2:9100", "[::1]", "x:1", "10.9.0.2:9100x"}) {
    EXPECT_THROW(metrics_place(wrong), Failure) << wrong;
  }
}

}  // namespace
}  // namespace lockstep::tools
