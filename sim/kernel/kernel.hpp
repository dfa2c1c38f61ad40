// The kernel: runs a world step by step, the same for the same seed, on any machine.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/stack/turn.hpp"
#include "core/units/random.hpp"
#include "sim/bus/bus.hpp"
#include "sim/kernel/host.hpp"
#include "sim/kernel/ledger.hpp"
#include "sim/kernel/observer.hpp"
#include "sim/kernel/port.hpp"
#include "sim/kernel/registry.hpp"
#include "sim/kernel/station.hpp"
#include "sim/kernel/world.hpp"
#include "sim/models/pattern.hpp"
#include "sim/schedule/schedule.hpp"

namespace lockstep::sim {

// How a run ended: every model is done; the world's limit came first; or nothing would ever happen
// again though some model is not done.
enum class Ending : std::uint8_t { completed, limit_reached, deadlocked };

constexpr std::string_view name_of(Ending ending) {
  switch (ending) {
    case Ending::completed:
      return "completed";
    case Ending::limit_reached:
      return "limit_reached";
    case Ending::deadlocked:
      return "deadlocked";
  }
  return "";
}

// All of a kernel in mid run, to go back to: plain values, and the stacks' own snapshots.
struct KernelSnapshot;

class Kernel {
 public:
  // CHECKs that fault_of(world) is none and that the registry knows every model and NIC. Each
  // concern draws from its own stream, forked from the seed by name.
  Kernel(const World& world, std::uint64_t seed, const Registry& registry = Registry::standard());
  ~Kernel();
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  // `observer` must outlive the kernel. Add it before the first step.
  void observe(Observer& observer) { watch_.add(observer); }

  // Does the first thing of the schedule; false: the schedule is empty.
  bool step();
  // All steps at or before `until`.
  void run_until(Instant until);
  // The same, and then it is that instant, though nothing may have happened.
  void advance_to(Instant until);
  // Between two steps somebody has called the host's stack, or given the station something to do:
  // it gets its turn now.
  void wake(NodeRef node);
  // Until every model is done, or the world's limit.
  Ending run();
  // A turn of that host at this instant: for calls that were made on its stack between two steps.
  void wake(HostIndex index) { want_turn(host(index), now_); }
  // Ends the run for the observers; run() does it by itself.
  void end();

  Instant now() const { return now_; }
  std::uint64_t seed() const { return seed_; }
  std::uint64_t steps() const { return steps_; }
  std::uint64_t frames_sent() const { return frames_sent_; }
  const World& world() const { return world_; }
  // Every model is done: nothing is open and nothing will be begun.
  bool done() const;

  std::uint32_t host_count() const { return static_cast<std::uint32_t>(hosts_.size()); }
  Host& host(HostIndex index) { return *hosts_[index.value]; }
  const Host& host(HostIndex index) const { return *hosts_[index.value]; }
  Station& station(std::uint32_t index) { return *stations_[index]; }
  const Bus& bus() const { return bus_; }
  const Ledger& ledger() const { return ledger_; }
  const Pattern& pattern() const { return pattern_; }
  std::uint64_t scheduled() const { return schedule_.size(); }
  // When the next step is; never: there is none.
  Instant next_at() const { return schedule_.empty() ? Instant::never() : schedule_.first().at; }
  // Frames in rings and on links, one by one: equal to bus().frames().in_use() unless one is lost.
  std::uint64_t frames_accounted() const;
  // The host whose turn it is, or was last.
  HostIndex current_host() const { return current_host_; }

  // Of every frame that was sent so far, every stack and the time.
  std::uint64_t fingerprint() const;

  // Between steps only. restore(): only of a snapshot that this kernel, or one of the same world
  // and seed, has made.
  std::unique_ptr<KernelSnapshot> snapshot() const;
  void restore(const KernelSnapshot& snapshot);

 private:
  void make_models(const Registry& registry);
  void arrive(FrameId frame);
  void arrive_at_host(FrameId frame, HostIndex index);
  void arrive_at_nic(FrameId frame, Host& first);
  void arrive_at_shard(FrameId frame, Host& at);
  PortTurn port_turn(Host& host);
  void arrive_at_station(FrameId frame, std::uint32_t index);
  void run_station(std::uint32_t index);
  void schedule_station(std::uint32_t index);
  void want_turn(Host& host, Instant at);
  void turn_host(Host& host);
  NicTaking nic_takes(Host& at, FrameId frame);
  std::unique_ptr<Nic> nic_for(const HostSpec& spec, NicMaker maker);
  void timer_of_host(Host& host, Instant at);
  Instant wanted(const Host& host) const;
  Instant allowed(const Host& host, Instant at) const;

  World world_;
  std::uint64_t seed_;
  Random root_;
  Watch watch_;
  Pattern pattern_;
  Bus bus_;
  Schedule schedule_;
  Ledger ledger_;
  std::vector<std::unique_ptr<Host>> hosts_;
  std::vector<std::unique_ptr<Station>> stations_;
  std::vector<Instant> station_due_;
  std::vector<Ingress> burst_;
  std::vector<Ingress> sorted_;
  Instant now_{0};
  std::uint64_t steps_ = 0;
  std::uint64_t frames_sent_ = 0;
  std::uint64_t frames_hash_ = 0;
  HostIndex current_host_;
  bool ended_ = false;
  // Where done() last found a model that was not: a hint, no state of the run.
  mutable std::uint32_t undone_host_ = 0;
  mutable std::uint32_t undone_model_ = 0;
};

// The run that this process is in, for whoever prints a failed CHECK. No run: `running` is false.
struct RunNote {
  bool running = false;
  std::uint64_t seed = 0;
  Instant at{0};
  Name world;
  Name host;
};
RunNote current_run();

}  // namespace lockstep::sim
