// A model: an application on one host, deterministic, a plain value that can be copied.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/stack/event.hpp"
#include "core/stack/stack.hpp"
#include "core/units/time.hpp"
#include "sim/kernel/ledger.hpp"
#include "sim/kernel/observer.hpp"
#include "sim/models/pattern.hpp"

namespace lockstep::sim {

// Identifies a model by its position on its host.
struct ModelIndex {
  std::uint32_t value = 0xffff'ffff;
  constexpr bool operator==(const ModelIndex&) const = default;
};

// For each connection of a host: its model and its flow in the ledger.
class Routes {
 public:
  struct Route {
    ConnectionId id;
    FlowId flow;
    Side side = Side::opener;
    ModelIndex model;
    std::uint32_t session = 0;  // as the model numbers its sessions
  };

  void add(const Route& route);
  // nullptr: no model owns that connection.
  Route* find(ConnectionId id);
  const Route* find(ConnectionId id) const;
  void listen(ListenerId listener, ModelIndex model) { listeners_.push_back({listener, model}); }
  ModelIndex model_of(ListenerId listener) const;
  // Indexed by connection slot; some entries are of connections that no longer exist.
  const std::vector<Route>& all() const { return by_slot_; }

 private:
  struct Listening {
    ListenerId listener;
    ModelIndex model;
  };
  std::vector<Route> by_slot_;
  std::vector<Listening> listeners_;
};

// What a model may use during a turn of its host.
struct Desk {
  Stack& stack;
  Instant now;  // host time
  Instant world_now;
  HostIndex host;
  ModelIndex model;
  bool region_bound;  // region 0 is bound to the pattern's memory
  Ledger& ledger;
  Routes& routes;
  const Pattern& pattern;
  const Watch& watch;
};

// The region that each host binds to the pattern's memory.
inline constexpr RegionId pattern_region{0};

// An application. turn() makes its calls, as the concept Application specifies.
class Model {
 public:
  virtual ~Model() = default;
  // Handles an event of one of its connections; for `accepted` the route is already recorded.
  virtual void on_event(Desk& desk, const Event& event) = 0;
  // Called once a turn, after the events.
  virtual void run(Desk& desk) = 0;
  // Called after the turn, when its frames have been sent; must not change anything. `by_clock`:
  // the turn was caused by a timer, not by a frame.
  virtual void turned(Desk& desk, bool by_clock) = 0;
  // When the next run() is due without an event, in host time; never: not at all.
  virtual Instant deadline() const = 0;
  // It has no open connection and will open none.
  virtual bool done() const = 0;
  virtual std::unique_ptr<Model> clone() const = 0;
};

}  // namespace lockstep::sim
