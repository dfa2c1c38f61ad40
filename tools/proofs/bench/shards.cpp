// The shards of the server, the port before them, and the client.
#include "tools/proofs/bench/shards.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/stack/shard.hpp"
#include "core/stack/statistics.hpp"
#include "tools/lib/journal/recorder.hpp"
#include "tools/proofs/bench/shard_parts.hpp"

namespace lockstep::tools::benchmark {

struct ShardedTransactions::Parts {
  explicit Parts(const ShardSettings& asked)
      : settings(asked),
        mesh(asked.shards, frame_max),
        client_config(config_of(pair_settings(asked.at_once, {1}), false)),
        client_arena(Stack::arena_bytes(client_config)),
        client(client_config, client_arena.bytes()),
        client_port(to_client, to_servers, clock),
        caller{.at_once = asked.at_once.value} {
    for (std::uint32_t i = 0; i < asked.shards.value; ++i) {
      shards.push_back(std::make_unique<Shard>(asked, ShardId{i}, to_client, mesh, clock));
    }
    if (!asked.journal.empty()) {
      Shard& alone = *shards.front();
      writer.emplace(asked.journal);
      log.emplace(*writer, alone.config.frames_per_turn);
      recorder.emplace(alone.port, *log, alone.stack);
      noted.emplace(alone.app, *log);
    }
  }

  // Puts each frame into the queue of its shard, as a NIC does.
  void steer() {
    while (to_servers.waiting() != 0) {
      auto const frame = to_servers.frame(0);
      Ring& into = shards[home_of(LinkType::ethernet, frame, settings.shards).value]->in;
      if (into.full()) {
        return;
      }
      std::copy(frame.begin(), frame.end(), into.room().begin());
      into.push(static_cast<std::uint16_t>(frame.size()));
      to_servers.pop(Count{1});
    }
  }

  // The function whose instructions tools/bench counts: the work of the shards. One shard turns
  // after each turn of the client, so that on average a shard has as many frames per turn as a
  // single one has: on a real machine n shards, each on its own core, serve n times the load.
  [[gnu::noinline]] bool turn_shards() {
    Shard& shard = *shards[next_shard];
    next_shard = next_shard + 1 == shards.size() ? 0 : next_shard + 1;
    // A shard without work sleeps.
    if (shard.in.waiting() == 0 && shard.stack.deadline() > clock) {
      return false;
    }
    return turn_one(shard) != Outcome::idle;
  }

  Outcome turn_one(Shard& shard) {
    if (settings.shards.value != 1) {
      return turn(shard.stack, shard.among, shard.app);
    }
    if (!log) {
      return turn(shard.stack, shard.port, shard.app);
    }
    Outcome const outcome = turn(shard.stack, *recorder, *noted);
    log->flush();  // as before each sleep
    return outcome;
  }

  void step() {
    Outcome const first = turn(client, client_port, caller);
    steer();
    bool const worked = turn_shards();
    clock = clock + Duration::microseconds(1);
    idle_steps = first == Outcome::idle && !worked ? idle_steps + 1 : 0;
    if (idle_steps >= shards.size()) {
      Instant next = client.deadline();
      for (auto const& shard : shards) {
        next = earlier(next, shard->stack.deadline());
      }
      clock = next.is_never() ? clock : later(clock, next);
    }
  }

  std::uint64_t frames() const {
    std::uint64_t sum = client_port.frames_sent;
    for (auto const& shard : shards) {
      sum += shard->port.frames_sent;
    }
    return sum;
  }

  template <class Of>
  std::uint64_t sum_of(Of of) const {
    std::uint64_t sum = of(client.statistics());
    for (auto const& shard : shards) {
      sum += of(shard->stack.statistics());
    }
    return sum;
  }

  ShardSettings settings;
  Instant clock = Instant{} + Duration::seconds(1000);
  Ring to_servers{frame_max};
  Ring to_client{frame_max};
  hw::Mesh mesh;
  Config client_config;
  Arena client_arena;
  Stack client;
  Port client_port;
  ShortCaller caller;
  std::vector<std::unique_ptr<Shard>> shards;
  std::size_t next_shard = 0;
  std::size_t idle_steps =
      0;  // consecutive; one for each shard means that nothing is left to do now
  std::optional<journal::Writer> writer;
  std::optional<journal::TurnLog> log;
  std::optional<journal::Recorder<Port>> recorder;
  std::optional<journal::Noted<ShortAnswerer>> noted;
};

ShardedTransactions::ShardedTransactions(const ShardSettings& settings)
    : parts_(std::make_unique<Parts>(settings)) {
  hw::Trouble const trouble = parts_->mesh.open();
  CHECK(!trouble);
}
ShardedTransactions::~ShardedTransactions() = default;

void ShardedTransactions::warm_up() {
  Parts& p = *parts_;
  std::uint64_t const target = p.caller.finished + 1'000;
  while (p.caller.finished < target || p.caller.live < p.settings.at_once.value) {
    p.step();
  }
}

Result ShardedTransactions::run() {
  Parts& p = *parts_;
  std::uint64_t const finished_before = p.caller.finished;
  std::uint64_t const received_before = p.caller.received;
  std::uint64_t const frames_before = p.frames();
  Stopwatch const watch;
  while (p.caller.finished < finished_before + p.settings.count) {
    p.step();
  }
  Result result;
  result.nanoseconds = watch.nanoseconds();
  result.units = p.caller.finished - finished_before;
  result.bytes = (p.caller.received - received_before) * 2;
  result.frames = p.frames() - frames_before;
  result.retransmissions =
      p.sum_of([](const Statistics& each) { return each.tcp.retransmissions; });
  result.drops = p.sum_of([](const Statistics& each) {
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < drop_count; ++i) {
      sum += each.drops.of(static_cast<Drop>(i));
    }
    return sum;
  });
  return result;
}

std::uint64_t ShardedTransactions::forwarded() const {
  std::uint64_t sum = 0;
  for (auto const& shard : parts_->shards) {
    sum += shard->among.counters().forwarded;
  }
  return sum;
}

}  // namespace lockstep::tools::benchmark
