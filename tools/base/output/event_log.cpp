// One fwrite of a line is atomic among threads.
#include "tools/base/output/event_log.hpp"

#include <fmt/chrono.h>
#include <fmt/core.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>

#include "tools/base/output/utf8.hpp"

namespace lockstep::tools {
namespace {

LogFormat chosen_format = LogFormat::text;

constexpr std::array<std::string_view, 3> level_names{"info", "warning", "error"};

std::string_view name_of(LogLevel level) { return level_names[static_cast<std::size_t>(level)]; }

/// "2026-11-28T17:30:48.123456Z"
std::string time_text(std::uint64_t unix_ns) {
  auto const seconds = static_cast<std::time_t>(unix_ns / 1'000'000'000);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}Z", parts, unix_ns / 1'000 % 1'000'000);
}

}  // namespace

void set_log_format(LogFormat format) { chosen_format = format; }
LogFormat log_format() { return chosen_format; }

std::string json_line_of(const LogEvent& event, std::initializer_list<LogField> fields,
                         std::uint64_t unix_ns) {
  nlohmann::ordered_json out{{"time", time_text(unix_ns)},
                             {"level", name_of(event.level)},
                             {"event", event.name},
                             {"message", utf8_only(event.message)}};
  for (const LogField& each : fields) {
    std::string const name(each.name);
    if (each.is_number) {
      out[name] = each.number;
    } else {
      out[name] = utf8_only(each.text);
    }
  }
  return out.dump() + "\n";
}

void log_event(const LogEvent& event, std::initializer_list<LogField> fields) {
  std::string line;
  if (chosen_format == LogFormat::json) {
    using namespace std::chrono;
    auto const now = duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count();
    line = json_line_of(event, fields, static_cast<std::uint64_t>(now));
  } else if (event.level != LogLevel::info) {
    line = fmt::format("lockstep: {}: {}\n", name_of(event.level), event.message);
  }
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace lockstep::tools
