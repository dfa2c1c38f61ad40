// Events of a running program on standard error, as text or as lines of JSON.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace lockstep::tools {

enum class LogFormat : std::uint8_t { text, json };
enum class LogLevel : std::uint8_t { info, warning, error };

/// A value beside the message: a text, or a number.
struct LogField {
  std::string_view name;
  std::string text;
  std::uint64_t number = 0;
  bool is_number = false;

  LogField(std::string_view name_of, std::string value) : name(name_of), text(std::move(value)) {}
  LogField(std::string_view name_of, std::uint64_t value)
      : name(name_of), number(value), is_number(true) {}
};

struct LogEvent {
  LogLevel level = LogLevel::warning;
  std::string_view name;  ///< like "address_conflict"
  std::string message;
};

/// Call before other threads begin. The default is text.
void set_log_format(LogFormat format);
LogFormat log_format();

/// Writes one line, whole even if several threads write: "lockstep: warning: MESSAGE", or JSON with
/// time, level, event, message and the fields. As text an event of level info is not written.
void log_event(const LogEvent& event, std::initializer_list<LogField> fields = {});
/// The line of JSON; `unix_ns`: the time.
std::string json_line_of(const LogEvent& event, std::initializer_list<LogField> fields,
                         std::uint64_t unix_ns);

}  // namespace lockstep::tools
