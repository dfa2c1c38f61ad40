// Time series of each sender's congestion control, as rows of a CSV file.
#include "tools/verbs/sim/series.hpp"

#include <fmt/core.h>

namespace lockstep::tools {

Series::Series(AtomicFile& into) : into_(into) {
  into_.put(
      "time_ns,flow,cwnd,ssthresh,flight,acked,srtt_ns,rtt_ns,retransmissions,queue,marked,"
      "w_max,alpha,pacing_rate\n");
}

void Series::turned(const sim::Kernel& kernel, sim::HostIndex host, Outcome) {
  for (const sim::Flow& flow : kernel.ledger().flows()) {
    const sim::FlowEnd& end = flow.end(sim::Side::opener);
    if (end.begun && end.open && !end.station && end.host == host && !flow.joined) {
      add(kernel, flow, kernel.host(host).stack().inspect(end.id));
    }
  }
}

void Series::station_ran(const sim::Kernel& kernel, std::uint32_t station) {
  for (const sim::Flow& flow : kernel.ledger().flows()) {
    const sim::FlowEnd& end = flow.end(sim::Side::opener);
    if (end.begun && end.open && end.station && end.host.value == station) {
      add(kernel, flow, end.last);
    }
  }
}

void Series::add(const sim::Kernel& kernel, const sim::Flow& flow, const ConnectionInfo& info) {
  if (!info.exists || info.detached) {
    return;
  }
  sim::Lane const* const lane = kernel.bus().lane_count() == 0 ? nullptr : &kernel.bus().lane({0});
  const std::uint32_t queue = lane == nullptr ? 0 : kernel.bus().seen_waiting({0}, kernel.now());
  Last& last = last_.try_emplace(flow.id.value, Last{.una = info.send.iss}).first->second;
  last.acked += info.send.una.since(last.una).count;
  const bool same = last.cwnd == info.cwnd.count && last.ssthresh == info.ssthresh.count &&
                    last.una == info.send.una && last.queue == queue &&
                    last.retransmissions == info.retransmissions;
  if (same) {
    return;
  }
  last = {info.cwnd.count, info.ssthresh.count,  info.send.una,
          last.acked,      info.retransmissions, queue};
  into_.put(fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", kernel.now().ns,
                        flow.id.value, info.cwnd.count, info.ssthresh.count,
                        info.send.nxt.since(info.send.una).count, last.acked, info.srtt.ns,
                        info.rate.valid ? info.rate.rtt.ns : 0, info.retransmissions, queue,
                        lane == nullptr ? 0 : lane->counters().marked, info.w_max.count, info.alpha,
                        info.pacing_rate));
}

}  // namespace lockstep::tools
