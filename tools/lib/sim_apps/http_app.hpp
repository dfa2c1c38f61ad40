// `model = "http"` of a world's [[app]]: the server of tools/lib/http, the client of
// tools/lib/load.
#pragma once

#include "sim/kernel/registry.hpp"

namespace lockstep::tools {

/// The name of the model. The client keeps `flows` connections open and requests a body of
/// `reply_bytes` on each at most `rounds` times, with a pause of `think` before each request except
/// the first, until it has sent `flows` * `repeat` * `rounds` requests in total; faster connections
/// send more of them. Each octet of a body is checked.
inline constexpr std::string_view http_model = "http";

/// The client binds one region to lend from, the server two; the server's first is the region of
/// the pattern that the kernel's own models lend.
inline constexpr Count http_regions{2};

void add_http(sim::Registry& registry);

/// Everything that a world's file may name, except what belongs to a single tool: sim's own models
/// and stations, this model, and the NICs.
sim::Registry world_registry();

}  // namespace lockstep::tools
