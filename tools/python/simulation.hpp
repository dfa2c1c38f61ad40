// A world that runs step by step, with Python as the application of its hosts.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/kernel/kernel.hpp"
#include "sim/kernel/snapshot.hpp"
#include "sim/kernel/trace.hpp"
#include "tools/lib/calls/calls.hpp"
#include "tools/lib/sim_report/recorder.hpp"

namespace lockstep::tools::python {

/// An event of a frame, in the kernel's order.
struct FrameSeen {
  Instant at;
  sim::NodeRef node;
  std::string_view what;  ///< sent, received, or the reason for its drop
  std::vector<std::byte> bytes;
};

/// The parameters of a Simulation.
struct SimulationSpec {
  sim::World world;
  std::uint64_t seed = 1;
  std::vector<std::string> taps;  ///< nodes whose frames Python sends and receives
  bool record = false;            ///< store every event of a frame
  bool trace = false;             ///< write a capture with comments
  bool series = false;            ///< record time series
};

/// The kernel and its observers. Errors are thrown as Failure.
class Simulation {
 public:
  /// Stored events of frames; beyond this the oldest are dropped.
  static constexpr std::uint32_t frames_max = 1'000'000;

  explicit Simulation(const SimulationSpec& spec);
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  sim::Kernel& kernel() { return *kernel_; }
  /// A step of the kernel, whose queues are recorded; false: there is none.
  bool step();
  /// Runs to the end; `ending` is it from then on.
  sim::Ending run();
  /// How the run ended, or "running".
  std::string_view ending() const;
  /// A table of time series so far, as CSV. Throws unless they are recorded.
  std::string_view table(Table which) const;
  /// The events of frames since the last call. Throws if the world is not recorded.
  std::vector<FrameSeen> take_frames();
  /// The capture so far. Throws if the world is not traced.
  const std::vector<std::byte>& pcapng() const;
  std::string name_of(sim::NodeRef node) const;
  sim::HostIndex host_named(const std::string& name) const;
  std::uint32_t tap_named(const std::string& name) const;

  /// Sends a frame from a tap now. Throws if none of its links can carry it.
  void send(std::uint32_t tap, Packet frame);
  struct Arrived {
    Instant at;
    std::vector<std::byte> bytes;
  };
  /// The frames that arrived at a tap since the last call.
  std::vector<Arrived> take_arrived(std::uint32_t tap);

  /// The state of the whole simulation, and its restoration, by this simulation only. Both throw if
  /// a host has sockets.
  struct Snapshot;
  std::shared_ptr<const Snapshot> snapshot() const;
  void restore(const Snapshot& snapshot);

 private:
  void refuse_sockets() const;

  class Frames;
  class Capture;
  class Series;

  std::uint32_t frame_bytes_max_ = 0;
  std::unique_ptr<sim::Kernel> kernel_;
  std::unique_ptr<Frames> frames_;
  std::unique_ptr<Capture> sink_;
  std::unique_ptr<sim::Trace> trace_;
  std::unique_ptr<Series> series_;
  std::optional<sim::Ending> ending_;
};

struct Simulation::Snapshot {
  std::unique_ptr<sim::KernelSnapshot> kernel;
  std::optional<sim::Ending> ending;
  Recorder::State recorded;
  std::array<std::size_t, table_files.size()> lengths{};  ///< of the tables
};

/// The calls of one host. The simulation must outlive it.
class SimHost final : public Calls {
 public:
  SimHost(Simulation& in, sim::HostIndex index) : in_(in), index_(index) {}

  Stack& stack() override { return host().stack(); }
  Inbox& inbox() override;
  void touched() override { in_.kernel().wake({sim::NodeKind::host, index_.value}); }
  void opened(ConnectionId id) override;
  sim::Host& host() { return in_.kernel().host(index_); }
  /// By the host's clock.
  Instant now() { return host().clock().local(in_.kernel().now()); }

 private:
  Simulation& in_;
  sim::HostIndex index_;
};

}  // namespace lockstep::tools::python
