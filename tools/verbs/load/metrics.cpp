// The metrics that only a load has.
#include "tools/verbs/load/metrics.hpp"

#include <fmt/core.h>

#include "tools/verbs/serve/metrics_page.hpp"

namespace lockstep::tools {
namespace {

struct Quantile {
  const char* label;
  load::Share share;
};

constexpr std::array<Quantile, 3> quantiles{
    {{"0.5", {50'000}}, {"0.99", {99'000}}, {"0.999", {99'900}}}};

/// Seconds as Prometheus' format expects: "0.001234567".
std::string seconds(Duration time) {
  return fmt::format("{}.{:09}", time.ns / 1'000'000'000, time.ns % 1'000'000'000);
}

/// Adds one of the histograms, which count since the end of the warm-up.
void add_times(MetricsPage<LoadTotals>& page, const std::string& name, const char* help,
               load::Histogram load::Times::* times) {
  std::string const whole = name + "_seconds";
  page.head(whole.c_str(), help, "summary");
  for (const Quantile& each : quantiles) {
    page.lines(whole.c_str(), fmt::format("quantile=\"{}\",", each.label),
               [&](const LoadTotals& t) { return seconds((t.load.times.*times).at(each.share)); });
  }
  page.lines((whole + "_count").c_str(), "",
             [&](const LoadTotals& t) { return (t.load.times.*times).count(); });
}

}  // namespace

void add(LoadTotals& sum, const LoadTotals& each) {
  add(static_cast<ShardTotals&>(sum), static_cast<const ShardTotals&>(each));
  add(sum.load, each.load);
  sum.gauges.connecting += each.gauges.connecting;
  sum.gauges.open += each.gauges.open;
  sum.gauges.active += each.gauges.active;
  sum.gauges.waiting += each.gauges.waiting;
  sum.has_connected = sum.has_connected || each.has_connected;
}

std::string load_metrics(const std::vector<LoadTotals>& shards) {
  MetricsPage<LoadTotals> page(shards);
  page.gauge("connections_open", "Open connections.",
             [](const LoadTotals& t) { return t.gauges.open; });
  page.gauge("connections_active", "Open connections that wait for an answer.",
             [](const LoadTotals& t) { return t.gauges.active; });
  page.gauge("connections_time_wait", "Connections in TIME-WAIT.",
             [](const LoadTotals& t) { return t.time_wait; });
  page.counter("connections_total", "Connections established.",
               [](const LoadTotals& t) { return t.load.counters.connections; });
  page.counter("asked_total", "Requests that were due.",
               [](const LoadTotals& t) { return t.load.counters.asked; });
  page.counter("answered_total", "Requests answered correctly and in time.",
               [](const LoadTotals& t) { return t.load.counters.answered; });
  page.counter("body_bytes_total", "Octets of bodies in correct answers.",
               [](const LoadTotals& t) { return t.load.counters.body_octets; });
  page.head("faults_total", "Requests and connections that failed, by name.", "counter");
  for (std::uint32_t i = 1; i < load::fault_count; ++i) {
    page.lines("faults_total",
               fmt::format("fault=\"{}\",", load::name_of(static_cast<load::Fault>(i))),
               [i](const LoadTotals& t) { return t.load.counters.faults[i]; });
  }
  add_times(page, "latency", "From the instant when a request was due to the end of its answer.",
            &load::Times::latency);
  add_times(page, "round_trip", "Smoothed round-trip time (SRTT) of connections.",
            &load::Times::rtt);
  page.add_shard();
  return page.text;
}

}  // namespace lockstep::tools
