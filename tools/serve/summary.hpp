// What a serve run came to: a line while it runs, a summary at its end.
#pragma once

#include <string>
#include <vector>

#include "core/seam/stack.hpp"
#include "core/seam/statistics.hpp"
#include "hw/poll/loop.hpp"
#include "hw/port_counters.hpp"
#include "hw/shards/port.hpp"
#include "tools/http/server.hpp"

namespace lockstep::tools {

/// Everything that is counted, at one moment.
struct ServeTotals {
  Duration lasted;
  Statistics stack;
  http::ServerCounters server;
  hw::PortCounters port;
  hw::LoopCounters loop;
  std::uint64_t journal_bytes = 0;
  std::uint32_t open = 0;
  hw::ShardCounters shard;  ///< of frames between shards
};

/// Adds what another shard counted. `lasted` is the longest.
void add(ServeTotals& sum, const ServeTotals& each);
/// "shard 1          1,234 connections, ...": one line of the summary.
std::string shard_text(ShardId shard, const ServeTotals& totals);
/// The same for a machine.
std::string with_shards(const std::string& summary, const std::vector<ServeTotals>& shards);

/// "12 s: 34 open, 1,234 connections/s, ...": what changed since `before`.
std::string live_line(const ServeTotals& before, const ServeTotals& now);
std::string summary_text(const ServeTotals& totals);
std::string summary_json(const ServeTotals& totals, hw::Ending ending);

}  // namespace lockstep::tools
