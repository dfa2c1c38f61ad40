// A load that the workers of one host share, and what came of it in all.
#pragma once

#include <optional>
#include <vector>

#include "core/units/shard.hpp"
#include "tools/lib/load/client.hpp"

namespace lockstep::tools {

/// One worker's part of connections, requests and rates; nothing: it has none to make or to ask
/// for. The parts of all workers are the plan, and of one worker it is the plan itself.
std::optional<load::LoadPlan> share_of(const load::LoadPlan& plan, ShardId worker,
                                       ShardCount workers);

struct Total {
  load::Counters counters;
  load::Counters in_time;
  Duration measured;  ///< the longest of all
  load::Times times;
};

/// What came of one worker so far, and all of that together.
Total total_of(const load::Client& client, Instant now);
void add(Total& sum, const Total& each);
Total total_of(const std::vector<load::Client*>& clients, Instant now);

}  // namespace lockstep::tools
