// What a model is: an application on one host, deterministic, a plain value that can be copied.
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

// Names a model by its position on its host.
struct ModelIndex {
  std::uint32_t value = 0xffff'ffff;
  constexpr bool operator==(const ModelIndex&) const = default;
};

// What belongs to a host's connections: which model each is of, and which flow of the ledger.
class Routes {
 public:
  struct Route {
    ConnectionId id;
    FlowId flow;
    Side side = Side::opener;
    ModelIndex model;
    std::uint32_t session = 0;  // of the model's own counting
  };

  void add(const Route& route);
  // nullptr: nobody here knows that connection.
  Route* find(ConnectionId id);
  const Route* find(ConnectionId id) const;
  void listen(ListenerId listener, ModelIndex model) { listeners_.push_back({listener, model}); }
  ModelIndex model_of(ListenerId listener) const;
  // By the slot of the connection: some are of connections that are gone.
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
  Instant now;  // by the host's clock
  Instant world_now;
  HostIndex host;
  ModelIndex model;
  bool region_bound;  // region 0 is the pattern's memory
  Ledger& ledger;
  Routes& routes;
  const Pattern& pattern;
  const Watch& watch;
};

// The region that each host binds to the pattern's memory.
inline constexpr RegionId pattern_region{0};

// An application. Its calls come from within turn(), as the concept Application has them.
class Model {
 public:
  virtual ~Model() = default;
  // An event of one of its connections; `accepted` has been booked already.
  virtual void on_event(Desk& desk, const Event& event) = 0;
  // Once a turn, after the events.
  virtual void run(Desk& desk) = 0;
  // After the turn, frames sent: to look, not to act. `by_clock`: no frame had arrived for it.
  virtual void turned(Desk& desk, bool by_clock) = 0;
  // By the host's clock: when run() is wanted though nothing happens; never if it is not.
  virtual Instant deadline() const = 0;
  // It has nothing open and will begin nothing.
  virtual bool done() const = 0;
  virtual std::unique_ptr<Model> clone() const = 0;
};

}  // namespace lockstep::sim
