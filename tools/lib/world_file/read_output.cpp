// Reads the queue discipline of a link, its shaper and its rate trace.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <fstream>

#include "tools/base/text/units.hpp"
#include "tools/lib/world_file/reader.hpp"

namespace lockstep::tools {
namespace {

constexpr std::size_t opportunities_max = 10'000'000;
constexpr std::string_view expected_chance = "a probability in quotes, like \"0.02\" or \"2%\"";

std::vector<std::uint32_t> read_trace(Table& table, const std::string& name) {
  const std::string path = table.path_beside(name);
  std::ifstream file(path);
  if (!file) {
    table.wrong("trace", fmt::format("{} cannot be read: name a file with the time of an "
                                     "opportunity on each line, in milliseconds",
                                     path));
  }
  std::vector<std::uint32_t> out;
  std::string line;
  for (std::size_t number = 1; std::getline(file, line); ++number) {
    if (!line.empty() && line.back() == '\r') {
      line.pop_back();
    }
    std::uint32_t at = 0;
    const char* const end = line.data() + line.size();
    const auto [stop, error] = std::from_chars(line.data(), end, at);
    const bool ordered = out.empty() || at >= out.back();
    if (error != std::errc{} || stop != end || !ordered || out.size() == opportunities_max) {
      throw Failure(ExitCode::bad_input,
                    fmt::format("{}:{}: \"{}\" was found, expected milliseconds as a whole number, "
                                "not below the line before: correct it",
                                path, number, line));
    }
    out.push_back(at);
  }
  if (out.empty() || out.back() == 0) {
    throw Failure(
        ExitCode::bad_input,
        fmt::format("{}:{}: the trace ends without an opportunity after 0 ms, expected at "
                    "least one: add it",
                    path, std::max<std::size_t>(out.size(), 1)));
  }
  return out;
}

std::uint32_t read_packets(Table& table, std::string_view key, std::uint32_t otherwise) {
  return static_cast<std::uint32_t>(table.number(key, otherwise, {1, 1'000'000}));
}

void read_red(Table& table, sim::LaneSpec& lane) {
  sim::RedSpec& red = lane.output.red;
  red.min_packets = read_packets(table, "min_packets", red.min_packets);
  red.max_packets = read_packets(table, "max_packets", red.max_packets);
  red.most = table.parsed("max_probability", red.most, parse_probability, expected_chance);
  red.weight = table.parsed("weight", red.weight, parse_probability, expected_chance);
  red.gentle = table.boolean("gentle", red.gentle);
  red.ecn = table.boolean("ecn", red.ecn);
  if (red.min_packets >= red.max_packets) {
    table.wrong("min_packets", fmt::format("{} is not below max_packets, {}: expected less",
                                           red.min_packets, red.max_packets));
  }
  if (lane.queue_packets != 0 && red.max_packets > lane.queue_packets) {
    table.wrong("max_packets", fmt::format("the average never reaches {} in a queue of {} packets, "
                                           "expected less, or a larger queue_packets",
                                           red.max_packets, lane.queue_packets));
  }
  if (red.weight.per_billion == 0 || red.weight.per_billion == Probability::certain) {
    table.wrong("weight", "expected more than 0 and less than 1");
  }
  // A small packet has 500 octets, as in the authors' simulations.
  constexpr std::uint64_t small = 500;
  const std::uint64_t rate = lane.rate_bits_per_second;
  red.packet_time = {std::max<std::uint64_t>(
      sim::BitRate{rate == 0 ? lane.output.shape_bits_per_second : rate}.time_of(small).ns, 1'000)};
}

void read_codel(Table& table, sim::CoDelSpec& codel, std::uint32_t frame_bytes) {
  codel.target = read_duration(table, "target", codel.target);
  codel.interval = read_duration(table, "interval", codel.interval);
  codel.ecn = table.boolean("ecn", codel.ecn);
  codel.packet_bytes = frame_bytes;
  if (codel.target.ns == 0 || codel.target >= codel.interval ||
      codel.interval > Duration::seconds(100)) {
    table.wrong("target", fmt::format("{} was found with an interval of {}, expected more than 0 "
                                      "and less than the interval, which is 100 s at most",
                                      text_of(codel.target), text_of(codel.interval)));
  }
}

void read_pie(Table& table, sim::PieSpec& pie, std::uint32_t frame_bytes) {
  pie.target = read_duration(table, "target", pie.target);
  pie.update = read_duration(table, "update", pie.update);
  pie.burst = read_duration(table, "burst_allowance", pie.burst);
  pie.ecn = table.boolean("ecn", pie.ecn);
  pie.packet_bytes = frame_bytes;
  if (pie.update < Duration::microseconds(100) || pie.target.ns == 0) {
    table.wrong("update", "expected at least \"100us\", and a target of more than 0");
  }
}

void read_discipline(Table& table, sim::LaneSpec& lane) {
  std::vector<std::string_view> names;
  for (std::uint32_t i = 0; i < sim::discipline_count; ++i) {
    names.push_back(sim::name_of(static_cast<sim::DisciplineKind>(i)));
  }
  const std::string word =
      table.text("discipline", names[static_cast<std::size_t>(lane.output.discipline)]);
  const auto found = std::find(names.begin(), names.end(), word);
  if (found == names.end()) {
    table.wrong("discipline",
                fmt::format("\"{}\" was found, expected one of: {}", word, fmt::join(names, ", ")));
  }
  lane.output.discipline = static_cast<sim::DisciplineKind>(found - names.begin());
  const std::uint32_t frame_bytes = lane.mtu_bytes + 14;
  switch (lane.output.discipline) {
    case sim::DisciplineKind::tail_drop:
      return;
    case sim::DisciplineKind::red:
      read_red(table, lane);
      break;
    case sim::DisciplineKind::codel:
      read_codel(table, lane.output.codel, frame_bytes);
      break;
    case sim::DisciplineKind::fq_codel:
      read_codel(table, lane.output.fq_codel.codel, frame_bytes);
      lane.output.fq_codel.flows = read_packets(table, "fq_flows", lane.output.fq_codel.flows);
      lane.output.fq_codel.quantum_bytes =
          read_packets(table, "quantum", lane.output.fq_codel.quantum_bytes);
      if (lane.queue_packets != 0) {
        lane.output.fq_codel.limit_packets = lane.queue_packets;
      }
      break;
    case sim::DisciplineKind::pie:
      read_pie(table, lane.output.pie, frame_bytes);
      break;
  }
  if (lane.mark_packets != 0) {
    table.wrong("mark_packets",
                fmt::format("{} marks by its own rules, expected ecn = true instead", word));
  }
}

}  // namespace

void read_output(Table& table, sim::LaneSpec& lane) {
  sim::OutputSpec& output = lane.output;
  if (table.has("rate")) {
    output.trace_ms.clear();
  }
  const std::string trace = table.text("trace", "");
  if (!trace.empty()) {
    if (table.has("rate")) {
      table.wrong("trace", "the trace is the rate, expected no key 'rate' beside it");
    }
    lane.rate_bits_per_second = 0;
    output.trace_ms = read_trace(table, trace);
  }
  output.shape_bits_per_second =
      table.parsed("shape", output.shape_bits_per_second, parse_rate, "a rate, like \"10Mbit/s\"");
  output.shape_burst_bytes = read_bytes(table, "shape_burst", output.shape_burst_bytes);
  if (output.shape_bits_per_second != 0 && output.shape_burst_bytes < lane.mtu_bytes + 18) {
    table.wrong("shape_burst", fmt::format("{} B was found, expected a whole frame: at least {} B",
                                           output.shape_burst_bytes, lane.mtu_bytes + 18));
  }
  read_discipline(table, lane);
  if (output.discipline != sim::DisciplineKind::tail_drop && lane.rate_bits_per_second == 0 &&
      output.shape_bits_per_second == 0 && output.trace_ms.empty()) {
    table.wrong("discipline",
                "a link without a rate has no queue, expected 'rate', 'shape' or "
                "'trace' beside it");
  }
}

}  // namespace lockstep::tools
