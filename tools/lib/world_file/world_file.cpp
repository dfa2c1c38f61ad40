// Reads the whole file: its tables in the order in which they refer to each other.
#include "tools/lib/world_file/world_file.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <array>
#include <filesystem>

#include "sim/routers/plan.hpp"
#include "tools/base/text/suggestion.hpp"
#include "tools/lib/world_file/reader.hpp"

namespace lockstep::tools {
namespace {

using ReadTable = void (*)(Table&, WorldInProgress&);

void read_all(Table& top, std::string_view key, ReadTable read, WorldInProgress& into) {
  for (Table& each : top.tables(key, fmt::format("[[{}]]", key))) {
    read(each, into);
  }
}

/// The table of one of these kinds with this name; nullptr if there is none.
template <class File, class Kinds>
auto find_table(File& file, const Kinds& kinds, std::string_view name)
    -> decltype(file.get(name)->as_table()) {
  for (const std::string_view kind : kinds) {
    auto* const tables = file[kind].as_array();
    for (std::size_t i = 0; tables != nullptr && i < tables->size(); ++i) {
      auto* const each = tables->get(i)->as_table();
      if (each != nullptr && (*each)["name"].value_or(std::string_view()) == name) {
        return each;
      }
    }
  }
  return nullptr;
}

/// The table with this name; the file if there is none.
const toml::node& table_named(const toml::table& file, std::string_view name) {
  constexpr std::array<std::string_view, 7> kinds{"router", "host",   "link",       "app",
                                                  "fault",  "switch", "random_peer"};
  const toml::table* const found = find_table(file, kinds, name);
  return found == nullptr ? static_cast<const toml::node&>(file) : *found;
}

/// The line of TOML for "FIELD=VALUE": VALUE unchanged if TOML accepts it, otherwise quoted.
toml::table assignment(const std::string& setting, const std::string& field,
                       const std::string& value) {
  for (const char* const quote : {"", "\""}) {
    try {
      return toml::parse(fmt::format("{} = {}{}{}", field, quote, value, quote));
    } catch (const toml::parse_error&) {
      // Try it as a string next; if that fails too, give up.
    } catch (const TomlGaveUp&) {
      break;
    }
  }
  throw Failure(ExitCode::bad_input,
                fmt::format("{}: expected NAME.FIELD=VALUE, like a.sack=false", setting));
}

void apply(const std::string& setting, sim::World& world) {
  const std::size_t dot = setting.find('.');
  const std::size_t equals = setting.find('=');
  if (dot == std::string::npos || equals == std::string::npos || equals < dot) {
    throw Failure(ExitCode::bad_input,
                  fmt::format("{}: expected NAME.FIELD=VALUE, like a.sack=false", setting));
  }
  const std::string host = setting.substr(0, dot);
  const toml::table parsed =
      assignment(setting, setting.substr(dot + 1, equals - dot - 1), setting.substr(equals + 1));
  bool is_found = false;
  for (sim::HostSpec& each : world.hosts) {
    if (host == "*" || host == each.name.view()) {
      is_found = true;
      Table table(setting, parsed, fmt::format("host '{}'", each.name.view()));
      read_config(table, each.config);
    }
  }
  for (sim::StationSpec& each : world.stations) {
    if (!each.device.empty() && host == each.name.view()) {
      is_found = true;
      Table table(setting, parsed, fmt::format("host '{}'", each.name.view()));
      read_device_settings(table, each);
    }
  }
  if (!is_found) {
    std::vector<std::string> names;
    for (const sim::HostSpec& each : world.hosts) {
      names.emplace_back(each.name.view());
    }
    for (const sim::StationSpec& each : world.stations) {
      if (!each.device.empty()) {
        names.emplace_back(each.name.view());
      }
    }
    throw Failure(ExitCode::bad_input,
                  fmt::format("{}: there is no host '{}'{}, expected one of: {}; or * for all; or "
                              "a link, an app or a fault",
                              setting, host, suggestion(host, names), fmt::join(names, ", ")));
  }
}

/// Puts "NAME.KEY=VALUE" into the link, app or fault of that name, or the `device` or `profile` of
/// a host that is a device; false: there is none.
bool put(const std::string& setting, toml::table& file) {
  constexpr std::array<std::string_view, 3> kinds{"link", "app", "fault"};
  const std::size_t dot = setting.find('.');
  const std::size_t equals = setting.find('=');
  const std::string name = setting.substr(0, dot);
  if (equals == std::string::npos || equals < dot) {
    return false;
  }
  // A host of the same name takes precedence. Which TCP a host is, is no field of a Config.
  toml::table* found = find_table(file, std::array<std::string_view, 1>{"host"}, name);
  const std::string field = setting.substr(dot + 1, equals - dot - 1);
  if (found == nullptr) {
    found = find_table(file, kinds, name);
  } else if (!found->contains("device") || (field != "device" && field != "profile")) {
    return false;
  }
  if (found == nullptr) {
    return false;
  }
  const toml::table value = assignment(setting, field, setting.substr(equals + 1));
  for (const auto& [key, node] : value) {
    found->insert_or_assign(key, node);
  }
  return true;
}

/// `origin`: what errors name, a file or a setting of the file at `path`.
WorldInProgress read_tables(const toml::table& parsed, const std::string& origin,
                            const std::string& path, Devices devices) {
  Table top(origin, parsed, "the world");
  top.set_folder(std::filesystem::path(path).parent_path().string());
  WorldInProgress reading;
  reading.devices = devices == Devices::allowed;
  const std::string name = top.text("name", "world");
  reading.world.name = sim::Name(name);
  reading.world.limit = read_duration(top, "limit", reading.world.limit);
  reading.world.invariants_every =
      static_cast<std::uint32_t>(top.number("invariants_every", 64, {0, 1'000'000'000}));
  read_all(top, "host", read_host, reading);
  read_all(top, "switch", read_switch, reading);
  read_all(top, "router", read_router, reading);
  read_all(top, "random_peer", read_random_peer, reading);
  read_all(top, "link", read_link, reading);
  if (!reading.interfaces.empty()) {
    const auto& [router, link] = reading.interfaces.begin()->first;
    top.wrong("router", fmt::format("router '{}' has an interface on '{}', which is no link of it: "
                                    "correct its name",
                                    reading.world.routers[router].name.view(), link));
  }
  read_all(top, "app", read_app, reading);
  read_all(top, "fault", read_fault, reading);
  top.end();
  if (reading.world.hosts.empty() && reading.world.stations.empty()) {
    top.wrong("no [[host]] was found, expected at least one: add it");
  }
  return reading;
}

sim::World world_in(toml::table parsed, const std::string& path,
                    const std::vector<std::string>& settings, Devices devices) {
  expand_short_forms(parsed, path);
  WorldInProgress reading = read_tables(parsed, path, path, devices);
  toml::table changed = parsed;
  std::vector<std::string> of_hosts;
  for (const std::string& setting : settings) {
    if (put(setting, changed)) {
      reading = read_tables(changed, setting, path, devices);
    } else {
      of_hosts.push_back(setting);
    }
  }
  for (const std::string& setting : of_hosts) {
    apply(setting, reading.world);
  }
  sim::give_macs(reading.world);
  sim::complete_routers(reading.world);
  for (const WorldInProgress::OnNicOf& each : reading.nics_shared) {
    sim::share_nic(reading.world, each.first, each.other);
  }
  for (const sim::Spreading& each : reading.spreadings) {
    sim::spread(reading.world, each);
  }
  if (const sim::WorldFault fault = sim::fault_of(reading.world); !fault.none()) {
    refuse(path, table_named(parsed, fault.subject.view()),
           fmt::format("'{}': {}", fault.subject.view(), fault.what));
  }
  return reading.world;
}

}  // namespace

sim::World read_world(const std::string& path) { return read_world(path, {}); }

sim::World read_world(const std::string& path, const std::vector<std::string>& settings,
                      Devices devices) {
  return world_in(parse_toml(path), path, settings, devices);
}

sim::World read_world_text(const std::string& text, const std::string& name,
                           const std::vector<std::string>& settings) {
  return world_in(parse_toml_text(text, name), name, settings, Devices::refused);
}

}  // namespace lockstep::tools
