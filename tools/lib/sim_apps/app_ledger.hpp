// The books of an application that keeps none itself: its connections in the kernel's ledger.
#pragma once

#include <vector>

#include "sim/models/model.hpp"

namespace lockstep::tools {

/// Knows the connections of one model on one host by their events. Octets are counted as the stack
/// counts them: written is what was acknowledged, read what came in order.
class AppLedger {
 public:
  explicit AppLedger(sim::Name app) : app_(app) {}

  /// A connection of ours that may have been booked already.
  void called(sim::Desk& desk, ConnectionId id);
  /// Before the application hears of it.
  void on_event(sim::Desk& desk, const Event& event);
  /// What was read of this connection is not what should have come.
  void spoilt(sim::Desk& desk, ConnectionId id);
  /// After a turn: an id is stale once `closed` has been told.
  void turned(sim::Desk& desk);

 private:
  void add(sim::Desk& desk, ConnectionId id, sim::FlowId flow, sim::Side side);
  void accept(sim::Desk& desk, ConnectionId id);
  static void note(sim::Desk& desk, ConnectionId id);

  sim::Name app_;
  std::vector<ConnectionId> open_;
};

}  // namespace lockstep::tools
