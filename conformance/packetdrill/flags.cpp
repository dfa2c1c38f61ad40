// Parses --so_flags: the configuration of the stack, and the limit of its clock.
#include "conformance/packetdrill/flags.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "conformance/script/cursor.hpp"
#include "core/stack/config_fields.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/base/text/units.hpp"

namespace lockstep::tools::packetdrill {
namespace {

namespace script = conformance::script;

constexpr std::string_view source = "--so_flags";

[[noreturn]] void refuse(script::Place at, const std::string& what) {
  throw Failure(ExitCode::bad_input, fmt::format("{}:{}:{}: {}", source, at.line, at.column, what));
}

bool is_separator(char c) { return c == ' ' || c == ',' || c == '\t' || c == '\n'; }

/// The flags as NAME and VALUE.
std::vector<script::Assignment> split(std::string_view text) {
  std::vector<script::Assignment> out;
  for (std::size_t at = 0; at < text.size();) {
    if (is_separator(text[at])) {
      ++at;
      continue;
    }
    script::Assignment one;
    one.place.column = static_cast<int>(at) + 1;
    std::string word;
    char quote = 0;
    for (; at < text.size() && (quote != 0 || !is_separator(text[at])); ++at) {
      bool const opens = quote == 0 && (text[at] == '"' || text[at] == '\'');
      if (opens || text[at] == quote) {
        quote = opens ? text[at] : char{0};
      } else {
        word += text[at];
      }
    }
    if (quote != 0) {
      refuse(one.place, fmt::format("a {} is not closed: close it", quote));
    }
    std::size_t const skip = word.starts_with("--") ? 2 : 0;
    std::size_t const equals = word.find('=', skip);
    if (equals == std::string::npos || equals == skip) {
      refuse(one.place, fmt::format("'{}' was found, expected NAME=VALUE: correct it", word));
    }
    one.name = word.substr(skip, equals - skip);
    one.value = word.substr(equals + 1);
    out.push_back(one);
  }
  return out;
}

std::uint32_t number_of(const script::Assignment& one, std::int64_t most) {
  auto const value = script::parse_number(one.value);
  if (!value || *value < 1 || *value > most) {
    refuse(one.place,
           fmt::format("'{}' was found for {}, expected a number from 1 to {}: correct it",
                       one.value, one.name, most));
  }
  return static_cast<std::uint32_t>(*value);
}

script::IpMode mode_of(const script::Assignment& one) {
  // One IPv4 address serves sockets of both families.
  if (one.value == "ipv4" || one.value == "ipv4-mapped-ipv6") {
    return script::IpMode::mapped;
  }
  if (one.value != "ipv6") {
    refuse(one.place, fmt::format("'{}' was found for ip_version, expected ipv4, "
                                  "ipv4-mapped-ipv6 or ipv6: correct it",
                                  one.value));
  }
  return script::IpMode::ipv6;
}

bool is_field(const std::string& name) {
  bool found = false;
  Config const config;
  auto const look = [&](std::string_view known) { found = found || known == name; };
  visit_fields(config, [&](std::string_view known, Unit, FieldRange, const auto&) { look(known); });
  visit_choices(config, [&](std::string_view known, const auto&, const auto&) { look(known); });
  return found;
}

struct Reader {
  script::Head& head;
  std::vector<script::Assignment>& sysctls;
  Settings& settings;
  std::optional<script::IpMode> mode;

  /// False: there is no such flag.
  bool take_named(const script::Assignment& one) {
    if (one.name == "profile") {
      head.profile = one.value;
    } else if (one.name == "local_ip") {
      head.local_ip = one.value;
    } else if (one.name == "ip_version") {
      mode = mode_of(one);
    } else if (one.name == "mtu") {
      head.mtu = number_of(one, 65'535);
    } else if (one.name == "mss") {
      head.config.push_back({one.place, "mss", fmt::format("{}", number_of(one, 65'495))});
    } else if (one.name == "horizon") {
      auto const time = parse_duration(one.value);
      if (!time) {
        refuse(one.place, fmt::format("'{}' was found for horizon, expected a time such as 600s: "
                                      "correct it",
                                      one.value));
      }
      settings.horizon = *time;
    } else {
      return false;
    }
    return true;
  }

  void take(const script::Assignment& one) {
    if (take_named(one)) {
      return;
    }
    if (one.name.starts_with("net.")) {
      sysctls.push_back(one);
    } else if (is_field(one.name)) {
      head.config.push_back(one);
    } else {
      refuse(one.place, fmt::format("the flag {} is not known, expected profile, local_ip, "
                                    "ip_version, mtu, mss, horizon, a sysctl that 'lockstep pkt "
                                    "sysctls' lists or a field that 'lockstep profiles' lists: "
                                    "remove it",
                                    one.name));
    }
  }
};

}  // namespace

Settings read_flags(std::string_view text) {
  Settings out;
  script::Script empty;
  empty.file = source;
  script::Event command;
  command.kind = script::Event::Kind::command;
  Reader reader{empty.head, command.shell.set, out, std::nullopt};
  for (script::Assignment const& one : split(text)) {
    reader.take(one);
  }
  bool const six = empty.head.local_ip.find(':') != std::string::npos;
  empty.head.mode = reader.mode.value_or(six ? script::IpMode::ipv6 : script::IpMode::mapped);
  if (!command.shell.set.empty()) {
    empty.events.push_back(command);
  }
  out.plan = script::plan_of(empty, {});
  return out;
}

}  // namespace lockstep::tools::packetdrill
