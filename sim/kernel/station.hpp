// A station: a node without a Stack that builds its own frames.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "core/units/time.hpp"
#include "sim/bus/bus.hpp"
#include "sim/kernel/ledger.hpp"
#include "sim/kernel/world.hpp"
#include "sim/models/pattern.hpp"

namespace lockstep::sim {

// What a station may use during a call.
class StationDesk {
 public:
  // What the kernel gives to all stations.
  struct World {
    Bus& bus;
    Schedule& schedule;
    const Watch& watch;
    Ledger& ledger;
    const Pattern& pattern;
  };

  StationDesk(Instant now, NodeRef node, const World& world)
      : now_(now), node_(node), world_(world) {}

  Instant now() const { return now_; }
  NodeRef node() const { return node_; }
  // For a station with applications of its own.
  Ledger& ledger() const { return world_.ledger; }
  const Pattern& pattern() const { return world_.pattern; }
  const Watch& watch() const { return world_.watch; }
  // Sends a frame on the station's link; any content, up to the largest MTU.
  void send(std::span<const std::byte> frame);
  std::uint64_t sent() const { return sent_; }

 private:
  Instant now_;
  NodeRef node_;
  World world_;
  std::uint64_t sent_ = 0;
};

// A polymorphic plain value: a clone is a snapshot.
class Station {
 public:
  virtual ~Station() = default;
  // A frame has arrived. `frame` is valid only during the call.
  virtual void arrived(StationDesk& desk, std::span<const std::byte> frame) = 0;
  // Called at its deadline.
  virtual void run(StationDesk& desk) = 0;
  // When run() is due, in world time; never: only an arriving frame calls it.
  virtual Instant deadline() const = 0;
  // It has no open connection of an application, and will open none.
  virtual bool done() const { return true; }
  // Why it cannot go on; empty: it can. The kernel stops.
  virtual std::string_view fault() const { return {}; }
  // A hash of what it sent, for a station that takes part in the kernel's fingerprint; otherwise 0.
  virtual std::uint64_t fingerprint() const { return 0; }
  virtual std::unique_ptr<Station> clone() const = 0;
};

}  // namespace lockstep::sim
