// A station: a node that is no Stack and speaks frames of its own making.
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
  // Puts a frame on the station's link; it may be of any content, and as long as the largest MTU.
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

// A plain value behind a virtual face: a clone is a snapshot.
class Station {
 public:
  virtual ~Station() = default;
  // A frame has arrived. `frame` lives only during the call.
  virtual void arrived(StationDesk& desk, std::span<const std::byte> frame) = 0;
  // Its deadline has come.
  virtual void run(StationDesk& desk) = 0;
  // By the world's clock; never: only a frame can wake it.
  virtual Instant deadline() const = 0;
  virtual std::unique_ptr<Station> clone() const = 0;
};

}  // namespace lockstep::sim
