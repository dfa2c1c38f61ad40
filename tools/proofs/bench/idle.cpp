// Opens connections that then are idle, and counts the memory they hold.
#include "tools/proofs/bench/idle.hpp"

#include <algorithm>

#include "core/memory/timer_wheel.hpp"
#include "core/tcp/connection.hpp"
#include "core/tcp/demux.hpp"

namespace lockstep::tools::benchmark {
namespace {

constexpr std::uint16_t first_port = 80;
constexpr std::uint32_t listeners = 64;
constexpr std::uint32_t opens_per_turn = 32;

struct Opener {
  std::uint32_t wanted;
  std::uint32_t opened = 0;
  std::uint32_t connected = 0;

  void on_event(Stack&, const Event& event) {
    CHECK(event.kind == EventKind::connected);
    ++connected;
  }
  void run(Stack& stack, Instant) {
    for (std::uint32_t i = 0; i < opens_per_turn && opened < wanted; ++i) {
      Open open;
      open.local.address = client_address();
      open.remote = {server_address(),
                     {static_cast<std::uint16_t>(first_port + opened % listeners)}};
      ConnectionId id;
      if (stack.connect(open, id) != Refusal::none) {
        return;  // all active parts are in use: some handshakes must end first
      }
      ++opened;
    }
  }
};

struct Silent {
  std::uint32_t accepted = 0;
  void on_event(Stack&, const Event& event) {
    accepted += event.kind == EventKind::accepted ? 1 : 0;
  }
  void run(Stack&, Instant) {}
};

PairSettings pair_settings(const IdleSettings& settings) {
  PairSettings out;
  out.extensions = settings.extensions;
  out.link = settings.link;
  out.connections_max = settings.connections;
  out.active_max = Count{std::max(settings.connections.value / 100, 1024u)};
  return out;
}

std::uint64_t arena_for(const IdleSettings& settings, Count connections) {
  Config config = config_of(pair_settings(settings), true);
  config.tcp.connections_max = connections;
  return Stack::arena_bytes(config);
}

void count_memory(const IdleSettings& settings, IdleResult& result) {
  std::uint64_t const count = settings.connections.value;
  result.arena_bytes = arena_for(settings, settings.connections) - arena_for(settings, Count{1});
  // Its entry in the timer wheel is in a separate array.
  result.shares = {{"connection record", count * sizeof(tcp::Connection)},
                   {"timer", count * (sizeof(memory::TimerNode) + sizeof(std::uint16_t))}};
  std::uint64_t sum = 0;
  for (Share const& share : result.shares) {
    sum += share.bytes;
  }
  result.shares.push_back({"demultiplexing table", result.arena_bytes - sum});
}

}  // namespace

IdleResult run_idle(const IdleSettings& settings) {
  IdleResult result;
  count_memory(settings, result);
  Pair pair(pair_settings(settings));
  for (std::uint32_t i = 0; i < listeners; ++i) {
    ListenerId listener;
    Local local;
    local.port = {static_cast<std::uint16_t>(first_port + i)};
    Refusal const refused = pair.server.listen(local, Backlog{}, listener);
    CHECK(refused == Refusal::none);
  }
  Opener client{.wanted = settings.connections.value};
  Silent server;
  while (client.connected < client.wanted || server.accepted < client.wanted) {
    pair.step(client, server);
  }
  Stopwatch const watch;
  for (std::uint64_t i = 0; i < settings.turns; ++i) {
    static_cast<void>(turn(pair.server, pair.server_port, server));
  }
  result.turns.nanoseconds = watch.nanoseconds();
  result.turns.units = settings.turns;
  result.turns.retransmissions = pair.retransmissions();
  result.turns.drops = pair.drops();
  return result;
}

}  // namespace lockstep::tools::benchmark
