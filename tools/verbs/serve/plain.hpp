// The verbs `lockstep serve echo` and `serve memcached`: what a load can be tried on.
#pragma once

#include "tools/verbs/serve/serve.hpp"

namespace lockstep::tools {

enum class PlainServer : unsigned char { echo, memcached };

/// Until SIGINT or SIGTERM; then a summary. Throws Failure before it has begun. Of the options
/// those of http alone do not count; memcached is one shard: keys would be each shard's own.
int run_serve_plain(PlainServer what, const ServeOptions& options);

}  // namespace lockstep::tools
