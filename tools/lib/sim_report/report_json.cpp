// The report of a run as JSON.
#include "tools/lib/sim_report/report_json.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "sim/kernel/seed_use.hpp"
#include "tools/base/output/json.hpp"
#include "tools/lib/sim_report/measures.hpp"

namespace lockstep::tools {
namespace {

using nlohmann::ordered_json;
using sim::Flow;
using sim::FlowEnd;

ordered_json end_json(const sim::Kernel& kernel, const FlowEnd& end) {
  const auto rtt = end.rtt.summary();
  return {{"host", host_of(kernel, end)},
          {"written", end.written},
          {"read", end.read},
          {"intact", end.intact},
          {"goodput_bits_per_second", goodput_bits_per_second(end)},
          {"segments_sent", end.last.segments_sent},
          {"retransmissions", end.last.retransmissions},
          {"cwnd_bytes", end.last.cwnd.count},
          {"rtt_min_ns", rtt.least.ns},
          {"rtt_median_ns", rtt.median.ns},
          {"rtt_p99_ns", rtt.percentile_99.ns},
          {"open", end.open},
          {"cause", name_of(end.cause)}};
}

ordered_json flow_json(const sim::Kernel& kernel, const Flow& flow) {
  ordered_json out{{"connection", flow.id.value},
                   {"app", flow.app.view()},
                   {"from", endpoint_text(flow.tuple.local)},
                   {"to", endpoint_text(flow.tuple.remote)},
                   {"outcome", outcome_of(flow)},
                   {"began_ns", flow.ends[0].began.ns},
                   {"duration_ns", ended(flow, kernel.now()).since(flow.ends[0].began).ns}};
  const char* const sides[] = {"opener", "acceptor"};
  for (std::size_t i = 0; i < 2; ++i) {
    if (flow.ends[i].begun) {
      out[sides[i]] = end_json(kernel, flow.ends[i]);
    }
  }
  return out;
}

ordered_json lane_json(const sim::Kernel& kernel, std::uint32_t index) {
  const sim::LaneCounters& lane = kernel.bus().lane({index}).counters();
  ordered_json drops = ordered_json::object();
  for (std::uint32_t i = 0; i < sim::link_drop_count; ++i) {
    if (lane.drops[i] != 0) {
      drops[std::string(name_of(static_cast<sim::LinkDrop>(i)))] = lane.drops[i];
    }
  }
  return {{"link", kernel.world().links[index / 2].name.view()},
          {"way", index % 2 == 0 ? "forward" : "back"},
          {"frames_offered", lane.frames_offered},
          {"frames_delivered", lane.frames_delivered},
          {"bytes_delivered", lane.bytes_delivered},
          {"copied", lane.duplicated},
          {"changed", lane.replaced},
          {"discipline", sim::name_of(kernel.bus().lane({index}).spec().output.discipline)},
          {"queue_packets_most", lane.queue_packets_most},
          {"marked", lane.marked},
          {"drops", drops}};
}

}  // namespace

std::uint64_t all_frames_of(const sim::Kernel& kernel) {
  std::uint64_t out = kernel.frames_sent();
  const auto& stations = kernel.world().stations;
  for (std::uint32_t i = 0; i < stations.size(); ++i) {
    const sim::LaneId lane = kernel.bus().lane_from({sim::NodeKind::station, i});
    out += stations[i].device.empty() ? 0 : kernel.bus().lane(lane).counters().frames_offered;
  }
  return out;
}

std::string report_json(const sim::Kernel& kernel, std::string_view ending) {
  const Totals totals = totals_of(kernel);
  ordered_json out{{"world", kernel.world().name.view()},
                   {"seed", kernel.seed()},
                   {"ending", ending},
                   {"virtual_ns", kernel.now().ns},
                   {"frames_sent", all_frames_of(kernel)},
                   {"fingerprint", fmt::format("{:016x}", kernel.fingerprint())},
                   {"goodput_bits_per_second", totals.goodput_bits_per_second},
                   {"jain_index", static_cast<double>(totals.jain_millionths) / 1e6},
                   {"drawn_from_seed", ordered_json::array()},
                   {"connections", ordered_json::array()},
                   {"lanes", ordered_json::array()}};
  for (const sim::SeedUse& use : sim::seed_uses(kernel.world())) {
    out["drawn_from_seed"].push_back(fmt::format("{} {}", use.kind, use.name.view()));
  }
  for (const Flow& flow : kernel.ledger().flows()) {
    if (!flow.joined) {
      out["connections"].push_back(flow_json(kernel, flow));
    }
  }
  for (std::uint32_t i = 0; i < kernel.bus().lane_count(); ++i) {
    out["lanes"].push_back(lane_json(kernel, i));
  }
  return json_text(out);
}

}  // namespace lockstep::tools
