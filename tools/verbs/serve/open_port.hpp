// Opens the interface of a plan, for the servers and the load.
#pragma once

#include <fmt/core.h>

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "hw/af_packet/port.hpp"
#include "hw/af_packet/setup.hpp"
#include "hw/af_xdp/port.hpp"
#include "hw/af_xdp/setup.hpp"
#include "hw/tap/port.hpp"
#include "tools/verbs/serve/plan.hpp"
#include "tools/verbs/serve/refuse.hpp"

namespace lockstep::tools {

inline std::string how_it_steers(const hw::TapInterface& tap, ShardCount shards) {
  if (shards.value == 1) {
    return {};
  }
  return fmt::format("{} queues, {}", shards.value,
                     tap.not_steered() ? "frames forwarded where need be: " + tap.not_steered().text
                                       : "each flow's frames steered to its shard");
}

/// Opens a queue for each shard, calls `go_on`, and returns its result. `go_on` gets the port's
/// type as a std::type_identity, the device of each shard, and text on how the interface is driven
/// (empty: nothing to report). Throws Failure before that if the interface cannot be opened.
template <class GoOn>
int with_ports(const ServePlan& plan, GoOn go_on_as) {
  // With --user every file is opened as that user. Before any thread begins: capabilities belong to
  // a thread, and those that it starts inherit them.
  auto const go_on = [&](auto port, auto devices, const std::string& how) {
    if (plan.user) {
      change_user(*plan.user);
    }
    drop_capabilities();
    return go_on_as(port, std::move(devices), how);
  };
  if (plan.port == PortKind::tap) {
    hw::TapInterface tap;
    refuse(tap.open(plan.tap));
    std::string const how = how_it_steers(tap, plan.shards);
    return go_on(std::type_identity<hw::TapPort>{}, tap.take_devices(), how);
  }
  Count const queues{plan.shards.value};
  hw::InterfaceFacts facts;
  if (plan.port == PortKind::packet) {
    std::vector<hw::Descriptor> sockets;
    refuse(hw::open_packet_sockets({.name = plan.interface}, queues, sockets, facts));
    return go_on(std::type_identity<hw::AfPacketPort>{}, std::move(sockets), std::string());
  }
  std::vector<hw::XdpDevice> devices;
  refuse(hw::open_xdp_queues({plan.interface, plan.config.mtu, plan.place, plan.must_be_zero_copy},
                             queues, plan.cpus, devices, facts));
  std::string how = text_of(devices.front().mode);
  if (plan.shards.value > 1) {
    how += fmt::format(", {} queues, one a shard", plan.shards.value);
  }
  return go_on(std::type_identity<hw::XdpPort>{}, std::move(devices), how);
}

}  // namespace lockstep::tools
