// The counters of a load, per shard, also in Prometheus' text format.
#pragma once

#include <string>
#include <vector>

#include "tools/lib/load/client.hpp"
#include "tools/verbs/load/workers.hpp"
#include "tools/verbs/serve/totals.hpp"

namespace lockstep::tools {

/// All counters of a load at one moment.
struct LoadTotals : ShardTotals {
  Total load;
  load::Gauges gauges;
  bool has_connected = false;
};

/// Adds another shard's counters.
void add(LoadTotals& sum, const LoadTotals& each);

/// All counters of each shard, labelled with its number.
std::string load_metrics(const std::vector<LoadTotals>& shards);

}  // namespace lockstep::tools
