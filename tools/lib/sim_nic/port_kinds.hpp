// The ports on which scenarios and cells of the matrix can run, by name.
#pragma once

#include <string_view>
#include <vector>

#include "sim/kernel/registry.hpp"
#include "tools/lib/pair/bench.hpp"

namespace lockstep::tools {

/// A kind of port; one with nothing but a name is the plain port.
struct PortKind {
  std::string_view name = "plain";
  BenchMaker bench = nullptr;
  sim::NicMaker nic = nullptr;
  /// Gives such a NIC to each host of a world that can have it; returns how many got one.
  std::uint32_t (*give)(sim::World& world) = nullptr;
};

/// plain, mpipe, and those added.
const std::vector<PortKind>& port_kinds();
std::vector<std::string_view> port_names();
/// CHECKs that the name exists.
const PortKind& port_kind(std::string_view name);

/// For a program that adds a port of its own: it becomes the default of the program's verbs. Call
/// before verbs are registered.
void add_port_kind(const PortKind& kind);
std::string_view usual_port();

}  // namespace lockstep::tools
