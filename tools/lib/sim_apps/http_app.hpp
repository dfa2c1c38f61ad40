// `model = "http"` of a world's [[app]]: the server of tools/lib/http, the client of
// tools/lib/load.
#pragma once

#include "sim/kernel/registry.hpp"

namespace lockstep::tools {

/// The name of the model. The client keeps `flows` connections at once and asks on each at most
/// `rounds` times for a body of `reply_bytes`, `think` before each but the first, until it has
/// asked `flows` times `repeat` times `rounds` times: who is fast asks more often. Each octet of a
/// body is looked at.
inline constexpr std::string_view http_model = "http";

/// The client binds one region to lend from, the server two, of which the first is that of the
/// pattern that the kernel's own models lend.
inline constexpr Count http_regions{2};

void add_http(sim::Registry& registry);

/// All that a world's file may name, but for what only some tool knows: sim's own models and
/// stations, this model, and the NICs.
sim::Registry world_registry();

}  // namespace lockstep::tools
