// The ports that scenarios and cells of the matrix can be run on, by name.
#pragma once

#include <string_view>
#include <vector>

#include "sim/kernel/registry.hpp"
#include "tools/lib/pair/bench.hpp"

namespace lockstep::tools {

/// Nothing but a name: the plain port.
struct PortKind {
  std::string_view name = "plain";
  BenchMaker bench = nullptr;
  sim::NicMaker nic = nullptr;
  /// Gives each host of a world that can have it such a NIC; how many were given.
  std::uint32_t (*give)(sim::World& world) = nullptr;
};

/// plain, mpipe, and what was added.
const std::vector<PortKind>& port_kinds();
std::vector<std::string_view> port_names();
/// CHECKs that there is one of that name.
const PortKind& port_kind(std::string_view name);

/// For a program that brings one of its own, which is the one that its verbs use unless they are
/// told otherwise. Before verbs are registered.
void add_port_kind(const PortKind& kind);
std::string_view usual_port();

}  // namespace lockstep::tools
