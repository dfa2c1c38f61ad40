// A world that runs step by step while Python is the application of its hosts.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/kernel/kernel.hpp"
#include "sim/kernel/trace.hpp"
#include "tools/lib/calls/calls.hpp"

namespace lockstep::tools::python {

/// What happened to a frame, in the order of the kernel.
struct FrameSeen {
  Instant at;
  sim::NodeRef node;
  std::string_view what;  ///< sent, received, or why it was dropped on its way
  std::vector<std::byte> bytes;
};

/// What a Simulation is made of.
struct SimulationSpec {
  sim::World world;
  std::uint64_t seed = 1;
  std::vector<std::string> taps;  ///< adversaries whose frames are Python's
  bool record = false;            ///< keep every frame that is seen
  bool trace = false;             ///< and a capture with comments
};

/// The kernel and who watches it. Failures are thrown as Failure.
class Simulation {
 public:
  /// Frames that wait to be taken; then the oldest are forgotten.
  static constexpr std::uint32_t frames_max = 1'000'000;

  explicit Simulation(const SimulationSpec& spec);
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  sim::Kernel& kernel() { return *kernel_; }
  /// Every frame since this was asked last. Throws where the world is not recorded.
  std::vector<FrameSeen> take_frames();
  /// The capture so far. Throws where the world is not traced.
  const std::vector<std::byte>& pcapng() const;
  std::string name_of(sim::NodeRef node) const;
  sim::HostIndex host_named(const std::string& name) const;
  std::uint32_t tap_named(const std::string& name) const;

  /// A tap sends a frame now. Throws for one that no link of it carries.
  void send(std::uint32_t tap, Packet frame);
  struct Arrived {
    Instant at;
    std::vector<std::byte> bytes;
  };
  /// What has come to a tap since this was asked last.
  std::vector<Arrived> take_arrived(std::uint32_t tap);

  /// All of it in mid run. restore(): only of this simulation. Both throw where a host has sockets.
  std::shared_ptr<const sim::KernelSnapshot> snapshot() const;
  void restore(const sim::KernelSnapshot& snapshot);

 private:
  void refuse_sockets() const;

  class Recorder;
  class Capture;

  std::uint32_t frame_bytes_max_ = 0;
  std::unique_ptr<sim::Kernel> kernel_;
  std::unique_ptr<Recorder> recorder_;
  std::unique_ptr<Capture> sink_;
  std::unique_ptr<sim::Trace> trace_;
};

/// The calls of one host. The simulation outlives it.
class SimHost final : public Calls {
 public:
  SimHost(Simulation& in, sim::HostIndex index) : in_(in), index_(index) {}

  Stack& stack() override { return host().stack(); }
  Inbox& inbox() override;
  void touched() override { in_.kernel().wake({sim::NodeKind::host, index_.value}); }
  void opened(ConnectionId id) override;
  sim::Host& host() { return in_.kernel().host(index_); }
  /// By its own clock.
  Instant now() { return host().clock().local(in_.kernel().now()); }

 private:
  Simulation& in_;
  sim::HostIndex index_;
};

}  // namespace lockstep::tools::python
