// Observers of a run: notified of every frame, turn and event; cannot change the run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/stack/event.hpp"
#include "core/stack/turn.hpp"
#include "core/units/time.hpp"
#include "sim/bus/link_drop.hpp"
#include "sim/kernel/world.hpp"

namespace lockstep {
class Stack;
}

namespace lockstep::sim {

class Kernel;
struct Flow;
enum class Side : std::uint8_t;

// A frame at one point of its path. `bytes` is valid only during the call.
struct FrameNote {
  Instant at;
  NodeRef node;            // sent: the sender; delivered: the receiver; dropped: the destination
  std::uint32_t lane = 0;  // twice the link's position; plus one for the reverse direction
  std::span<const std::byte> bytes;
};

// Bytes that an application wrote or read, with their offset in the stream.
struct StreamNote {
  Instant at;
  HostIndex host;
  const Flow* flow;
  Side side;
  std::uint64_t offset = 0;
  std::span<const std::byte> bytes;
  bool as_written = true;  // for reads: equal to what the other side wrote there
};

// All are called within a step of the kernel, in order. The defaults do nothing.
class Observer {
 public:
  virtual ~Observer() = default;
  // A host or station has put a frame on its link. Not called again at a switch.
  virtual void sent(const Kernel&, const FrameNote&) {}
  // A frame is in the receive ring of a host or station; with several shards, called in the turn
  // that takes it.
  virtual void delivered(const Kernel&, const FrameNote&) {}
  virtual void dropped(const Kernel&, const FrameNote&, LinkDrop) {}
  virtual void turn_begins(const Kernel&, HostIndex) {}
  // After each turn, when the stack is settled.
  virtual void turned(const Kernel&, HostIndex, Outcome) {}
  // After each action of a station, by its position.
  virtual void station_ran(const Kernel&, std::uint32_t) {}
  virtual void on_event(const Kernel&, HostIndex, const Event&) {}
  virtual void wrote(const Kernel&, const StreamNote&) {}
  virtual void read(const Kernel&, const StreamNote&) {}
  // Once, when the run is over.
  virtual void ended(const Kernel&) {}
};

// The observers of one kernel. With none, each call costs one test.
class Watch {
 public:
  explicit Watch(const Kernel& kernel) : kernel_(&kernel) {}

  void add(Observer& observer) { observers_.push_back(&observer); }
  bool empty() const { return observers_.empty(); }

  template <class Tell>
  void each(Tell tell) const {
    for (Observer* observer : observers_) {
      tell(*observer, *kernel_);
    }
  }

 private:
  const Kernel* kernel_;
  std::vector<Observer*> observers_;
};

}  // namespace lockstep::sim
