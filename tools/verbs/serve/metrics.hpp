// What a server counts, in the text format that Prometheus reads.
#pragma once

#include <string>
#include <vector>

#include "core/units/address.hpp"
#include "tools/verbs/serve/summary.hpp"

namespace lockstep::tools {

inline constexpr const char* metrics_type = "text/plain; version=0.0.4; charset=utf-8";

/// Each number of each shard, labelled by it.
std::string metrics_text(const std::vector<ServeTotals>& shards);

/// "10.9.0.2:9100" or "[2001:db8::2]:9100". Throws Failure (bad input).
Endpoint metrics_place(const std::string& text);

}  // namespace lockstep::tools
