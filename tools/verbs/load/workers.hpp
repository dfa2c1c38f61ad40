// A load that is divided among the workers of one host, and its total result.
#pragma once

#include <optional>
#include <vector>

#include "core/units/shard.hpp"
#include "tools/lib/load/client.hpp"

namespace lockstep::tools {

/// One worker's part of connections, requests and rates; nothing if it would have no connection or
/// no request. The parts of all workers add up to the plan; a single worker gets the whole plan.
std::optional<load::LoadPlan> share_of(const load::LoadPlan& plan, ShardId worker,
                                       ShardCount workers);

struct Total {
  load::Counters counters;
  load::Counters in_time;
  Duration measured;  ///< the longest of all workers
  load::Times times;
};

/// The results of one worker so far, and their sum.
Total total_of(const load::Client& client, Instant now);
void add(Total& sum, const Total& each);
Total total_of(const std::vector<load::Client*>& clients, Instant now);

}  // namespace lockstep::tools
