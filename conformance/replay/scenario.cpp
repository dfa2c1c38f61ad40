// Reads scenario.toml, checks every key, and reports each error with its line.
#include "conformance/replay/scenario.hpp"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <sstream>
#include <string_view>
#include <type_traits>

#include "core/stack/config_fields.hpp"
#include "tools/base/capture/decode.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/base/text/field_names.hpp"
#include "tools/base/text/suggestion.hpp"
#include "tools/base/text/toml_table.hpp"
#include "tools/base/text/units.hpp"

namespace lockstep::conformance {
namespace {

using tools::ExitCode;
using tools::Failure;

constexpr std::array<std::string_view, 10> act_names{
    "open", "listen", "write", "consume", "hold", "resume", "finish", "close", "abort", "urgent"};

/// Reads one file and reports its errors.
class Reader {
 public:
  explicit Reader(std::string path) : path_(std::move(path)) {}

  [[noreturn]] void refuse(const toml::node& at, const std::string& what) const {
    throw Failure(ExitCode::bad_input, fmt::format("{}:{}: {}", path_, line_of(at), what));
  }

  /// Rejects keys that are not in `known`.
  void only(const toml::table& table, std::initializer_list<std::string_view> known) const {
    for (const auto& [key, value] : table) {
      if (std::find(known.begin(), known.end(), key.str()) == known.end()) {
        refuse(
            value,
            fmt::format("unknown key '{}'{}; expected one of {}: correct or remove it", key.str(),
                        tools::suggestion(key.str(), {known.begin(), known.end()}), joined(known)));
      }
    }
  }

  std::string text(const toml::table& table, std::string_view key) const {
    const toml::node& node = needed(table, key);
    if (!node.is_string()) {
      refuse(node, fmt::format("'{}' is no string; expected text in quotes: quote it", key));
    }
    return node.as_string()->get();
  }

  std::int64_t number(const toml::table& table, std::string_view key, std::int64_t least,
                      std::int64_t most) const {
    const toml::node& node = needed(table, key);
    return number(node, key, least, most);
  }

  std::int64_t number(const toml::node& node, std::string_view key, std::int64_t least,
                      std::int64_t most) const {
    if (!node.is_integer()) {
      refuse(node,
             fmt::format("'{}' is no whole number; expected {} to {}: write it without quotes "
                         "or fraction",
                         key, least, most));
    }
    std::int64_t const value = node.as_integer()->get();
    if (value < least || value > most) {
      refuse(node, fmt::format("'{}' is {}; expected {} to {}: choose a value in that range", key,
                               value, least, most));
    }
    return value;
  }

  std::int64_t duration_ns(const toml::node& node, std::string_view key) const {
    if (!node.is_string()) {
      refuse(node, fmt::format("'{}' is no duration; expected a string such as \"1.5s\" with unit "
                               "ns, us, ms or s: write it so",
                               key));
    }
    if (auto const parsed = parse_duration(node.as_string()->get())) {
      return *parsed;
    }
    refuse(node, fmt::format("'{}' is \"{}\"; expected a number with unit ns, us, ms or s, such as "
                             "\"1.5s\": correct the unit",
                             key, node.as_string()->get()));
  }

  const toml::node& needed(const toml::table& table, std::string_view key) const {
    const toml::node* node = table.get(key);
    if (node == nullptr) {
      refuse(table, fmt::format("key '{}' is missing; expected it in this table: add it", key));
    }
    return *node;
  }

  const std::string& path() const { return path_; }

 private:
  static unsigned line_of(const toml::node& at) {
    return std::max(1u, static_cast<unsigned>(at.source().begin.line));
  }

  static std::string joined(std::initializer_list<std::string_view> words) {
    std::string out;
    for (std::string_view const word : words) {
      out += (out.empty() ? "" : ", ") + std::string(word);
    }
    return out;
  }

  /// Digits with at most one point, then a unit; otherwise nothing.
  static std::optional<std::int64_t> parse_duration(std::string_view text) {
    bool const negative = text.starts_with('-');
    std::string_view rest = text.substr(negative ? 1 : 0);
    std::size_t const digits = rest.find_first_not_of("0123456789.");
    if (digits == 0 || digits == std::string_view::npos) {
      return std::nullopt;
    }
    std::string_view const unit = rest.substr(digits);
    std::int64_t const scale = unit == "ns"   ? 1
                               : unit == "us" ? 1'000
                               : unit == "ms" ? 1'000'000
                               : unit == "s"  ? 1'000'000'000
                                              : 0;
    if (scale == 0) {
      return std::nullopt;
    }
    std::int64_t value = 0;
    std::int64_t fraction_scale = 0;
    for (char const digit : rest.substr(0, digits)) {
      if (digit == '.') {
        if (fraction_scale != 0) {
          return std::nullopt;
        }
        fraction_scale = scale;
      } else if (fraction_scale == 0) {
        value = value * 10 + (digit - '0') * scale;
      } else {
        fraction_scale /= 10;
        value += (digit - '0') * fraction_scale;
      }
      if (value > std::int64_t{1} << 60) {
        return std::nullopt;
      }
    }
    return negative ? -value : value;
  }

  std::string path_;
};

std::optional<IpAddress> address_from(const std::string& text) {
  in_addr v4{};
  if (inet_pton(AF_INET, text.c_str(), &v4) == 1) {
    return IpAddress::from(Ipv4{ntohl(v4.s_addr)});
  }
  std::array<std::uint8_t, 16> v6{};
  if (inet_pton(AF_INET6, text.c_str(), v6.data()) != 1) {
    return std::nullopt;
  }
  IpAddress out;
  for (std::size_t i = 0; i < 8; ++i) {
    out.high = out.high << 8 | v6[i];
    out.low = out.low << 8 | v6[8 + i];
  }
  return out;
}

// --- [device.config] ---

template <class T>
void set_field(const Reader& reader, const toml::node& node, std::string_view key, FieldRange range,
               T& field) {
  if constexpr (std::is_same_v<T, bool>) {
    if (!node.is_boolean()) {
      reader.refuse(node,
                    fmt::format("'{}' is no boolean; expected true or false: write it so", key));
    }
    field = node.as_boolean()->get();
  } else if constexpr (std::is_same_v<T, Duration>) {
    bool const in_ms = key.ends_with("_ms");
    std::int64_t const ns =
        in_ms ? reader.number(node, key, 0, 86'400'000) * 1'000'000 : reader.duration_ns(node, key);
    auto const value = static_cast<std::uint64_t>(ns);
    if (ns < 0 || value < range.least || value > range.most) {
      reader.refuse(node, fmt::format("'{}' is {} ns; expected {} to {} ns: choose a value in that "
                                      "range",
                                      key, ns, range.least, range.most));
    }
    field = Duration::nanoseconds(value);
  } else {
    std::int64_t const value = reader.number(node, key, static_cast<std::int64_t>(range.least),
                                             static_cast<std::int64_t>(range.most));
    if constexpr (std::is_same_v<T, Bytes>) {
      field.count = static_cast<std::uint32_t>(value);
    } else if constexpr (std::is_same_v<T, std::uint8_t>) {
      field = static_cast<std::uint8_t>(value);
    } else if constexpr (std::is_same_v<T, Port>) {
      field.value = static_cast<std::uint16_t>(value);
    } else {
      field.value = static_cast<std::uint32_t>(value);
    }
  }
}

/// Durations may be named with their unit: delayed_ack_ms = 200 is delayed_ack = "200ms".
bool names_field(std::string_view key, std::string_view name, Unit unit) {
  return key == name ||
         (unit == Unit::duration && key.ends_with("_ms") && key.substr(0, key.size() - 3) == name);
}

template <class Words, class Choice>
void set_word(const Reader& reader, const toml::node& node, std::string_view key,
              const Words& words, Choice& field) {
  std::string const value = node.is_string() ? node.as_string()->get() : "";
  auto const word = std::ranges::find(words, value);
  if (word == words.end()) {
    reader.refuse(node, fmt::format("'{}' is \"{}\"; expected one of {}: choose one", key, value,
                                    fmt::join(words, ", ")));
  }
  field = static_cast<Choice>(word - words.begin());
}

void read_config(const Reader& reader, const toml::table& table, Scenario& out) {
  for (const auto& [name, node] : table) {
    std::string_view const key = name.str();
    bool found = false;
    visit_fields(out.config,
                 [&](std::string_view field_name, Unit unit, FieldRange range, auto& field) {
                   if (names_field(key, field_name, unit)) {
                     set_field(reader, node, key, range, field);
                     found = true;
                   }
                 });
    visit_choices(out.config, [&](std::string_view field_name, auto words, auto& field) {
      if (key == field_name || (key == "rst_policy" && field_name == "reset_policy")) {
        set_word(reader, node, key, words, field);
        found = true;
      }
    });
    if (!found) {
      reader.refuse(node, fmt::format("unknown key '{}'{}; expected the name of a Config field, as "
                                      "'lockstep profiles' lists them: correct or remove it",
                                      key, tools::suggestion(key, tools::field_names())));
    }
    out.sets_receive_buffer |= key == "receive_buffer_bytes";
  }
}

void read_device(const Reader& reader, const toml::table& table, Scenario& out) {
  reader.only(table, {"address", "port", "role", "profile", "config"});
  std::string const address = reader.text(table, "address");
  auto const parsed = address_from(address);
  if (!parsed) {
    reader.refuse(reader.needed(table, "address"),
                  fmt::format("'address' is \"{}\"; expected an address such as \"10.0.0.1\" or "
                              "\"2001:db8::1\": correct it",
                              address));
  }
  out.device = {*parsed, Port{static_cast<std::uint16_t>(reader.number(table, "port", 1, 65'535))}};
  std::string const role = reader.text(table, "role");
  if (role != "active" && role != "passive" && role != "closed") {
    reader.refuse(reader.needed(table, "role"),
                  fmt::format("'role' is \"{}\"; expected \"active\", \"passive\" or \"closed\": "
                              "choose one",
                              role));
  }
  out.role = role == "active" ? Role::active : role == "passive" ? Role::passive : Role::closed;
  out.profile = reader.text(table, "profile");
  auto const profile = tools::profile_by_name(out.profile);
  if (!profile) {
    reader.refuse(reader.needed(table, "profile"),
                  fmt::format("'profile' is \"{}\"; expected \"default\", \"rfc\", \"linux\" or "
                              "\"freebsd\": choose one",
                              out.profile));
  }
  out.config = *profile;
  if (const toml::table* config = table["config"].as_table()) {
    read_config(reader, *config, out);
  }
}

PlannedCall read_call(const Reader& reader, const toml::table& table) {
  reader.only(table, {"after_packet", "at", "do", "bytes"});
  PlannedCall out;
  if (const toml::node* at = table.get("at")) {
    std::int64_t const ns = reader.duration_ns(*at, "at");
    out.at = Duration::nanoseconds(static_cast<std::uint64_t>(std::max<std::int64_t>(ns, 0)));
  }
  if (!out.at) {
    out.after_packet =
        static_cast<std::uint64_t>(reader.number(table, "after_packet", 0, std::int64_t{1} << 40));
  }
  std::string const act = reader.text(table, "do");
  auto const found = std::find(act_names.begin(), act_names.end(), act);
  if (found == act_names.end()) {
    reader.refuse(
        reader.needed(table, "do"),
        fmt::format("'do' is \"{}\"; expected open, listen, write, consume, hold, resume, "
                    "finish, close, abort or urgent: choose one",
                    act));
  }
  out.act = static_cast<Act>(found - act_names.begin());
  if (table.contains("bytes")) {
    out.bytes = static_cast<std::uint32_t>(reader.number(table, "bytes", 1, 1 << 30));
  } else if (out.act == Act::write || out.act == Act::consume || out.act == Act::urgent) {
    reader.refuse(table, fmt::format("'{}' says no number; expected bytes = N: add it", act));
  }
  return out;
}

std::uint8_t read_flags(const Reader& reader, const toml::table& table, std::string_view key) {
  std::string const letters = reader.text(table, key);
  if (auto const flags = flags_from_letters(letters)) {
    return *flags;
  }
  reader.refuse(
      reader.needed(table, key),
      fmt::format("'{}' is \"{}\"; expected letters of FSRPAUEC: correct it", key, letters));
}

constexpr std::int64_t any_number = std::int64_t{1} << 33;

void read_insert(const Reader& reader, const toml::table& table, Edit& out) {
  reader.only(table, {"from", "flags", "seq", "ack", "bytes", "window", "delay"});
  if (reader.text(table, "from") != "device") {
    reader.refuse(table,
                  "only what the device sends can be edited; expected from = \"device\": "
                  "write it so");
  }
  out.flags = read_flags(reader, table, "flags");
  out.sequence = reader.number(table, "seq", -any_number, any_number);
  out.acknowledgment = reader.number(table, "ack", -any_number, any_number);
  if (table.contains("bytes")) {
    out.bytes = static_cast<std::uint32_t>(reader.number(table, "bytes", 0, 65'495));
  }
  if (table.contains("window")) {
    out.window = static_cast<std::uint16_t>(reader.number(table, "window", 0, 65'535));
  }
  if (const toml::node* delay = table.get("delay")) {
    out.delay_ns = reader.duration_ns(*delay, "delay");
  }
}

void read_change(const Reader& reader, const toml::table& table, Edit& out) {
  constexpr std::array<std::string_view, 11> names{
      "seq", "ack", "flags", "window", "payload", "mss", "urgent", "sack", "stamp", "echo", "ecn"};
  std::string const name = reader.text(table, "field");
  auto const found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    reader.refuse(table, fmt::format("'field' is \"{}\"; expected one of {}: choose one", name,
                                     fmt::join(names, ", ")));
  }
  out.kind = Edit::Kind::change;
  out.field = static_cast<Field>(found - names.begin());
  if (out.field == Field::flags) {
    out.flags = read_flags(reader, table, "value");
  } else if (table.contains("value")) {
    out.value = reader.number(table, "value", -any_number, any_number);
  } else {
    out.add = reader.number(table, "add", -any_number, any_number);
  }
}

Edit read_edit(const Reader& reader, const toml::table& table) {
  reader.only(table,
              {"packet", "field", "add", "value", "drop", "delay", "after_packet", "insert"});
  Edit out;
  if (const toml::table* insert = table["insert"].as_table()) {
    out.kind = Edit::Kind::insert;
    out.packet =
        static_cast<std::uint64_t>(reader.number(table, "after_packet", 0, std::int64_t{1} << 40));
    read_insert(reader, *insert, out);
    return out;
  }
  out.packet = static_cast<std::uint64_t>(reader.number(table, "packet", 1, std::int64_t{1} << 40));
  if (table.contains("drop")) {
    out.kind = Edit::Kind::drop;
  } else if (const toml::node* delay = table.get("delay")) {
    out.kind = Edit::Kind::delay;
    out.delay_ns = reader.duration_ns(*delay, "delay");
  } else {
    read_change(reader, table, out);
  }
  return out;
}

Twin read_twin(const Reader& reader, const toml::table& table) {
  reader.only(table, {"clause", "edit"});
  Twin out;
  out.clause = reader.text(table, "clause");
  const toml::table* edit = reader.needed(table, "edit").as_table();
  if (edit == nullptr) {
    reader.refuse(table, "'edit' is no table; expected edit = { packet = N, ... }: write it so");
  }
  out.edit = read_edit(reader, *edit);
  std::ostringstream text;
  text << toml::toml_formatter{*edit, toml::format_flags::none};
  out.text = text.str();
  std::replace(out.text.begin(), out.text.end(), '\n', ' ');
  return out;
}

/// Calls `read` for each table of an array of tables, if the key is there.
template <class Read>
void each_table(const Reader& reader, const toml::table& root, std::string_view key, Read&& read) {
  const toml::node* node = root.get(key);
  if (node == nullptr) {
    return;
  }
  const toml::array* array = node->as_array();
  if (array == nullptr) {
    reader.refuse(*node,
                  fmt::format("'{0}' is no array of tables; expected [[{0}]]: write it so", key));
  }
  for (const toml::node& item : *array) {
    const toml::table* table = item.as_table();
    if (table == nullptr) {
      reader.refuse(item, fmt::format("an entry of '{0}' is no table; expected [[{0}]]", key));
    }
    read(*table);
  }
}

}  // namespace

std::string_view name_of(Act act) { return act_names[static_cast<std::size_t>(act)]; }

std::optional<std::uint8_t> flags_from_letters(std::string_view letters) {
  constexpr std::string_view order = "FSRPAUEC";
  std::uint8_t flags = 0;
  for (char const letter : letters) {
    std::size_t const bit = order.find(letter);
    if (bit == std::string_view::npos) {
      return std::nullopt;
    }
    flags = static_cast<std::uint8_t>(flags | 1u << bit);
  }
  return flags;
}

Scenario load_scenario(const std::string& path) {
  toml::table const root = tools::parse_toml(path);
  Reader const reader(path);
  reader.only(root, {"title", "shows", "origin", "made_by", "device", "call", "twin"});
  Scenario out;
  out.path = path;
  out.title = reader.text(root, "title");
  out.origin = reader.text(root, "origin");
  out.made_by = reader.text(root, "made_by");
  if (const toml::array* shows = reader.needed(root, "shows").as_array()) {
    for (const toml::node& id : *shows) {
      out.shows.push_back(id.value_or(std::string()));
    }
  }
  const toml::table* device = reader.needed(root, "device").as_table();
  if (device == nullptr) {
    reader.refuse(root, "'device' is no table; expected [device]: write it so");
  }
  read_device(reader, *device, out);
  out.comparison = out.profile == "rfc" ? Comparison::exact : Comparison::obligations;
  each_table(reader, root, "call",
             [&](const toml::table& table) { out.calls.push_back(read_call(reader, table)); });
  each_table(reader, root, "twin",
             [&](const toml::table& table) { out.twins.push_back(read_twin(reader, table)); });
  return out;
}

}  // namespace lockstep::conformance
