// The parts of reading a world: names to indices, and one function for each kind of table.
#pragma once

#include <map>
#include <set>
#include <string>

#include "sim/kernel/spread.hpp"
#include "sim/kernel/world.hpp"
#include "tools/base/text/toml_table.hpp"
#include "tools/base/text/units.hpp"

namespace lockstep::tools {

/// What has been read so far; later tables refer to earlier ones by name.
struct WorldInProgress {
  sim::World world;
  std::map<std::string, sim::NodeRef> nodes;
  std::map<std::string, std::uint32_t> links;
  std::map<std::string, std::string> addresses;  // the owner of each address
  std::set<std::string> apps, faults;
  // Addresses of routers by router and name of the link, until the link is read.
  std::map<std::pair<std::uint32_t, std::string>, IpAddress> interfaces;
  bool devices = false;  // hosts may be other TCPs
  struct OnNicOf {
    sim::HostIndex first;
    sim::HostIndex other;
  };
  // Settings of hosts that are applied after everything is read.
  std::vector<OnNicOf> nics_shared;
  std::vector<sim::Spreading> spreadings;
};

/// Each reads one table to its end and adds it to the world.
void read_host(Table& table, WorldInProgress& into);
/// A host with the key `device`: another TCP.
void read_device_host(Table& table, WorldInProgress& into);
/// Reads its settings, a [host.config], to the end of the table: the device judges them.
void read_device_settings(Table& table, sim::StationSpec& into);
void read_switch(Table& table, WorldInProgress& into);
void read_router(Table& table, WorldInProgress& into);
/// Adds the port of a router at one end of a link that is being added.
void add_router_port(sim::NodeRef end, bool at_a, const sim::LinkSpec& link, WorldInProgress& into);
/// Replaces [[dumbbell]], [[parking_lot]] and [[star]] by hosts, routers and links.
void expand_short_forms(toml::table& file, const std::string& path);
void read_random_peer(Table& table, WorldInProgress& into);
void read_link(Table& table, WorldInProgress& into);
void read_app(Table& table, WorldInProgress& into);
void read_fault(Table& table, WorldInProgress& into);
/// Reads what a lane has beside its rate: a queue discipline, a shaper, a trace.
void read_output(Table& table, sim::LaneSpec& lane);

/// Reads `driver` and [host.NIC] of the next host, whose table is `table`; or `same_nic_as`, the
/// host whose NIC this host's link belongs to.
void read_nic(Table& table, sim::HostSpec& host, WorldInProgress& into);

/// Reads a [host.config] to the end of the table.
void read_config(Table& table, Config& config);

bool is_device(const sim::World& world, sim::NodeRef node);
/// Adds an application of which at least one end is a device; the addresses are not set yet.
void add_device_app(Table& table, const sim::StationAppSpec& given, WorldInProgress& into);

/// The address of a host, which must be there.
AddressAndPrefix read_address(Table& table);

/// Refuses a name or an address that another node has.
void add_node(Table& table, sim::Name name, sim::NodeRef node, WorldInProgress& into);
void claim_address(Table& table, IpAddress address, sim::Name owner, WorldInProgress& into);

/// The host, switch or other node of this name.
sim::NodeRef node_named(Table& table, std::string_view key, const WorldInProgress& in);

/// Reads the key `name`, which must be unique among nodes or links, and sets the table's title to
/// it.
sim::Name read_name(Table& table, const std::string& kind);
sim::HostIndex host_named(Table& table, std::string_view key, const WorldInProgress& in);
Duration read_duration(Table& table, std::string_view key, Duration otherwise);
std::uint64_t read_bytes(Table& table, std::string_view key, std::uint64_t otherwise);

/// Each reads a key that is a fixed quantity or words that say how it is drawn. A key that is
/// missing changes nothing.
void read_time_or_draw(Table& table, std::string_view key, Duration& fixed, sim::Draw& draw);
void read_size_or_draw(Table& table, std::string_view key, std::uint64_t& fixed, sim::Draw& draw);
sim::ArrivalSpec read_arrivals(Table& table);
/// Refuses draws that the model of the application does not make.
void check_draws(Table& table, const sim::AppSpec& app);

}  // namespace lockstep::tools
