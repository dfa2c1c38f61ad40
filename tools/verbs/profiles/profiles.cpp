// Reads the fields of each profile from Config itself, and prints them.
#include "tools/verbs/profiles/profiles.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/stack/config_fields.hpp"
#include "tools/base/output/json.hpp"
#include "tools/base/output/table.hpp"
#include "tools/base/text/units.hpp"

namespace lockstep::tools {
namespace {

/// The shortest notation: "40ms", "924s", "0s".
std::string duration_text(std::uint64_t ns) {
  constexpr std::array<std::pair<std::uint64_t, std::string_view>, 3> units{
      {{1'000'000'000, "s"}, {1'000'000, "ms"}, {1'000, "us"}}};
  for (const auto& [factor, name] : units) {
    if (ns % factor == 0) {
      return fmt::format("{}{}", ns / factor, name);
    }
  }
  return fmt::format("{}ns", ns);
}

std::string value_text(Unit unit, std::uint64_t number) {
  switch (unit) {
    case Unit::duration:
      return duration_text(number);
    case Unit::boolean:
      return number != 0 ? "on" : "off";
    default:
      return fmt::format("{}", number);
  }
}

}  // namespace

std::string reason_of(std::string_view field) {
  static constexpr std::string_view table =
#include <profile_reasons.inc>
      ;
  std::size_t const begin = table.find(fmt::format("\n| `{}` |", field));
  if (begin == std::string_view::npos) {
    return {};
  }
  std::string_view line = table.substr(begin + 1);
  line = line.substr(0, line.find('\n'));
  line = line.substr(0, line.rfind('|'));
  line = line.substr(line.rfind('|') + 1);
  line = line.substr(std::min(line.find_first_not_of(' '), line.size()));
  return std::string(line.substr(0, line.find_last_not_of(' ') + 1));
}

std::string profiles_diff_text(const std::vector<ProfileRow>& rows, std::size_t left,
                               std::size_t right) {
  std::string out = fmt::format("{:<26} {:>12} {:>12}  source\n", "field", profile_names[left],
                                profile_names[right]);
  for (const ProfileRow& row : rows) {
    if (row.values[left] != row.values[right]) {
      out += fmt::format("{:<26} {:>12} {:>12}  {}\n", row.field, row.values[left],
                         row.values[right], reason_of(row.field));
    }
  }
  return out;
}

std::string profiles_diff_json(const std::vector<ProfileRow>& rows, std::size_t left,
                               std::size_t right) {
  nlohmann::ordered_json fields = nlohmann::ordered_json::object();
  for (const ProfileRow& row : rows) {
    if (row.values[left] != row.values[right]) {
      auto& field = fields[row.field];
      field[std::string(profile_names[left])] = row.values[left];
      field[std::string(profile_names[right])] = row.values[right];
      field["source"] = reason_of(row.field);
    }
  }
  nlohmann::ordered_json const names = {profile_names[left], profile_names[right]};
  return json_text(nlohmann::ordered_json{{"profiles", names}, {"fields", fields}});
}

bool ProfileRow::differs() const {
  return std::ranges::any_of(values, [&](const std::string& v) { return v != values[0]; });
}

std::vector<ProfileRow> profile_rows() {
  std::vector<ProfileRow> rows;
  for (std::size_t profile = 0; profile < profile_names.size(); ++profile) {
    Config config = *profile_by_name(profile_names[profile]);
    std::size_t at = 0;
    const auto put = [&](std::string_view field, std::string value) {
      if (profile == 0) {
        rows.push_back({std::string(field), {}});
      }
      rows[at++].values[profile] = std::move(value);
    };
    visit_fields(config, [&](std::string_view name, Unit unit, FieldRange, const auto& value) {
      put(name, value_text(unit, number_of(value)));
    });
    visit_choices(config, [&](std::string_view name, const auto& words, const auto& value) {
      put(name, std::string(words[static_cast<std::size_t>(value)]));
    });
  }
  return rows;
}

std::string profiles_text(const std::vector<ProfileRow>& rows, bool only_differing,
                          std::size_t width) {
  using Align = TextTable::Align;
  std::vector<TextTable::Column> columns{{"field", Align::left}};
  for (const std::string_view name : profile_names) {
    columns.push_back({std::string(name), Align::right});
  }
  TextTable table(columns);
  for (const ProfileRow& row : rows) {
    if (!only_differing || row.differs()) {
      table.add({row.field, row.values[0], row.values[1], row.values[2], row.values[3]});
    }
  }
  return table.text(width);
}

std::string profiles_json(const std::vector<ProfileRow>& rows, bool only_differing) {
  nlohmann::ordered_json fields = nlohmann::ordered_json::object();
  for (const ProfileRow& row : rows) {
    if (only_differing && !row.differs()) {
      continue;
    }
    for (std::size_t profile = 0; profile < profile_names.size(); ++profile) {
      fields[row.field][std::string(profile_names[profile])] = row.values[profile];
    }
  }
  return json_text(nlohmann::ordered_json{{"fields", fields}});
}

}  // namespace lockstep::tools
