// Threads that share only the mesh of rings between shards.
#include "tools/proofs/bench/pinned.hpp"

#include <time.h>

#include <algorithm>
#include <latch>
#include <memory>
#include <thread>

#include "tools/proofs/bench/shard_parts.hpp"

namespace lockstep::tools::benchmark {
namespace {

Config client_config(const ShardSettings& settings, ShardId self) {
  Config config = config_of(pair_settings(settings.at_once, {1}), false);
  // Draws local ports whose flows belong to this shard: the hash is the same in both directions.
  config.tcp.shards = Count{settings.shards.value};
  config.tcp.shard = Count{self.value};
  return config;
}

// The settings for all shards together, which shard_config() expects.
ShardSettings whole(ShardSettings settings) {
  settings.at_once = Count{settings.at_once.value * settings.shards.value};
  return settings;
}

// A shard and its client.
class Couple {
 public:
  Couple(const ShardSettings& settings, ShardId self, hw::Mesh& mesh)
      : at_once_(settings.at_once.value),
        shard_(whole(settings), self, to_client_, mesh, clock_),
        config_(client_config(settings, self)),
        arena_(Stack::arena_bytes(config_)),
        client_(config_, arena_.bytes()),
        port_(to_client_, shard_.in, clock_),
        caller_{.at_once = settings.at_once.value} {}

  void warm_up() {
    while (caller_.finished < 1'000 || caller_.live < at_once_) {
      step();
    }
  }
  void finish(std::uint64_t more) {
    std::uint64_t const target = caller_.finished + more;
    while (caller_.finished < target) {
      step();
    }
  }
  std::uint64_t finished() const { return caller_.finished; }
  std::uint64_t forwarded() const { return shard_.among.counters().forwarded; }

 private:
  void step() {
    Outcome const first = turn(client_, port_, caller_);
    Outcome const second = turn(shard_.stack, shard_.among, shard_.app);
    clock_ = clock_ + Duration::microseconds(1);
    if (first == Outcome::idle && second == Outcome::idle) {
      Instant const next = earlier(client_.deadline(), shard_.stack.deadline());
      clock_ = next.is_never() ? clock_ : later(clock_, next);
    }
  }

  std::uint32_t at_once_;
  Instant clock_ = Instant{} + Duration::seconds(1000);
  Ring to_client_{frame_max};
  Shard shard_;
  Config config_;
  Arena arena_;
  Stack client_;
  Port port_;
  ShortCaller caller_;
};

std::uint64_t wall_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// The result of a thread; written once, at its end.
struct alignas(hw::line_bytes) Said {
  std::string trouble;
  std::uint64_t units = 0;
  std::uint64_t busy_ns = 0;
  std::uint64_t ended = 0;
  std::uint64_t forwarded = 0;
};

void run_shard(const ShardSettings& settings, ShardId self, hw::Cpu cpu, hw::Mesh& mesh,
               std::latch& ready, Said& said) {
  said.trouble = hw::pin_to(cpu).text;
  // Constructed by the thread that uses it, so that this thread touches the memory first.
  auto const couple = std::make_unique<Couple>(settings, self, mesh);
  couple->warm_up();
  std::uint64_t const before = couple->finished();
  ready.arrive_and_wait();
  Stopwatch const watch;
  couple->finish(settings.count);
  said.busy_ns = watch.nanoseconds();
  said.ended = wall_ns();
  said.units = couple->finished() - before;
  said.forwarded = couple->forwarded();
}

}  // namespace

PinnedResult run_pinned(const ShardSettings& settings, const std::vector<hw::Cpu>& cpus) {
  PinnedResult out;
  std::uint32_t const shards = settings.shards.value;
  CHECK(cpus.size() >= shards);
  hw::Mesh mesh(settings.shards, frame_max);
  out.trouble = mesh.open().text;
  if (!out.trouble.empty()) {
    return out;
  }
  std::latch ready(static_cast<std::ptrdiff_t>(shards) + 1);
  std::vector<Said> said(shards);
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < shards; ++i) {
    threads.emplace_back(
        [&, i] { run_shard(settings, ShardId{i}, cpus[i], mesh, ready, said[i]); });
  }
  ready.arrive_and_wait();
  std::uint64_t const begun = wall_ns();
  for (std::thread& each : threads) {
    each.join();
  }
  for (const Said& each : said) {
    out.units += each.units;
    out.units_of.push_back(each.units);
    out.busy_ns.push_back(each.busy_ns);
    out.wall_ns = std::max(out.wall_ns, each.ended - std::min(begun, each.ended));
    out.forwarded += each.forwarded;
    out.trouble = out.trouble.empty() ? each.trouble : out.trouble;
  }
  return out;
}

}  // namespace lockstep::tools::benchmark
