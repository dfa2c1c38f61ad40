// What a web server's run came to: a summary at its end.
#pragma once

#include <string>
#include <vector>

#include "core/units/shard.hpp"
#include "tools/lib/http/server.hpp"
#include "tools/verbs/serve/totals.hpp"

namespace lockstep::tools {

/// Everything that is counted of a web server, at one moment.
struct ServeTotals : ShardTotals {
  http::ServerCounters server;
  std::uint32_t open = 0;
};

/// Adds what another shard counted. `lasted` is the longest.
void add(ServeTotals& sum, const ServeTotals& each);
/// Connections that did not end as they should.
std::uint64_t errors_of(const http::ServerCounters& server);
/// "shard 1          1,234 connections, ...": one line of the summary.
std::string shard_text(ShardId shard, const ServeTotals& totals);
/// The same for a machine.
std::string with_shards(const std::string& summary, const std::vector<ServeTotals>& shards);

std::string summary_text(const ServeTotals& totals);
std::string summary_json(const ServeTotals& totals, hw::Ending ending);
/// "stopped", "abandoned" or "gone".
std::string_view name_of(hw::Ending ending);

}  // namespace lockstep::tools
