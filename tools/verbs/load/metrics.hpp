// What a load counts, of each shard, and in the text format that Prometheus reads.
#pragma once

#include <string>
#include <vector>

#include "tools/lib/load/client.hpp"
#include "tools/verbs/load/workers.hpp"
#include "tools/verbs/serve/totals.hpp"

namespace lockstep::tools {

/// Everything that is counted of a load, at one moment.
struct LoadTotals : ShardTotals {
  Total load;
  load::Gauges gauges;
  bool has_connected = false;
};

/// Adds what another shard counted.
void add(LoadTotals& sum, const LoadTotals& each);

/// Each number of each shard, labelled by it.
std::string load_metrics(const std::vector<LoadTotals>& shards);

}  // namespace lockstep::tools
