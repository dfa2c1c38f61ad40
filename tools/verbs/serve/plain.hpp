// The verbs `lockstep serve echo` and `serve cache`: servers for loads.
#pragma once

#include "tools/verbs/serve/serve.hpp"

namespace lockstep::tools {

enum class PlainServer : unsigned char { echo, memcached };

/// Serves until SIGINT, SIGTERM or SIGHUP, then prints a summary. Throws Failure before it starts.
/// Options that belong to http only are ignored. memcached has one shard, because each shard would
/// have its own keys.
int run_serve_plain(PlainServer what, const ServeOptions& options);

}  // namespace lockstep::tools
