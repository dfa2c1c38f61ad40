// Sockets of a simulated host: a model of the kernel, beside the models of its [[app]]s.
#pragma once

#include <memory>

#include "sim/kernel/kernel.hpp"
#include "tools/lib/sockets/sockets.hpp"

namespace lockstep::tools {

/// Runs a program's sockets on a host. The program acts from a function set by on_turn(), or
/// between the kernel's steps if it calls visit() with the time of its next step. Its connections
/// are not in the ledger, because the data that a program will send is not known in advance. The
/// kernel cannot take a snapshot of a world with a program in it, because the program's state
/// cannot be copied.
class SimulatedSockets final : public sim::Model {
 public:
  /// Call before the kernel's first step. The kernel owns the result, which lives as long as it
  /// does.
  static SimulatedSockets& join(sim::Kernel& kernel, sim::HostIndex host,
                                const SocketSettings& settings = {});

  Sockets& sockets() { return sockets_; }
  /// Requests a turn now, for calls already made, and one at `next` by the world's clock, when the
  /// program will look again.
  void visit(sim::Kernel& kernel, Instant next);

  void on_event(sim::Desk& desk, const Event& event) override;
  void run(sim::Desk& desk) override;
  void turned(sim::Desk&, bool) override {}
  Instant deadline() const override { return earlier(sockets_.deadline(), next_visit_); }
  /// The program has closed all its descriptors.
  bool done() const override { return sockets_.done(); }
  std::unique_ptr<sim::Model> clone() const override;

 private:
  SimulatedSockets(sim::Host& host, sim::ModelIndex index, const SocketSettings& settings);

  sim::Host& host_;
  sim::ModelIndex index_;
  Sockets sockets_;
  Instant next_visit_ = Instant::never();  // by the host's clock
};

}  // namespace lockstep::tools
