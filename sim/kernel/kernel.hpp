// The kernel: runs a world step by step, identically for the same seed on any machine.
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

// How a run ended. completed: every model is done. limit_reached: the world's limit passed first.
// deadlocked: the schedule is empty although some model is not done. failed: a station cannot go
// on.
enum class Ending : std::uint8_t { completed, limit_reached, deadlocked, failed };

constexpr std::string_view name_of(Ending ending) {
  switch (ending) {
    case Ending::completed:
      return "completed";
    case Ending::limit_reached:
      return "limit_reached";
    case Ending::deadlocked:
      return "deadlocked";
    case Ending::failed:
      return "failed";
  }
  return "";
}

// The state of a kernel between two steps: plain values and the stacks' own snapshots.
struct KernelSnapshot;

class Kernel {
 public:
  // CHECKs that fault_of(world) is none and that the registry has every model and NIC named. Each
  // component draws from its own random stream, forked from the seed by name.
  Kernel(const World& world, std::uint64_t seed, const Registry& registry = Registry::standard());
  ~Kernel();
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  // `observer` must outlive the kernel. Add it before the first step.
  void observe(Observer& observer) { watch_.add(observer); }

  // Performs the first event of the schedule; false: the schedule is empty.
  bool step();
  // Performs all steps at or before `until`.
  void run_until(Instant until);
  // The same, then sets the time to `until` even if no event is scheduled there.
  void advance_to(Instant until);
  // Schedules a turn of the node now. Call it after calling a host's stack or changing a station
  // between two steps.
  void wake(NodeRef node);
  // Runs until every model is done or the world's limit is reached.
  Ending run();
  // The same for a host.
  void wake(HostIndex index) { want_turn(host(index), now_); }
  // Notifies the observers that the run is over; run() calls it.
  void end();

  Instant now() const { return now_; }
  std::uint64_t seed() const { return seed_; }
  std::uint64_t steps() const { return steps_; }
  std::uint64_t frames_sent() const { return frames_sent_; }
  const World& world() const { return world_; }
  // Every model and station is done: it has no open connection and will open none. Or one failed.
  bool done() const;
  // Why a station cannot go on, and so the run neither: step() does nothing. Empty: it can. Valid
  // until the next call of the kernel.
  std::string_view fault() const;

  std::uint32_t host_count() const { return static_cast<std::uint32_t>(hosts_.size()); }
  Host& host(HostIndex index) { return *hosts_[index.value]; }
  const Host& host(HostIndex index) const { return *hosts_[index.value]; }
  Station& station(std::uint32_t index) { return *stations_[index]; }
  const Bus& bus() const { return bus_; }
  const Ledger& ledger() const { return ledger_; }
  const Pattern& pattern() const { return pattern_; }
  std::uint64_t scheduled() const { return schedule_.size(); }
  // When the next step is due; never: the schedule is empty.
  Instant next_at() const { return schedule_.empty() ? Instant::never() : schedule_.first().at; }
  // Frames in rings and on links, counted one by one: equals bus().frames().in_use() unless the
  // kernel leaks one.
  std::uint64_t frames_accounted() const;
  // The host whose turn it is, or whose turn was the last.
  HostIndex current_host() const { return current_host_; }

  // A hash of every frame sent so far, every stack and the time.
  std::uint64_t fingerprint() const;

  // Only between steps. restore() takes a snapshot made by this kernel or by one of the same world
  // and seed.
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
  void tell_of_station(std::uint32_t index);
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
  bool station_failed_ = false;
  // Where done() last found a model that was not done: a search hint, not state of the run.
  mutable std::uint32_t undone_host_ = 0;
  mutable std::uint32_t undone_model_ = 0;
};

// The run that this process is in, for the message of a failed CHECK. `running` is false outside a
// run.
struct RunNote {
  bool running = false;
  std::uint64_t seed = 0;
  Instant at{0};
  Name world;
  Name host;
};
RunNote current_run();

}  // namespace lockstep::sim
