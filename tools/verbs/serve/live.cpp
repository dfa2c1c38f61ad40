// Fixed column widths, so that rows align for hours.
#include "tools/verbs/serve/live.hpp"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tools/base/text/units.hpp"

namespace lockstep::tools {
namespace {

constexpr std::uint32_t whole_columns = 113;
constexpr std::uint32_t label_columns = 6;
constexpr std::uint32_t usual_columns = 80;

/// A time for a narrow column: "1.23 ms" as "1230us".
std::string narrow(Duration time) {
  std::uint64_t const us = time.ns / 1'000;
  if (us < 10'000) {
    return fmt::format("{}us", us);
  }
  return us < 10'000'000 ? fmt::format("{}ms", us / 1'000) : fmt::format("{}s", us / 1'000'000);
}

/// A rate for a narrow column: "12.3Mbit/s".
std::string narrow_rate(std::uint64_t bits) {
  constexpr std::string_view prefixes = "kMGT";
  if (bits < 1'000) {
    return fmt::format("{}bit/s", bits);
  }
  std::size_t prefix = 0;
  std::uint64_t tenths = bits / 100;
  for (; tenths >= 10'000 && prefix + 1 < prefixes.size(); ++prefix) {
    tenths /= 1'000;
  }
  return fmt::format("{}.{}{}bit/s", tenths / 10, tenths % 10, prefixes[prefix]);
}

/// The requested percentiles, or dashes if nothing was timed.
std::string shares(const load::Histogram& times, std::initializer_list<load::Share> wanted) {
  std::string out;
  for (load::Share const each : wanted) {
    out += out.empty() ? "" : " ";
    out += times.count() == 0 ? "-" : narrow(times.at(each));
  }
  return out;
}

bool fits(Columns columns, bool has_labels) {
  return columns.count >= whole_columns + (has_labels ? label_columns : 0);
}

/// A row in two parts, counts and times, which are printed side by side or below each other.
struct Halves {
  std::string counted;
  std::string timed;
};

std::string joined(const Halves& halves, bool on_one_line) {
  return on_one_line ? fmt::format("{} {}", halves.counted, halves.timed)
                     : fmt::format("{}\n{:>36} {}", halves.counted, "", halves.timed);
}

Halves row(const std::array<std::string, 9>& counted, const std::array<std::string, 3>& timed) {
  return {fmt::format("{:>4} {:>8} {:>9} {:>11} {:>6} {:>6} {:>6} {:>7} {:>6}", counted[0],
                      counted[1], counted[2], counted[3], counted[4], counted[5], counted[6],
                      counted[7], counted[8]),
          fmt::format("{:>13} {:>20} {:>6}", timed[0], timed[1], timed[2])};
}

Columns columns_of_terminal() {
  winsize size{};
  bool const known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0;
  return {known ? size.ws_col : usual_columns};
}

}  // namespace

void add(Moment& sum, const Moment& each) {
  add(static_cast<ShardTotals&>(sum), static_cast<const ShardTotals&>(each));
  sum.connections += each.connections;
  sum.requests += each.requests;
  sum.octets += each.octets;
  sum.errors += each.errors;
  sum.open += each.open;
  if (each.active) {
    sum.active = sum.active.value_or(0) + *each.active;
  }
  sum.latency.add(each.latency);
  sum.rtt.add(each.rtt);
}

std::string live_head(Columns columns, bool has_labels) {
  bool const one = fits(columns, has_labels);
  std::string const label = has_labels ? fmt::format("{:>5} ", "") : "";
  std::string const named = has_labels ? fmt::format("{:>5} ", "shard") : "";
  return label +
         joined(row({"", "connect", "request", "goodput", "open", "active", "TIME-", "retrans",
                     "errors"},
                    {"round trip", "latency", "ns a"}),
                one) +
         "\n" + named +
         joined(row({"s", "/s", "/s", "", "", "", "WAIT", "", ""},
                    {"p50 p99", "p50 p99 p99.9", "packet"}),
                one);
}

std::string live_row(const Moment& before, const Moment& now, Columns columns, const RowOf& of) {
  Duration const time = now.lasted - before.lasted;
  auto const rate = [&](std::uint64_t then, std::uint64_t later) {
    return grouped(a_second(later - then, time));
  };
  std::uint64_t const frames =
      now.port.frames_in + now.port.frames_out - before.port.frames_in - before.port.frames_out;
  std::uint64_t const busy = (now.processor - before.processor).ns;
  bool const has_label = !of.label.empty();
  Halves const halves =
      row({fmt::format("{}", now.lasted.ns / 1'000'000'000),
           rate(before.connections, now.connections), rate(before.requests, now.requests),
           narrow_rate(8 * a_second(now.octets - before.octets, time)), grouped(now.open),
           now.active ? grouped(*now.active) : "-", grouped(now.time_wait),
           grouped(now.stack.tcp.retransmissions - before.stack.tcp.retransmissions),
           grouped(now.errors - before.errors)},
          {shares(now.rtt.since(before.rtt), {{50'000}, {99'000}}),
           shares(now.latency.since(before.latency), {{50'000}, {99'000}, {99'900}}),
           frames == 0 ? "-" : fmt::format("{}", busy / frames)});
  std::string out = has_label ? fmt::format("{:>5} ", of.label) : "";
  out += joined(halves, fits(columns, has_label));
  std::string const lost = losses_text(before, now);
  return lost.empty() ? out : fmt::format("{}\n{:>4} lost: {}", out, "", lost);
}

void LiveTable::draw(const std::vector<Moment>& shards) {
  Columns const columns = columns_of_terminal();
  bool const has_labels = shards.size() > 1;
  if (drawn_ % head_every == 0) {
    fmt::print(stderr, "{}\n", live_head(columns, has_labels));
  }
  ++drawn_;
  before_.resize(shards.size());
  std::vector<Moment> sums(2);
  for (std::size_t i = 0; i < shards.size(); ++i) {
    if (has_labels && shards.size() <= labelled_max) {
      fmt::print(stderr, "{}\n", live_row(before_[i], shards[i], columns, {fmt::format("{}", i)}));
    }
    add(sums[0], before_[i]);
    add(sums[1], shards[i]);
  }
  fmt::print(stderr, "{}\n", live_row(sums[0], sums[1], columns, {has_labels ? "all" : ""}));
  before_ = shards;
}

}  // namespace lockstep::tools
