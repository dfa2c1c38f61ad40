// The parts of reading a world: names to positions, and one function a kind of table.
#pragma once

#include <map>
#include <set>
#include <string>

#include "sim/kernel/spread.hpp"
#include "sim/kernel/world.hpp"
#include "tools/base/text/toml_table.hpp"

namespace lockstep::tools {

/// What has been read so far: later tables name what earlier ones made.
struct WorldInProgress {
  sim::World world;
  std::map<std::string, sim::NodeRef> nodes;
  std::map<std::string, std::uint32_t> links;
  std::map<std::string, std::string> addresses;  // of whom each is
  std::set<std::string> apps, faults;
  struct OnNicOf {
    sim::HostIndex first;
    sim::HostIndex other;
  };
  // Of hosts, once everything is read.
  std::vector<OnNicOf> nics_shared;
  std::vector<sim::Spreading> spreadings;
};

/// Each reads one table to its end and adds what it says.
void read_host(Table& table, WorldInProgress& into);
void read_switch(Table& table, WorldInProgress& into);
void read_adversary(Table& table, WorldInProgress& into);
void read_link(Table& table, WorldInProgress& into);
void read_app(Table& table, WorldInProgress& into);
void read_fault(Table& table, WorldInProgress& into);

/// `driver` and [host.NIC] of a host whose table is `table` and which comes next; or, in place of
/// these, `same_nic_as`: whose NIC this one's link is another link of.
void read_nic(Table& table, sim::HostSpec& host, WorldInProgress& into);

/// What a [host.config] says, to the end of the table.
void read_config(Table& table, Config& config);

/// The key `name`, which must be new among nodes or links; sets the table's title by it.
sim::Name read_name(Table& table, const std::string& kind);
sim::HostIndex host_named(Table& table, std::string_view key, const WorldInProgress& in);
Duration read_duration(Table& table, std::string_view key, Duration otherwise);
std::uint64_t read_bytes(Table& table, std::string_view key, std::uint64_t otherwise);

}  // namespace lockstep::tools
