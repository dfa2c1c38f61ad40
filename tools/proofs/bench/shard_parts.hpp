// One shard of a server that answers short connections from memory.
#pragma once

#include "core/stack/shard.hpp"
#include "hw/shards/port.hpp"
#include "tools/lib/pair/pair.hpp"
#include "tools/proofs/bench/shards.hpp"
#include "tools/proofs/bench/short_talk.hpp"

namespace lockstep::tools::benchmark {

inline constexpr Bytes frame_max{1514};

inline PairSettings pair_settings(Count at_once, ShardCount shards) {
  // Room for a share that happens to be twice the average, and for connections that have just
  // ended.
  Count const share{at_once.value / shards.value * 2 + 1024};
  PairSettings out;
  out.link = LinkType::ethernet;
  out.connections_max = share;
  out.active_max = share;
  return out;
}

inline Config shard_config(const ShardSettings& settings, ShardId shard) {
  Config config = config_of(pair_settings(settings.at_once, settings.shards), true);
  config.tcp.shards = Count{settings.shards.value};
  config.tcp.shard = Count{shard.value};
  return config;
}

struct Shard {
  Shard(const ShardSettings& settings, ShardId self, Ring& to_client, hw::Mesh& mesh,
        const Instant& clock)
      : in(frame_max),
        config(shard_config(settings, self)),
        arena(Stack::arena_bytes(config)),
        stack(config, arena.bytes()),
        port(in, to_client, clock),
        among(port, mesh, self, Count{config.burst_frames.value}) {
    listen_everywhere(stack, settings.at_once);
  }

  Ring in;
  Config config;
  Arena arena;
  Stack stack;
  Port port;
  hw::ShardPort<Port> among;
  ShortAnswerer app;
};

}  // namespace lockstep::tools::benchmark
