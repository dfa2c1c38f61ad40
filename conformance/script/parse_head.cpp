// Parses the settings at the head of a script, and the commands between backticks.
#include <fmt/core.h>
#include <fmt/ranges.h>

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

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> out;
  std::string word;
  for (char const c : text + " ") {
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      if (!word.empty()) {
        out.push_back(word);
      }
      word.clear();
    } else if (c != '"' && c != '\'') {
      word += c;
    }
  }
  return out;
}

/// One command: sysctl [-q] [-w] NAME=VALUE ...
void take_command(Cursor& cursor, Place at, const std::string& text, std::vector<Assignment>& out) {
  std::vector<std::string> const words = words_of(text);
  if (words.empty()) {
    return;  // for example after the last semicolon
  }
  std::size_t const before = out.size();
  std::string const& program = words.front();
  if (program != "sysctl" && program != "/sbin/sysctl") {
    cursor.fail(at, fmt::format("the command {} is not supported, expected sysctl NAME=VALUE: "
                                "remove it, or use --config",
                                program));
  }
  for (std::size_t i = 1; i < words.size(); ++i) {
    std::string const& word = words[i];
    std::size_t const equals = word.find('=');
    if (word == "-q" || word == "-w" || word == "-n") {
      continue;
    }
    if (equals == std::string::npos || equals == 0) {
      cursor.fail(at, fmt::format("'{}' was found in a sysctl command, expected NAME=VALUE: "
                                  "write it without spaces",
                                  word));
    }
    std::string value = word.substr(equals + 1);
    while (i + 1 < words.size() && words[i + 1].find('=') == std::string::npos &&
           !words[i + 1].starts_with("-")) {
      value += " " + words[++i];
    }
    out.push_back({at, word.substr(0, equals), value});
  }
  if (out.size() == before) {
    cursor.fail(at, "this sysctl command sets nothing, expected NAME=VALUE: add one");
  }
}

}  // namespace

void parse_head(Cursor& cursor, Head& head, Defines& defines) {
  while (!cursor.at_end() && cursor.rest().starts_with("--")) {
    Setting setting;
    setting.place = cursor.place();
    cursor.accept("--");
    std::string text = cursor.line();
    while (!text.empty() && (text.back() == ' ' || text.back() == '\r' || text.back() == '\t')) {
      text.pop_back();
    }
    std::size_t const equals = text.find('=');
    setting.name = text.substr(0, equals);
    setting.has_value = equals != std::string::npos;
    setting.value = setting.has_value ? text.substr(equals + 1) : "";
    bool const quoted = setting.value.size() > 1 && setting.value.front() == '"';
    if (quoted && setting.value.back() == '"') {
      setting.value = setting.value.substr(1, setting.value.size() - 2);
    }
    take_setting({cursor, setting}, head, defines);
  }
}

std::vector<Assignment> parse_command(Cursor& cursor) {
  Place const at = cursor.place();
  cursor.expect("`", "a command is between backticks");
  std::string text = cursor.until("`", "a command");
  std::vector<Assignment> out;
  std::string one;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    bool const both = text.compare(i, 2, "&&") == 0;
    if (i == text.size() || text[i] == ';' || text[i] == '\n' || both) {
      take_command(cursor, at, one, out);
      one.clear();
      i += both ? 1 : 0;
    } else {
      one += text[i];
    }
  }
  if (out.empty()) {
    cursor.fail(
        at, "this command is empty, expected sysctl NAME=VALUE: add it, or remove the backticks");
  }
  return out;
}

}  // namespace lockstep::conformance::script
