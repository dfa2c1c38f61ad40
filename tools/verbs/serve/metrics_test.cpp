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
  return names_in(metrics_text({ServeTotals{}}), "# TYPE ((?:lockstep|process)_[a-z_]+) ");
}

/// The names of metrics that these names of lines or in queries belong to.
std::set<std::string> metrics_of(const std::set<std::string>& names) {
  std::set<std::string> out;
  for (const std::string& each : names) {
    std::string name = each;
    for (const char* const part : {"_bucket", "_sum", "_count"}) {
      std::string const whole = each.ends_with(part) ? each.substr(0, each.rfind('_')) : each;
      name = served().contains(whole) ? whole : name;
    }
    out.insert(name);
  }
  return out;
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
  std::set<std::string> const with_help =
      names_in(text, "# HELP ((?:lockstep|process)_[a-z_]+) [A-Z]");
  EXPECT_EQ(with_help, served());
  EXPECT_EQ(metrics_of(names_in(text, "(?:^|\n)([a-z_]+)[{ ]")), served());
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
      auto const names =
          names_in(target.at("expr").get<std::string>(), "((?:lockstep|process)_[a-z_]+)");
      ASSERT_FALSE(names.empty());
      asked.insert(names.begin(), names.end());
    }
  }
  // All metrics, and no others.
  EXPECT_EQ(metrics_of(asked), served());
}

TEST(Metrics, BucketsOfAHistogramAddUp) {
  ServeTotals busy;
  for (std::uint64_t const us : {5u, 30u, 30u, 700u, 2'000'000u, 20'000'000u}) {
    busy.latency.add(Duration::microseconds(us));
  }
  std::string const text = metrics_text({busy});
  auto const line = [](const char* le, int count) {
    return fmt::format("lockstep_request_latency_seconds_bucket{{shard=\"0\",le=\"{}\"}} {}\n", le,
                       count);
  };
  for (auto const& [le, count] : std::initializer_list<std::pair<const char*, int>>{{"0.00001", 1},
                                                                                    {"0.000025", 1},
                                                                                    {"0.00005", 3},
                                                                                    {"0.0005", 3},
                                                                                    {"0.001", 4},
                                                                                    {"1.0", 4},
                                                                                    {"2.5", 5},
                                                                                    {"10.0", 5},
                                                                                    {"+Inf", 6}}) {
    EXPECT_NE(text.find(line(le, count)), std::string::npos) << line(le, count);
  }
  EXPECT_NE(text.find("lockstep_request_latency_seconds_sum{shard=\"0\"} 22.000765\n"),
            std::string::npos);
  EXPECT_NE(text.find("lockstep_request_latency_seconds_count{shard=\"0\"} 6\n"),
            std::string::npos);
}

TEST(Metrics, CookiesAndHalfOpenConnectionsAreToldApart) {
  ServeTotals busy;
  busy.half_open = 11;
  busy.stack.tcp.cookies_sent = 12;
  busy.stack.tcp.cookies_taken = 13;
  busy.stack.drops.count(Drop::tcp_cookie_unproven);
  std::string const text = metrics_text({busy});
  EXPECT_NE(text.find("connections_half_open{shard=\"0\"} 11\n"), std::string::npos);
  EXPECT_NE(text.find("syn_cookies_sent_total{shard=\"0\"} 12\n"), std::string::npos);
  EXPECT_NE(text.find("syn_cookies_proven_total{shard=\"0\"} 13\n"), std::string::npos);
  EXPECT_NE(text.find("syn_cookies_refused_total{shard=\"0\"} 1\n"), std::string::npos);
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
