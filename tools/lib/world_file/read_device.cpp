// Reads a host that is another TCP, and the applications that one of these has.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "tools/base/text/units.hpp"
#include "tools/lib/world_file/reader.hpp"

namespace lockstep::tools {
namespace {

constexpr std::array<std::string_view, 5> device_models{"bulk", "chatter", "echo", "half_close",
                                                        "slow_reader"};

IpAddress address_of_node(const sim::World& world, sim::NodeRef node) {
  return node.kind == sim::NodeKind::host ? world.hosts[node.index].config.addresses[0].address
                                          : world.stations[node.index].address;
}

/// Whether the node sends to that address without a router. A device always does.
bool is_near(const sim::World& world, sim::NodeRef node, IpAddress other) {
  if (node.kind != sim::NodeKind::host) {
    return true;
  }
  HostAddress const& mine = world.hosts[node.index].config.addresses[0];
  return common_bits({mine.address, other}) >= mine.prefix_bits + (mine.address.is_v4() ? 96u : 0u);
}

/// What a host must be to talk to a device.
void check_host(Table& table, std::string_view key, sim::NodeRef node, const WorldInProgress& in) {
  if (node.kind != sim::NodeKind::host) {
    return;
  }
  sim::HostSpec const& host = in.world.hosts[node.index];
  bool const spread =
      std::any_of(in.spreadings.begin(), in.spreadings.end(),
                  [&](sim::Spreading const& each) { return each.host.value == node.index; });
  if (host.config.link != LinkType::ethernet || host.config.vlan != 0 || spread) {
    table.wrong(key, fmt::format("host '{}' has shards, a VLAN or link = \"ip\", expected none of "
                                 "these beside a device",
                                 host.name.view()));
  }
}

/// The lines without the one that sets `key`: a later setting replaces it.
std::string without(const std::string& lines, const std::string& key) {
  std::string out;
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = lines.find('\n', at) + 1;
    const std::string line = lines.substr(at, end - at);
    out += line.starts_with(key + "=") ? "" : line;
    at = end;
  }
  return out;
}

}  // namespace

void read_device_settings(Table& table, sim::StationSpec& into) {
  std::string settings(into.settings.view());
  for (const std::string& key : table.keys()) {
    if (key == "mtu_bytes") {
      into.mtu_bytes = static_cast<std::uint32_t>(table.number(key, 1'500, {68, 65'535}));
      continue;
    }
    const std::string value = table.word(key);
    if (value.find('\n') != std::string::npos) {
      table.wrong(key, "expected one line");
    }
    settings = without(settings, key) + fmt::format("{}={}\n", key, value);
  }
  into.settings = std::string_view(settings);
  table.end();
}

void read_device_host(Table& table, WorldInProgress& into) {
  sim::StationSpec made;
  made.name = read_name(table, "host");
  made.model = "device";
  const std::string device = table.text("device");
  made.device = std::string_view(device);
  if (device.empty()) {
    table.wrong("device", "expected a name that `lockstep devices` lists, or a path with a '/'");
  }
  if (!into.devices) {
    table.wrong("device", "this command runs no other TCPs: use lockstep sim run");
  }
  const AddressAndPrefix address = read_address(table);
  made.address = address.address;
  made.mac = table.parsed("mac", Mac{}, parse_mac, "like \"02:00:00:00:00:01\"");
  if (table.has("profile")) {
    made.settings = std::string_view(fmt::format("profile={}\n", table.text("profile")));
  }
  Table config = table.table("config", fmt::format("config of {}", table.title()));
  read_device_settings(config, made);
  table.end();
  claim_address(table, address.address, made.name, into);
  const auto index = static_cast<std::uint32_t>(into.world.stations.size());
  add_node(table, made.name, {sim::NodeKind::station, index}, into);
  into.world.stations.push_back(made);
}

bool is_device(const sim::World& world, sim::NodeRef node) {
  return node.kind == sim::NodeKind::station && !world.stations[node.index].device.empty();
}

void add_device_app(Table& table, const sim::StationAppSpec& given, WorldInProgress& into) {
  sim::StationAppSpec made = given;
  if (std::find(device_models.begin(), device_models.end(), made.app.model.view()) ==
      device_models.end()) {
    table.wrong("model", fmt::format("'{}' does not run on a device, expected bulk, chatter, echo, "
                                     "half_close or slow_reader",
                                     made.app.model.view()));
  }
  if (made.app.draws.any()) {
    table.wrong("from",
                "an application of a device draws nothing, expected fixed values of start, "
                "bytes, think and arrivals");
  }
  check_host(table, "from", made.client, into);
  check_host(table, "to", made.server, into);
  made.app.server_address = address_of_node(into.world, made.server);
  const IpAddress client = address_of_node(into.world, made.client);
  if (client.is_v4() != made.app.server_address.is_v4() || !into.world.routers.empty() ||
      !is_near(into.world, made.client, made.app.server_address) ||
      !is_near(into.world, made.server, client)) {
    table.wrong("to",
                "the two hosts are in different networks, expected one prefix for both: "
                "devices use no routers");
  }
  for (const sim::StationAppSpec& each : into.world.station_apps) {
    if (each.client == made.client && is_device(into.world, made.client) &&
        each.server != made.server) {
      table.wrong("to", fmt::format("device '{}' is the client of app '{}', too, and opens "
                                    "connections to one address only: expected the same host",
                                    into.world.stations[made.client.index].name.view(),
                                    each.app.name.view()));
    }
    if (each.server == made.server && each.app.port == made.app.port) {
      table.wrong("port", fmt::format("{} is taken by app '{}' on that host, expected another",
                                      made.app.port.value, each.app.name.view()));
    }
  }
  into.world.station_apps.push_back(made);
}

}  // namespace lockstep::tools
