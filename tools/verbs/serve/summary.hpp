// The summary of a web server's run.
#pragma once

#include <string>
#include <vector>

#include "core/units/shard.hpp"
#include "tools/lib/http/server.hpp"
#include "tools/lib/load/histogram.hpp"
#include "tools/verbs/serve/totals.hpp"

namespace lockstep::tools {

/// All counters of a web server at one moment.
struct ServeTotals : ShardTotals {
  http::ServerCounters server;
  std::uint32_t open = 0;
  load::Histogram latency;  ///< from a request's first octet to the last ACK
  load::Histogram rtt;      ///< of connections, smoothed
};

/// Adds another shard's counters. `lasted` is the longest.
void add(ServeTotals& sum, const ServeTotals& each);
/// Connections that ended with an error.
std::uint64_t errors_of(const http::ServerCounters& server);
/// "shard 1          1,234 connections, ...": one line of the summary.
std::string shard_text(ShardId shard, const ServeTotals& totals);
/// The same as JSON.
std::string with_shards(const std::string& summary, const std::vector<ServeTotals>& shards);
/// Adds the lines of the access log to the JSON.
std::string with_access_log(const std::string& summary, std::uint64_t lines, std::uint64_t lost);

std::string summary_text(const ServeTotals& totals);
std::string summary_json(const ServeTotals& totals, hw::Ending ending);
/// "stopped", "abandoned" or "gone".
std::string_view name_of(hw::Ending ending);

}  // namespace lockstep::tools
