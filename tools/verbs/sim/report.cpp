// The tables of a run.
#include "tools/verbs/sim/report.hpp"

#include <fmt/core.h>

#include <vector>

#include "core/stack/statistics.hpp"
#include "sim/kernel/seed_use.hpp"
#include "tools/base/output/table.hpp"
#include "tools/base/text/units.hpp"
#include "tools/lib/sim_report/measures.hpp"
#include "tools/lib/sim_report/report_json.hpp"

namespace lockstep::tools {
namespace {

using sim::Flow;
using sim::FlowEnd;
using sim::Side;

using Align = TextTable::Align;

std::uint64_t segments_of(const Flow& flow) {
  return flow.ends[0].last.segments_sent + flow.ends[1].last.segments_sent;
}

std::uint64_t retransmissions_of(const Flow& flow) {
  return flow.ends[0].last.retransmissions + flow.ends[1].last.retransmissions;
}

void add_connection(TextTable& table, const Flow& flow, Instant now) {
  const FlowEnd& opener = flow.end(Side::opener);
  const FlowEnd& acceptor = flow.end(Side::acceptor);
  const FlowEnd& busy = flow.end(busy_side(flow));
  const FlowEnd& reader = flow.end(other(busy_side(flow)));
  const auto rtt = busy.rtt.summary();
  const auto measured = [&](Duration time) { return rtt.least.ns == 0 ? "-" : text_of(time); };
  table.add({std::string(flow.app.view()), endpoint_text(flow.tuple.local),
             endpoint_text(flow.tuple.remote), grouped(acceptor.read), grouped(opener.read),
             rate_text(goodput_bits_per_second(reader)), grouped(segments_of(flow)),
             grouped(retransmissions_of(flow)), measured(rtt.least), measured(rtt.median),
             measured(rtt.percentile_99),
             busy.last.cwnd.count == 0 ? "-" : grouped(busy.last.cwnd.count),
             text_of(ended(flow, now).since(opener.began)), std::string(outcome_of(flow))});
}

std::string connections_text(const sim::Kernel& kernel, std::size_t width) {
  constexpr std::size_t shown_max = 200;
  TextTable table({{"connection", Align::left},
                   {"from"},
                   {"to"},
                   {"bytes"},
                   {"bytes back"},
                   {"goodput"},
                   {"segments"},
                   {"retransmitted"},
                   {"rtt min"},
                   {"median"},
                   {"p99"},
                   {"cwnd"},
                   {"duration"},
                   {"end", Align::left}});
  std::size_t shown = 0;
  std::size_t left_out = 0;
  for (const Flow& flow : kernel.ledger().flows()) {
    if (flow.joined) {
      continue;
    }
    if (shown == shown_max) {
      ++left_out;
      continue;
    }
    ++shown;
    add_connection(table, flow, kernel.now());
  }
  if (shown == 0) {
    return "no connection was opened\n";
  }
  std::string out = table.text(width);
  if (left_out != 0) {
    out += fmt::format("and {} more: --json has them all\n", left_out);
  }
  return out;
}

std::string drops_text(const sim::LaneCounters& lane) {
  std::string out;
  for (std::uint32_t i = 0; i < sim::link_drop_count; ++i) {
    if (lane.drops[i] != 0) {
      out += fmt::format("{}{}={}", out.empty() ? "" : " ", name_of(static_cast<sim::LinkDrop>(i)),
                         grouped(lane.drops[i]));
    }
  }
  return out.empty() ? "-" : out;
}

std::string lanes_text(const sim::Kernel& kernel, std::size_t width) {
  TextTable table({{"link", Align::left},
                   {"way", Align::left},
                   {"frames"},
                   {"delivered"},
                   {"bytes"},
                   {"copied"},
                   {"changed"},
                   {"queue"},
                   {"marked"},
                   {"drops", Align::left}});
  for (std::uint32_t i = 0; i < kernel.bus().lane_count(); ++i) {
    const sim::LaneCounters& lane = kernel.bus().lane({i}).counters();
    table.add({std::string(kernel.world().links[i / 2].name.view()),
               i % 2 == 0 ? "forward" : "back", grouped(lane.frames_offered),
               grouped(lane.frames_delivered), grouped(lane.bytes_delivered),
               grouped(lane.duplicated), grouped(lane.replaced), grouped(lane.queue_packets_most),
               grouped(lane.marked), drops_text(lane)});
  }
  return table.text(width);
}

std::string drops_text(const Statistics& statistics) {
  std::string out;
  for (std::uint32_t reason = 0; reason < drop_count; ++reason) {
    const auto count = statistics.drops.of(static_cast<Drop>(reason));
    if (count != 0) {
      out += fmt::format("{}{}={}", out.empty() ? "" : " ", name_of(static_cast<Drop>(reason)),
                         grouped(count));
    }
  }
  return out.empty() ? "-" : out;
}

std::string hosts_text(const sim::Kernel& kernel, std::size_t width) {
  TextTable table({{"host", Align::left},
                   {"sent"},
                   {"received"},
                   {"turns"},
                   {"retransmitted"},
                   {"timeouts"},
                   {"drops", Align::left}});
  for (std::uint32_t i = 0; i < kernel.host_count(); ++i) {
    const sim::Host& host = kernel.host({i});
    const Statistics& statistics = host.stack().statistics();
    table.add({std::string(host.spec().name.view()), grouped(statistics.frames_sent),
               grouped(statistics.frames_received), grouped(host.state().turns),
               grouped(statistics.tcp.retransmissions), grouped(statistics.tcp.timeouts),
               drops_text(statistics)});
  }
  const sim::World& world = kernel.world();
  for (std::uint32_t i = 0; i < world.stations.size(); ++i) {
    if (!world.stations[i].device.empty()) {
      const sim::LaneId out = kernel.bus().lane_from({sim::NodeKind::station, i});
      table.add({std::string(world.stations[i].name.view()),
                 grouped(kernel.bus().lane(out).counters().frames_offered),
                 grouped(kernel.bus().lane(sim::Bus::twin(out)).counters().frames_delivered), "-",
                 "-", "-", fmt::format("device {}", world.stations[i].device.view())});
    }
  }
  return table.text(width);
}

}  // namespace

std::string report_text(const sim::Kernel& kernel, sim::Ending ending, std::size_t width) {
  std::string out = connections_text(kernel, width) + "\n" + lanes_text(kernel, width) + "\n" +
                    hosts_text(kernel, width) + "\n" + totals_text(kernel);
  out += fmt::format(
      "{} seed {}: {} after {} of virtual time, {} frames sent,\n"
      "fingerprint {:016x}\n",
      kernel.world().name.view(), kernel.seed(), name_of(ending),
      text_of(kernel.now().since(Instant{0})), grouped(all_frames_of(kernel)),
      kernel.fingerprint());
  if (sim::seed_uses(kernel.world()).empty()) {
    out += "nothing is drawn from the seed: every seed gives these times and sizes\n";
  }
  return out;
}

bool all_well(const sim::Kernel& kernel, sim::Ending ending) {
  for (const Flow& flow : kernel.ledger().flows()) {
    if (!flow.ends[0].intact || !flow.ends[1].intact) {
      return false;
    }
  }
  return ending == sim::Ending::completed;
}

}  // namespace lockstep::tools
