// Divides a load among workers, and adds up their results.
#include "tools/verbs/load/workers.hpp"

#include <algorithm>

namespace lockstep::tools {
namespace {

/// If a number does not divide evenly, each of the first workers gets one more.
template <class Number>
Number part_of(Number all, ShardId worker, ShardCount workers) {
  return static_cast<Number>(all / workers.value + (worker.value < all % workers.value ? 1 : 0));
}

void add(load::Counters& to, const load::Counters& more) {
  to.connections += more.connections;
  to.asked += more.asked;
  to.answered += more.answered;
  to.body_octets += more.body_octets;
  to.updates += more.updates;
  to.misses += more.misses;
  for (std::uint32_t i = 0; i < load::fault_count; ++i) {
    to.faults[i] += more.faults[i];
  }
}

}  // namespace

std::optional<load::LoadPlan> share_of(const load::LoadPlan& plan, ShardId worker,
                                       ShardCount workers) {
  load::LoadPlan mine = plan;
  mine.connections = part_of(plan.connections, worker, workers);
  mine.connecting_max = std::max(part_of(plan.connecting_max, worker, workers), 1u);
  mine.requests = part_of(plan.requests, worker, workers);
  mine.rate = part_of(plan.rate, worker, workers);
  if (plan.connects_a_second != 0) {
    mine.connects_a_second =
        std::max(part_of(plan.connects_a_second, worker, workers), std::uint64_t{1});
  }
  mine.seed = plan.seed + worker.value;
  // 0 requests or a rate of 0 would mean no limit and no schedule.
  bool const idle = mine.connections == 0 || (plan.requests != 0 && mine.requests == 0) ||
                    (plan.rate != 0 && mine.rate == 0);
  return idle ? std::nullopt : std::optional(mine);
}

Total total_of(const load::Client& client, Instant now) {
  return {client.counters(), client.counters_in_time(), client.measured(now), client.times()};
}

void add(Total& sum, const Total& each) {
  add(sum.counters, each.counters);
  add(sum.in_time, each.in_time);
  sum.measured = std::max(sum.measured, each.measured);
  sum.times.latency.add(each.times.latency);
  sum.times.connect.add(each.times.connect);
  sum.times.rtt.add(each.times.rtt);
}

Total total_of(const std::vector<load::Client*>& clients, Instant now) {
  Total out;
  for (load::Client const* each : clients) {
    add(out, total_of(*each, now));
  }
  return out;
}

}  // namespace lockstep::tools
