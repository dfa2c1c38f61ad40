// Columns of a fixed width, so that rows can follow each other for hours.
#include "tools/loadrun/live.hpp"

#include <fmt/core.h>

#include "tools/loadrun/report.hpp"
#include "tools/world/units.hpp"

namespace lockstep::tools {
namespace {

/// Calls visit(name, count) for every way in which a frame was lost since.
template <class Visit>
void visit_losses(const LoadMoment& before, const LoadMoment& now, Visit&& visit) {
  for (std::uint32_t i = 0; i < drop_count; ++i) {
    auto const drop = static_cast<Drop>(i);
    visit(name_of(drop), now.stack.drops.of(drop) - before.stack.drops.of(drop));
  }
  visit("port_too_long", now.port.too_long - before.port.too_long);
  visit("port_too_short", now.port.too_short - before.port.too_short);
  visit("port_segmented", now.port.segmented - before.port.segmented);
  visit("port_link_down", now.port.link_down - before.port.link_down);
  visit("port_no_buffers", now.port.no_buffers - before.port.no_buffers);
  visit("port_refused", now.port.refused - before.port.refused);
}

/// "1.23 ms" as "1.23ms": columns are narrow.
std::string narrow(Duration time) {
  std::uint64_t const us = time.ns / 1'000;
  if (us < 10'000) {
    return fmt::format("{}us", us);
  }
  return us < 10'000'000 ? fmt::format("{}ms", us / 1'000) : fmt::format("{}s", us / 1'000'000);
}

}  // namespace

std::string live_head() {
  return fmt::format("{:>5} {:>8} {:>9} {:>15} {:>7} {:>7} {:>7} {:>7} {:>15} {:>23} {:>7} {:>6}\n"
                     "{:>5} {:>8} {:>9} {:>15} {:>7} {:>7} {:>7} {:>7} {:>15} {:>23} {:>7} {:>6}",
                     "", "connect", "request", "goodput", "active", "idle", "TIME-", "retrans",
                     "round trip", "latency", "errors", "ns a", "s", "/s", "/s", "", "", "", "WAIT",
                     "", "p50 p99", "p50 p99 p99.9", "", "packet");
}

std::string live_row(const LoadMoment& before, const LoadMoment& now) {
  Duration const time = now.lasted - before.lasted;
  auto const rate = [&](std::uint64_t then, std::uint64_t later) {
    return grouped(a_second(later - then, time));
  };
  load::Histogram const latency = now.times.latency.since(before.times.latency);
  load::Histogram const rtt = now.times.rtt.since(before.times.rtt);
  std::uint64_t const frames = now.port.frames_in + now.port.frames_out - before.port.frames_in -
                               before.port.frames_out;
  std::uint64_t const busy = (now.processor - before.processor).ns;
  std::string out = fmt::format(
      "{:>5} {:>8} {:>9} {:>15} {:>7} {:>7} {:>7} {:>7} {:>15} {:>23} {:>7} {:>6}",
      now.lasted.ns / 1'000'000'000, rate(before.counters.connections, now.counters.connections),
      rate(before.counters.answered, now.counters.answered),
      rate_text(8 * a_second(now.counters.body_octets - before.counters.body_octets, time)),
      now.gauges.active, now.gauges.open - now.gauges.active, now.time_wait,
      now.stack.tcp.retransmissions - before.stack.tcp.retransmissions,
      fmt::format("{} {}", narrow(rtt.at({50'000})), narrow(rtt.at({99'000}))),
      fmt::format("{} {} {}", narrow(latency.at({50'000})), narrow(latency.at({99'000})),
                  narrow(latency.at({99'900}))),
      load::faults_of(now.counters) - load::faults_of(before.counters),
      frames == 0 ? 0 : busy / frames);
  std::string const lost = losses_text(before, now);
  return lost.empty() ? out : out + "  lost: " + lost;
}

std::string losses_text(const LoadMoment& before, const LoadMoment& now) {
  std::string out;
  visit_losses(before, now, [&](std::string_view name, std::uint64_t count) {
    if (count != 0) {
      out += fmt::format("{}{} {}", out.empty() ? "" : ", ", grouped(count), name);
    }
  });
  return out;
}

}  // namespace lockstep::tools
