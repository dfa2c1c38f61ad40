// The tables and totals of runs whose numbers are known.
#include <gtest/gtest.h>
#include <test_paths.hpp>

#include <array>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "sim/kernel/snapshot.hpp"
#include "tools/base/output/json.hpp"
#include "tools/lib/sim_apps/http_app.hpp"
#include "tools/lib/sim_report/measures.hpp"
#include "tools/lib/sim_report/recorder.hpp"
#include "tools/lib/sim_report/report_json.hpp"
#include "tools/lib/world_file/world_file.hpp"

namespace lockstep::tools {
namespace {

class TextSink final : public sim::ByteSink {
 public:
  void put(std::span<const std::byte> bytes) override {
    text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  std::string text;
};

using Row = std::map<std::string, std::string>;

std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> out(1);
  for (char const each : line) {
    if (each == ',') {
      out.emplace_back();
    } else {
      out.back() += each;
    }
  }
  return out;
}

std::vector<Row> rows_of(const std::string& csv) {
  std::istringstream lines(csv);
  std::string line;
  std::getline(lines, line);
  std::vector<std::string> const names = cells(line);
  std::vector<Row> out;
  while (std::getline(lines, line)) {
    std::vector<std::string> const values = cells(line);
    EXPECT_EQ(values.size(), names.size()) << line;
    Row row;
    for (std::size_t i = 0; i < names.size(); ++i) {
      row[names[i]] = values[i];
    }
    out.push_back(row);
  }
  return out;
}

/// A run of a world in text, with its tables.
class Recorded {
 public:
  explicit Recorded(const std::string& text, std::uint64_t seed = 1)
      : kernel(read_world_text(text, "world.toml", {}), seed, world_registry()),
        recorder(kernel, {&sinks[0], &sinks[1], &sinks[2], &sinks[3]}) {
    kernel.observe(recorder);
    while (!kernel.done() && kernel.scheduled() != 0) {
      kernel.step();
      recorder.stepped(kernel);
    }
  }
  std::vector<Row> rows(Table table) const {
    return rows_of(sinks[static_cast<std::size_t>(table)].text);
  }

  std::array<TextSink, table_files.size()> sinks;
  sim::Kernel kernel;
  Recorder recorder;
};

const std::string two = R"(
[[host]]
name = "a"
address = "10.0.0.1/24"
[[host]]
name = "b"
address = "10.0.0.2/24"
)";

TEST(RttSamples, AreThoseOfSegmentsSentOnce) {
  RttSamples samples;
  const auto at = [](std::uint64_t ms) { return Instant{Duration::milliseconds(ms).ns}; };
  constexpr std::uint32_t edge = 0xffff'fff0;  // the numbers wrap around
  samples.sent(at(0), {edge}, Sequence{edge} + Bytes{10});
  samples.sent(at(1), Sequence{edge} + Bytes{10}, Sequence{edge} + Bytes{20});
  samples.sent(at(2), Sequence{edge} + Bytes{20}, Sequence{edge} + Bytes{30});
  samples.sent(at(3), Sequence{edge} + Bytes{30}, Sequence{edge} + Bytes{30});  // an ACK alone
  EXPECT_EQ(samples.acknowledged(at(20), {edge}), std::nullopt);
  EXPECT_EQ(samples.acknowledged(at(21), Sequence{edge} + Bytes{20}), Duration::milliseconds(20));
  EXPECT_EQ(samples.acknowledged(at(22), Sequence{edge} + Bytes{20}), std::nullopt);
  samples.sent(at(25), Sequence{edge} + Bytes{30}, Sequence{edge} + Bytes{40});
  samples.sent(at(30), Sequence{edge} + Bytes{20}, Sequence{edge} + Bytes{30});  // sent twice
  samples.sent(at(31), Sequence{edge} + Bytes{40}, Sequence{edge} + Bytes{50});
  // The ACK waited for the second transmission: no sample, not of the segment after it either.
  EXPECT_EQ(samples.acknowledged(at(50), Sequence{edge} + Bytes{40}), std::nullopt);
  EXPECT_EQ(samples.acknowledged(at(51), Sequence{edge} + Bytes{50}), Duration::milliseconds(20));
}

TEST(Recorder, MeasuresTheRoundTripOfAnIdlePath) {
  Recorded const run(two + R"(
[[link]]
name = "ab"
from = "a"
to = "b"
delay = "10ms"
[[app]]
name = "one"
model = "bulk"
from = "a"
to = "b"
bytes = "5kB"
)");
  std::vector<Row> const samples = run.rows(Table::rtt_samples);
  ASSERT_GE(samples.size(), 3u);
  for (const Row& row : samples) {
    EXPECT_EQ(row.at("rtt_ns"), "20000000");
  }
  std::vector<Row> const read = run.rows(Table::readers);
  EXPECT_EQ(read.back().at("read_bytes"), "5000");
  EXPECT_EQ(read.back().at("side"), "acceptor");
  EXPECT_TRUE(run.rows(Table::queues).empty());  // without a rate nothing waits
  for (const Row& row : run.rows(Table::senders)) {
    EXPECT_EQ(row.at("side"), "opener");  // the other end sends no data
    EXPECT_EQ(row.at("ssthresh_bytes"), "");
  }
}

// The bottleneck is a router's link, of which no host sees anything.
const std::string routed = R"(
name = "routed"
[[dumbbell]]
name = ""
pairs = 2
[dumbbell.bottleneck]
rate = "10Mbit/s"
delay = "10ms"
queue_packets = 20
[[app]]
name = "first"
model = "bulk"
from = "l1"
to = "r1"
bytes = "600kB"
[[app]]
name = "second"
model = "bulk"
from = "l2"
to = "r2"
bytes = "600kB"
start = "uniform 0s 10ms"
)";

TEST(Recorder, SeesTheQueueOfARouter) {
  Recorded const run(routed, 3);
  std::uint64_t most = 0;
  std::uint64_t dropped = 0;
  for (const Row& row : run.rows(Table::queues)) {
    EXPECT_EQ(row.at("link"), "bottleneck");
    if (row.at("way") == "forward") {
      most = std::max<std::uint64_t>(most, std::stoull(row.at("packets")));
      dropped = std::stoull(row.at("dropped_packets"));
    }
  }
  EXPECT_EQ(most, 20u);
  const auto report = parse_json(report_json(run.kernel, "completed"));
  for (const auto& lane : report["lanes"]) {
    if (lane["link"] == "bottleneck" && lane["way"] == "forward") {
      EXPECT_EQ(lane["drops"]["queue_full"], dropped);
      EXPECT_GT(dropped, 0u);
    }
  }
  std::uint64_t retransmitted = 0;
  std::map<std::string, std::uint64_t> last;
  for (const Row& row : run.rows(Table::senders)) {
    last[row.at("connection")] = std::stoull(row.at("retransmitted_segments"));
  }
  for (const auto& [connection, count] : last) {
    retransmitted += count;
  }
  EXPECT_GE(retransmitted, dropped);
}

TEST(Recorder, HasTheEndThatSendsWhicheverOpened) {
  Recorded const run(two + R"(
[[link]]
name = "ab"
from = "a"
to = "b"
rate = "10Mbit/s"
[[app]]
name = "web"
model = "http"
from = "a"
to = "b"
reply_bytes = "100kB"
)");
  std::set<std::string> sides;
  for (const Row& row : run.rows(Table::senders)) {
    sides.insert(row.at("side"));
  }
  EXPECT_EQ(sides, (std::set<std::string>{"acceptor", "opener"}));
  std::vector<Row> const ends = rows_of(connections_csv(run.kernel));
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_EQ(ends[0].at("host"), "a");
  EXPECT_GT(std::stoull(ends[0].at("read_bytes")), 100'000u);
  EXPECT_EQ(ends[0].at("local"), ends[1].at("remote"));
}

TEST(Recorder, GoesBackWithTheRun) {
  const sim::World world = read_world_text(routed, "world.toml", {});
  sim::Kernel kernel(world, 3, world_registry());
  std::array<TextSink, 4> sinks;
  Recorder recorder(kernel, {&sinks[0], &sinks[1], &sinks[2], &sinks[3]});
  kernel.observe(recorder);
  const auto run_until = [&](Instant until) {
    while (kernel.next_at() <= until) {
      kernel.step();
      recorder.stepped(kernel);
    }
  };
  run_until(Instant{Duration::milliseconds(200).ns});
  auto const kept = kernel.snapshot();
  Recorder::State const state = recorder.state();
  const auto continued = [&] {
    for (TextSink& sink : sinks) {
      sink.text.clear();
    }
    run_until(Instant{Duration::milliseconds(700).ns});
    std::string all;
    for (const TextSink& sink : sinks) {
      all += sink.text;
    }
    return all;
  };
  std::string const first = continued();
  EXPECT_GT(first.size(), 1'000u);
  kernel.restore(*kept);
  recorder.restore(state);
  EXPECT_EQ(continued(), first);
}

TEST(Totals, JainsIndexIsRoundedToMillionths) {
  const auto index = [](std::vector<std::uint64_t> const& rates) {
    return jain_millionths_of(rates);
  };
  EXPECT_EQ(index({}), 0u);
  EXPECT_EQ(index({0, 0}), 0u);
  EXPECT_EQ(index({7}), 1'000'000u);
  EXPECT_EQ(index({5, 5, 5}), 1'000'000u);
  EXPECT_EQ(index({1, 0}), 500'000u);
  EXPECT_EQ(index({3, 1}), 800'000u);
  EXPECT_EQ(index({1, 2, 3}), 857'143u);
  EXPECT_EQ(index({9'400'000, 1'000}), 500'106u);
  const std::uint64_t most = ~std::uint64_t{0};
  EXPECT_EQ(index({most, most, 0, 0}), 500'000u) << "the square of a sum is above 64 bits";
  std::vector<std::uint64_t> many(100'000, 1'000'000);
  EXPECT_EQ(index(many), 1'000'000u);
  std::fill(many.begin(), many.begin() + 50'000, 0);
  EXPECT_EQ(index(many), 500'000u);
}

TEST(Totals, JainsIndexOfManyRatesIsExact) {
  for (std::uint64_t const count : {10'000u, 100'000u}) {
    std::vector<std::uint64_t> rates;
    for (std::uint64_t i = 0; i < count; ++i) {
      rates.push_back(i % 100 == 0 ? 100'000'000 : 3'000 + i % 7);
    }
    // The error of these sums is far below a millionth.
    double sum = 0;
    double squares = 0;
    for (std::uint64_t const rate : rates) {
      sum += static_cast<double>(rate);
      squares += static_cast<double>(rate) * static_cast<double>(rate);
    }
    const double wanted = sum / static_cast<double>(count) * sum / squares * 1e6;
    EXPECT_EQ(jain_millionths_of(rates), static_cast<std::uint64_t>(wanted + 0.5)) << count;
  }
}

TEST(Totals, AreThoseOfAllConnections) {
  Recorded const run(routed, 3);
  Totals const totals = totals_of(run.kernel);
  EXPECT_EQ(totals.connections, 2u);
  EXPECT_EQ(totals.octets, 1'200'000u);
  EXPECT_GT(totals.goodput_bits_per_second, 5'000'000u);
  EXPECT_LT(totals.goodput_bits_per_second, 10'000'000u);
  std::vector<double> rates;
  for (const sim::Flow& flow : run.kernel.ledger().flows()) {
    rates.push_back(static_cast<double>(goodput_bits_per_second(flow.end(sim::Side::acceptor))));
  }
  const double sum = rates[0] + rates[1];
  const double index = sum * sum / (2 * (rates[0] * rates[0] + rates[1] * rates[1]));
  EXPECT_EQ(totals.jain_millionths, static_cast<std::uint64_t>(index * 1e6 + 0.5));
  EXPECT_LT(totals.jain_millionths, 1'000'000u);
  const auto report = parse_json(report_json(run.kernel, "completed"));
  EXPECT_EQ(report["jain_index"], static_cast<double>(totals.jain_millionths) / 1e6);
  const std::string text = totals_text(run.kernel);
  EXPECT_TRUE(text.starts_with("total goodput ")) << text;
  EXPECT_TRUE(text.ends_with(" of 2 connections\n")) << text;
}

}  // namespace
}  // namespace lockstep::tools
