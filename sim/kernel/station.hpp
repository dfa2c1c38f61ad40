// A station: a node without a Stack that builds its own frames.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/units/time.hpp"
#include "sim/bus/bus.hpp"
#include "sim/kernel/world.hpp"

namespace lockstep::sim {

// What a station may use during a call.
class StationDesk {
 public:
  StationDesk(Instant now, NodeRef node, Bus& bus, Schedule& schedule, const Watch& watch)
      : now_(now), node_(node), bus_(bus), schedule_(schedule), watch_(watch) {}

  Instant now() const { return now_; }
  // Sends a frame on the station's link; any content, up to the largest MTU.
  void send(std::span<const std::byte> frame);
  std::uint64_t sent() const { return sent_; }

 private:
  Instant now_;
  NodeRef node_;
  Bus& bus_;
  Schedule& schedule_;
  const Watch& watch_;
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
  virtual std::unique_ptr<Station> clone() const = 0;
};

}  // namespace lockstep::sim
