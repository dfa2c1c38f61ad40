// Describes a world as text, for the report of a failure.
#include <fmt/core.h>

#include "core/stack/config_fields.hpp"
#include "tools/verbs/swarm/swarm.hpp"

namespace lockstep::tools {
namespace {

double milliseconds(Duration duration) { return static_cast<double>(duration.ns) / 1e6; }

// The fields that differ from those of a bare Config.
std::string words_of(const Config& config) {
  std::vector<std::uint64_t> usual;
  Config const bare;
  visit_fields(bare, [&](std::string_view, Unit, FieldRange, const auto& value) {
    usual.push_back(number_of(value));
  });
  std::string text;
  std::size_t at = 0;
  visit_fields(config, [&](std::string_view name, Unit unit, FieldRange, const auto& value) {
    std::uint64_t const number = number_of(value);
    if (number != usual[at++]) {
      text += unit == Unit::duration ? fmt::format(" {}={}ms", name, milliseconds({number}))
                                     : fmt::format(" {}={}", name, number);
    }
  });
  return text;
}

std::string words_of(const sim::Active& active) {
  std::string text =
      fmt::format("{} to {} ms", milliseconds({active.from.ns}), milliseconds({active.until.ns}));
  if (active.every.ns != 0) {
    text += fmt::format(", {} of every {} ms", milliseconds(active.lasting),
                        milliseconds(active.every));
  }
  return text;
}

std::string name_of_node(const sim::World& world, sim::NodeRef node) {
  switch (node.kind) {
    case sim::NodeKind::host:
      return std::string(world.hosts[node.index].name.view());
    case sim::NodeKind::station:
      return std::string(world.stations[node.index].name.view());
    case sim::NodeKind::learning_switch:
      return std::string(world.switches[node.index].name.view());
    case sim::NodeKind::router:
      return std::string(world.routers[node.index].name.view());
  }
  return {};
}

std::string words_of(const sim::LaneSpec& lane) {
  std::string text =
      fmt::format("{} bit/s, {} ms, queue {} packets {} bytes, MTU {}", lane.rate_bits_per_second,
                  milliseconds(lane.delay), lane.queue_packets, lane.queue_bytes, lane.mtu_bytes);
  if (lane.output.discipline != sim::DisciplineKind::tail_drop) {
    text += fmt::format(", {}", sim::name_of(lane.output.discipline));
  }
  if (lane.output.shape_bits_per_second != 0) {
    text += fmt::format(", shaped to {} bit/s", lane.output.shape_bits_per_second);
  }
  return text + (lane.output.trace_ms.empty() ? "" : ", a rate trace");
}

std::string words_of(const sim::AppDraws& draws) {
  std::string text;
  for (const auto& [name, draw] :
       {std::pair{"start", &draws.start}, std::pair{"bytes", &draws.bytes},
        std::pair{"think", &draws.think}}) {
    text += draw->is_random() ? fmt::format(", {} drawn", name) : "";
  }
  return text + (draws.arrivals.kind == sim::ArrivalKind::regular ? "" : ", arrivals drawn");
}

std::string words_of(const sim::World& world, const sim::AppSpec& app) {
  return fmt::format(
      "  app {} {} -> {} port {}: start {} ms, {} flows {} ms apart, {} times, {} rounds, think "
      "{} ms, {} bytes, reply {}, read {} every {} ms after {} ms, lend {}, urgent {}, fast open "
      "{}, close_mode {}{}\n",
      app.model.view(), world.hosts[app.client.value].name.view(),
      world.hosts[app.server.value].name.view(), app.port.value, milliseconds(app.start), app.flows,
      milliseconds(app.stagger), app.repeat, app.rounds, milliseconds(app.think), app.bytes,
      app.reply_bytes, app.read_bytes, milliseconds(app.read_every), milliseconds(app.read_after),
      app.lend, app.urgent_every, app.fast_open, static_cast<int>(app.close_mode),
      words_of(app.draws));
}

}  // namespace

std::string describe(const sim::World& world) {
  std::string text;
  for (const sim::HostSpec& host : world.hosts) {
    text += fmt::format("  host {}: origin {} ns, skew {} ppb, poll {} ms, rings {}/{},{}\n",
                        host.name.view(), host.clock.origin.ns, host.clock.skew_ppb,
                        milliseconds(host.poll), host.transmit_ring, host.receive_ring,
                        words_of(host.config));
  }
  for (const sim::StationSpec& station : world.stations) {
    text += fmt::format("  station {} ({}): {} acts, one in {} ms\n", station.name.view(),
                        station.model.view(), station.acts, milliseconds(station.every));
  }
  for (const sim::RouterSpec& router : world.routers) {
    text += fmt::format("  router {}\n", router.name.view());
  }
  for (const sim::LinkSpec& link : world.links) {
    text += fmt::format("  link {} {} - {}: {}; back {}\n", link.name.view(),
                        name_of_node(world, link.a), name_of_node(world, link.b),
                        words_of(link.forward), words_of(link.back));
  }
  for (const sim::AppSpec& app : world.apps) {
    text += words_of(world, app);
  }
  for (const sim::LaneFaultSpec& fault : world.lane_faults) {
    text += fmt::format("  fault {} on {}{}{}: {}\n", sim::name_of(sim::kind_of(fault.fault)),
                        world.links[fault.link].name.view(), fault.forward ? " forward" : "",
                        fault.back ? " back" : "", words_of(fault.active));
  }
  for (const sim::HostFaultSpec& fault : world.host_faults) {
    text += fmt::format("  fault {} of {}: {}\n", sim::name_of(sim::kind_of(fault.fault)),
                        world.hosts[fault.host.value].name.view(), words_of(fault.active));
  }
  return text;
}

}  // namespace lockstep::tools
