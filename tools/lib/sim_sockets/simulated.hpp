// The sockets of a simulated host: a model of the kernel's, beside those of its [[app]]s.
#pragma once

#include <memory>

#include "sim/kernel/kernel.hpp"
#include "tools/lib/sockets/sockets.hpp"

namespace lockstep::tools {

/// A program lives on a host by its sockets: from a function that on_turn() has named, or between
/// the kernel's steps, if visit() says when the program comes again. The ledger knows nothing of
/// its connections, as nobody knows what it is going to say. The kernel cannot take a snapshot of a
/// world with a program in it, as the program's own state is not to be copied.
class SimulatedSockets final : public sim::Model {
 public:
  /// Before the kernel's first step. It is the kernel's own, and lives as long as that.
  static SimulatedSockets& join(sim::Kernel& kernel, sim::HostIndex host,
                                const SocketSettings& settings = {});

  Sockets& sockets() { return sockets_; }
  /// A turn is wanted now, for calls that were made, and one at `next` by the world's clock, when
  /// the program looks again.
  void visit(sim::Kernel& kernel, Instant next);

  void on_event(sim::Desk& desk, const Event& event) override;
  void run(sim::Desk& desk) override;
  void turned(sim::Desk&, bool) override {}
  Instant deadline() const override { return earlier(sockets_.deadline(), next_visit_); }
  /// The program has closed everything.
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
