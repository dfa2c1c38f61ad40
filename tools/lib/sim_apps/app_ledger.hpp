// Ledger entries for an application that does not make them itself.
#pragma once

#include <vector>

#include "sim/models/model.hpp"

namespace lockstep::tools {

/// Follows the connections of one model on one host by their events. Octets are counted as the
/// stack counts them: written is what was acknowledged, read is what arrived in order.
class AppLedger {
 public:
  explicit AppLedger(sim::Name app) : app_(app) {}

  /// Notes a connection that we opened; it may already be in the ledger.
  void called(sim::Desk& desk, ConnectionId id);
  /// Call before the application handles the event.
  void on_event(sim::Desk& desk, const Event& event);
  /// Marks the data read on this connection as wrong.
  void spoilt(sim::Desk& desk, ConnectionId id);
  /// Call after a turn: an id is stale once its `closed` event was delivered.
  void turned(sim::Desk& desk);

 private:
  void add(sim::Desk& desk, ConnectionId id, sim::FlowId flow, sim::Side side);
  void accept(sim::Desk& desk, ConnectionId id);
  static void note(sim::Desk& desk, ConnectionId id);

  sim::Name app_;
  std::vector<ConnectionId> open_;
};

}  // namespace lockstep::tools
