// Parses the settings at the head of a script.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "conformance/script/parts.hpp"
#include "tools/base/text/suggestion.hpp"

namespace lockstep::conformance::script {
namespace {

/// NAME or NAME=VALUE on a line of the head.
struct Setting {
  Place place;
  std::string name, value;
  bool has_value = false;
};

struct HeadReader {
  Cursor& cursor;
  const Setting& setting;

  [[noreturn]] void refuse(const std::string& expected) const {
    cursor.fail(setting.place, fmt::format("--{}={} is invalid, expected {}: correct it",
                                           setting.name, setting.value, expected));
  }
  /// The value of a setting that needs none.
  bool flag() const {
    if (!setting.has_value || setting.value == "true" || setting.value == "1") {
      return true;
    }
    if (setting.value != "false" && setting.value != "0") {
      refuse("true or false");
    }
    return false;
  }
  const std::string& text() const {
    if (setting.value.empty()) {
      refuse("a value");
    }
    return setting.value;
  }
  std::uint64_t number(std::uint64_t most) const {
    auto const value = parse_number(setting.value);
    if (!value || *value < 0 || static_cast<std::uint64_t>(*value) > most) {
      refuse(fmt::format("a number up to {}", most));
    }
    return static_cast<std::uint64_t>(*value);
  }
  /// A percentage up to 100 with up to four decimals, in millionths.
  std::uint32_t percent() const {
    std::uint64_t out = 0;
    std::size_t decimals = 0;
    bool point = false;
    bool good = !setting.value.empty() && setting.value != "." && setting.value.size() < 10;
    for (char const c : setting.value) {
      bool const digit = c >= '0' && c <= '9';
      good = good && (digit || (c == '.' && !point));
      point = point || c == '.';
      out = digit ? out * 10 + static_cast<std::uint64_t>(c - '0') : out;
      decimals += digit && point ? 1 : 0;
    }
    good = good && decimals <= 4;
    for (; decimals < 4; ++decimals) {
      out *= 10;
    }
    if (!good || out > 1'000'000) {
      refuse("a percentage of 0 to 100, with up to four decimals");
    }
    return static_cast<std::uint32_t>(out);
  }
  Assignment assignment() const {
    std::size_t const equals = setting.value.find('=');
    if (equals == 0 || equals == std::string::npos) {
      refuse("NAME=VALUE after it");
    }
    return {setting.place, setting.value.substr(0, equals), setting.value.substr(equals + 1)};
  }
};

IpMode mode_of(const HeadReader& reader) {
  if (reader.setting.value == "ipv4") {
    return IpMode::ipv4;
  }
  if (reader.setting.value == "ipv4-mapped-ipv6") {
    return IpMode::mapped;
  }
  if (reader.setting.value != "ipv6") {
    reader.refuse("ipv4, ipv4-mapped-ipv6 or ipv6");
  }
  return IpMode::ipv6;
}

/// Settings of the script's environment.
bool take_world(const HeadReader& reader, Head& head) {
  std::string const& name = reader.setting.name;
  if (name == "ip_version") {
    head.mode = mode_of(reader);
  } else if (name == "mtu") {
    head.mtu = static_cast<std::uint32_t>(reader.number(65535));
  } else if (name == "mss") {
    head.mss = static_cast<std::uint32_t>(reader.number(65495));
  } else if (name == "local_ip") {
    head.local_ip = reader.text();
  } else if (name == "remote_ip") {
    head.remote_ip = reader.text();
  } else if (name == "bind_port") {
    head.bind_port = static_cast<std::uint16_t>(reader.number(65535));
  } else if (name == "connect_port") {
    head.connect_port = static_cast<std::uint16_t>(reader.number(65535));
  } else {
    return false;
  }
  return true;
}

void take_setting(const HeadReader& reader, Head& head, Defines& defines) {
  std::string const& name = reader.setting.name;
  if (take_world(reader, head)) {
    return;
  }
  if (name == "tolerance_usecs") {
    head.tolerance_ns = reader.number(3'600'000'000) * 1000;
    head.tolerance_given = true;
  } else if (name == "tolerance_percent") {
    head.tolerance_ppm = reader.percent();
  } else if (name == "tcp_ts_tick_usecs") {
    head.stamp_tick_ns = reader.number(1'000'000) * 1000;
  } else if (name == "strict_segments") {
    head.strict_segments = reader.flag();
  } else if (name == "allow_trailing") {
    head.allow_trailing = reader.flag();
  } else if (name == "profile") {
    head.profile = reader.text();
  } else if (name == "config") {
    head.config.push_back(reader.assignment());
  } else if (name == "define" || name == "D") {
    Assignment const one = reader.assignment();
    defines.emplace_back(one.name, one.value);
  } else {
    std::vector<std::string> const known{"ip_version",
                                         "mtu",
                                         "mss",
                                         "local_ip",
                                         "remote_ip",
                                         "bind_port",
                                         "connect_port",
                                         "tolerance_usecs",
                                         "tolerance_percent",
                                         "tcp_ts_tick_usecs",
                                         "strict_segments",
                                         "allow_trailing",
                                         "profile",
                                         "config",
                                         "define"};
    reader.cursor.fail(reader.setting.place,
                       fmt::format("the setting --{} is not known{}, expected one of {}: remove it",
                                   name, tools::suggestion(name, known), fmt::join(known, ", ")));
  }
}

/// Settings of packetdrill that change nothing here, with the reason; empty: it is another one.
std::string why_without_effect(const HeadReader& reader) {
  static constexpr std::array<std::string_view, 7> talk{
      "debug", "verbose", "v", "code_command", "code_format", "tun_dev", "persistent_tun_dev"};
  static constexpr std::array<std::string_view, 6> wires{"wire_client",     "wire_server",
                                                         "wire_server_ip",  "wire_server_port",
                                                         "wire_client_dev", "wire_server_dev"};
  std::string const& name = reader.setting.name;
  std::string const& value = reader.setting.value;
  if (std::find(talk.begin(), talk.end(), name) != talk.end()) {
    return "it changes no result";
  }
  if (name == "send_omit_free" || name == "is_anyip") {
    return reader.flag() ? "nothing is sent after the last event in any case" : "it is off";
  }
  if (name == "gateway_ip" || name == "netmask_ip") {
    return "all hosts are on the link: no packet needs a gateway";
  }
  if (name == "speed" || name == "tcp_ts_ecr_scaled") {
    return "there is no interface, and echoes are mapped exactly";
  }
  if (name == "udp_encapsulation" && value == "none") {
    return "there is none in any case";
  }
  bool const wire = std::find(wires.begin(), wires.end(), name) != wires.end();
  if (wire || name == "udp_encapsulation" || name == "non_fatal" || name == "dry_run" ||
      name == "so_filename" || name == "so_flags" || name == "init_scripts") {
    reader.cursor.fail(
        reader.setting.place,
        fmt::format("the setting --{} of packetdrill is not supported: {}; expected none: remove "
                    "it",
                    name,
                    wire                          ? "no packet leaves this program"
                    : name == "non_fatal"         ? "a run ends at the first deviation"
                    : name == "dry_run"           ? "'lockstep pkt check' parses without running"
                    : name == "udp_encapsulation" ? "this stack has no UDP"
                                                  : "no program and no library is loaded"));
  }
  return {};
}

/// --NAME or --NAME=VALUE; a value ends at a blank unless it is in quotes. A comment may follow, or
/// another setting.
Setting read_setting(Cursor& cursor) {
  Setting out;
  out.place = cursor.place();
  cursor.accept("--");
  const auto ends = [&cursor] {
    char const c = cursor.peek();
    return c == '\0' || std::isspace(static_cast<unsigned char>(c)) != 0;
  };
  while (!ends() && cursor.peek() != '=') {
    out.name += cursor.take();
  }
  if (cursor.peek() != '=') {
    return out;
  }
  cursor.take();
  out.has_value = true;
  char quote = 0;
  while (cursor.peek() != '\n' && cursor.peek() != '\0' && (quote != 0 || !ends())) {
    char const c = cursor.take();
    if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
    } else if (c == quote) {
      quote = 0;
    } else {
      out.value += c;
    }
  }
  return out;
}

}  // namespace

void parse_head(Cursor& cursor, Head& head, Defines& defines, std::vector<Note>& notes) {
  while (!cursor.at_end() && cursor.rest().starts_with("--")) {
    Setting const setting = read_setting(cursor);
    HeadReader const reader{cursor, setting};
    if (std::string const why = why_without_effect(reader); !why.empty()) {
      std::string const value = setting.has_value ? "=" + setting.value : "";
      notes.push_back({setting.place, "--" + setting.name + value, why, false});
    } else {
      take_setting(reader, head, defines);
    }
  }
}

}  // namespace lockstep::conformance::script
