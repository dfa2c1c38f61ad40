// The counters of a server in Prometheus' text format.
#pragma once

#include <string>
#include <vector>

#include "core/units/address.hpp"
#include "tools/verbs/serve/summary.hpp"

namespace lockstep::tools {

inline constexpr const char* metrics_type = "text/plain; version=0.0.4; charset=utf-8";

/// All counters of each shard, labelled with its number.
std::string metrics_text(const std::vector<ServeTotals>& shards);

/// Parses "10.9.0.2:9100" or "[2001:db8::2]:9100". Throws Failure (bad input).
Endpoint metrics_place(const std::string& text);

}  // namespace lockstep::tools
