// The summary, the bars of the histogram, and the JSON.
#include "tools/verbs/load/report.hpp"

#include <fmt/core.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "tools/base/output/json.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/base/text/units.hpp"
#include "tools/verbs/serve/totals.hpp"

namespace lockstep::tools {
namespace {

using nlohmann::ordered_json;

struct NamedShare {
  std::string_view name;
  load::Share share;
};

constexpr std::array<NamedShare, 6> shares{{{"p50", {50'000}},
                                            {"p90", {90'000}},
                                            {"p95", {95'000}},
                                            {"p99", {99'000}},
                                            {"p99.9", {99'900}},
                                            {"p99.99", {99'990}}}};

constexpr std::uint32_t bar_columns = 50;

std::string times_line(const load::Histogram& times) {
  if (times.count() == 0) {
    return "nothing";
  }
  std::string out;
  for (const NamedShare& each : shares) {
    out += fmt::format("{} {}, ", each.name, text_of(times.at(each.share)));
  }
  return out + fmt::format("most {}, mean {}", text_of(times.most()), text_of(times.mean()));
}

/// The same for all requests, with unanswered ones as infinite; empty if all were answered.
std::string of_all_asked(const LoadResult& result) {
  std::uint64_t const unanswered = load::unanswered_of(result.counters);
  std::string out;
  for (const NamedShare& each : shares) {
    Duration const time = result.times.latency.at(each.share, unanswered);
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", each.name,
                       time == Duration::forever() ? "never" : text_of(time));
  }
  return unanswered == 0
             ? ""
             : fmt::format("of all sent  {}; {} were not answered\n", out, grouped(unanswered));
}

std::string faults_line(const load::Counters& counters) {
  std::string out;
  for (std::uint32_t i = 0; i < load::fault_count; ++i) {
    if (counters.faults[i] != 0) {
      out += fmt::format("{}{} {}", out.empty() ? "" : ", ", grouped(counters.faults[i]),
                         name_of(static_cast<load::Fault>(i)));
    }
  }
  return out.empty() ? "none" : out;
}

/// One bar per power of two: the share of latencies in it.
std::string bars(const load::Histogram& times) {
  std::array<std::uint64_t, 64> doublings{};
  times.visit([&](Duration from, Duration, std::uint64_t count) {
    doublings[static_cast<std::uint32_t>(std::bit_width(from.ns | 1) - 1)] += count;
  });
  std::string out;
  for (std::uint32_t i = 0; i < doublings.size(); ++i) {
    if (doublings[i] != 0) {
      auto const columns = static_cast<std::uint32_t>(doublings[i] * bar_columns / times.count());
      out += fmt::format("{:>12} to {:>12} {:>14} {}\n", text_of(Duration{std::uint64_t{1} << i}),
                         text_of(Duration{std::uint64_t{1} << (i + 1)}), grouped(doublings[i]),
                         std::string(columns, '#'));
    }
  }
  return out;
}

std::string_view name_of(load::Protocol protocol) {
  constexpr std::array<std::string_view, 3> names{"http", "echo", "memcached"};
  return names[static_cast<std::uint32_t>(protocol)];
}

ordered_json times_json(const load::Histogram& times) {
  ordered_json out{{"count", times.count()},
                   {"least_ns", times.least().ns},
                   {"mean_ns", times.mean().ns},
                   {"most_ns", times.most().ns}};
  for (const NamedShare& each : shares) {
    out[fmt::format("{}_ns", each.name)] = times.at(each.share).ns;
  }
  auto& all = out["histogram"] = ordered_json::array();
  times.visit([&](Duration from, Duration to, std::uint64_t count) {
    all.push_back({from.ns, to.ns, count});
  });
  return out;
}

std::string plan_line(const LoadResult& result) {
  const load::LoadPlan& plan = result.plan;
  std::string out = result.workload.empty() ? "load" : result.workload;
  out += fmt::format(" {}: {} to {}", result.where, name_of(plan.protocol),
                     plan.targets.front().authority);
  if (plan.targets.size() > 1) {
    out += fmt::format(" and {} more", plan.targets.size() - 1);
  }
  out += fmt::format(", {} connections", grouped(plan.connections));
  if (plan.requests_a_connection != 0) {
    out += fmt::format(" of {} requests each", grouped(plan.requests_a_connection));
  }
  out += plan.rate == 0 ? ", closed loop" : fmt::format(", open loop at {}/s", grouped(plan.rate));
  return out + "\n";
}

}  // namespace

std::string load_text(const LoadResult& result) {
  std::string out = plan_line(result);
  const load::Counters& all = result.counters;
  const load::Counters& timed = result.in_time;
  out += fmt::format("measured     {}\n", text_of(result.measured));
  out += fmt::format("requests     {} sent, {} answered: {}/s\n", grouped(all.asked),
                     grouped(all.answered), grouped(a_second(timed.answered, result.measured)));
  out += fmt::format("connections  {}: {}/s\n", grouped(all.connections),
                     grouped(a_second(timed.connections, result.measured)));
  out += fmt::format("goodput      {}: {} octets of answers\n",
                     rate_text(8 * a_second(timed.body_octets, result.measured)),
                     grouped(all.body_octets));
  out += fmt::format("latency      {}\n", times_line(result.times.latency));
  out += of_all_asked(result);
  out += fmt::format("connect      {}\n", times_line(result.times.connect));
  out += fmt::format("round trip   {}\n", all.answered != 0 && result.times.rtt.count() == 0
                                              ? "too few answers: every eighth is sampled"
                                              : times_line(result.times.rtt));
  if (result.plan.protocol == load::Protocol::memcached) {
    out += fmt::format("memcached    {} updates, {} misses\n", grouped(all.updates),
                       grouped(all.misses));
  }
  out += fmt::format("errors       {}\n", faults_line(all));
  if (result.times.latency.count() != 0) {
    out += "latency histogram, one line per power of two:\n" + bars(result.times.latency);
  }
  return out;
}

std::string load_json(const LoadResult& result, const std::string& more) {
  const load::LoadPlan& plan = result.plan;
  ordered_json out{
      {"workload", result.workload},
      {"where", result.where},
      {"protocol", name_of(plan.protocol)},
      {"targets", ordered_json::array()},
      {"connections_at_once", plan.connections},
      {"requests_per_connection", plan.requests_a_connection},
      {"pipeline", plan.pipeline},
      {"rate_per_second", plan.rate},
      {"seed", plan.seed},
      {"measured_ns", result.measured.ns},
      {"asked", result.counters.asked},
      {"answered", result.counters.answered},
      {"connections", result.counters.connections},
      {"body_octets", result.counters.body_octets},
      {"updates", result.counters.updates},
      {"misses", result.counters.misses},
      {"requests_per_second", a_second(result.in_time.answered, result.measured)},
      {"connections_per_second", a_second(result.in_time.connections, result.measured)},
      {"goodput_bits_per_second", 8 * a_second(result.in_time.body_octets, result.measured)},
      {"latency", times_json(result.times.latency)},
      {"connect", times_json(result.times.connect)},
      {"round_trip", times_json(result.times.rtt)}};
  for (const load::Target& each : plan.targets) {
    out["targets"].push_back(each.authority);
  }
  auto& errors = out["errors"] = ordered_json::object();
  for (std::uint32_t i = 1; i < load::fault_count; ++i) {
    errors[std::string(load::name_of(static_cast<load::Fault>(i)))] = result.counters.faults[i];
  }
  if (!more.empty()) {
    out.update(parse_json(more));
  }
  return json_text(out);
}

Limit::Limit(const std::string& text) : text_(text) {
  std::size_t const sign = text.find_first_of("<>");
  std::string const name = text.substr(0, sign);
  std::string const bound = sign == std::string::npos ? "" : text.substr(sign + 1);
  is_above_ = sign != std::string::npos && text[sign] == '>';
  std::optional<std::uint64_t> value;
  for (const NamedShare& each : shares) {
    if (name == each.name) {
      what_ = What::latency_share;
      share_ = each.share;
    }
  }
  bool const known_share = what_ == What::latency_share;
  if (known_share || name == "most" || name == "mean") {
    what_ = known_share ? what_ : name == "most" ? What::latency_most : What::latency_mean;
    if (auto const time = parse_duration(bound)) {
      value = time->ns;
    }
  } else if (name == "goodput") {
    what_ = What::goodput;
    value = parse_rate(bound);
  } else if (name == "errors" || name == "requests/s") {
    what_ = name == "errors" ? What::errors : What::rate;
    std::uint64_t number = 0;
    auto const [end, error] = std::from_chars(bound.data(), bound.data() + bound.size(), number);
    if (error == std::errc{} && end == bound.data() + bound.size()) {
      value = number;
    }
  }
  if (!value) {
    throw Failure(ExitCode::bad_input,
                  fmt::format("--fail-if {}: expected one of p50 p90 p95 p99 p99.9 p99.99 most "
                              "mean errors requests/s goodput, < or >, and a time, a number or "
                              "a rate, like p99>2ms: correct it",
                              text));
  }
  bound_ = *value;
}

std::uint64_t Limit::value_in(const LoadResult& result) const {
  std::uint64_t const unanswered = load::unanswered_of(result.counters);
  switch (what_) {
    case What::latency_share:
      return result.times.latency.at(share_, unanswered).ns;
    case What::latency_most:
      return (unanswered == 0 ? result.times.latency.most() : Duration::forever()).ns;
    case What::latency_mean:
      return (unanswered == 0 ? result.times.latency.mean() : Duration::forever()).ns;
    case What::errors:
      return load::faults_of(result.counters);
    case What::rate:
      return a_second(result.in_time.answered, result.measured);
    case What::goodput:
      return 8 * a_second(result.in_time.body_octets, result.measured);
  }
  return 0;
}

std::string Limit::text_of_value(std::uint64_t value) const {
  switch (what_) {
    case What::latency_share:
    case What::latency_most:
    case What::latency_mean:
      return Duration{value} == Duration::forever()
                 ? "infinite, because unanswered requests count as infinite"
                 : text_of(Duration{value});
    case What::goodput:
      return rate_text(value);
    default:
      return grouped(value);
  }
}

std::string Limit::broken_by(const LoadResult& result) const {
  std::uint64_t const value = value_in(result);
  bool const broken = is_above_ ? value > bound_ : value < bound_;
  return broken ? fmt::format("--fail-if {}: it is {}", text_, text_of_value(value))
                : std::string();
}

}  // namespace lockstep::tools
