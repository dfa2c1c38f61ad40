// Who watches a run: told of every frame, turn and event, and able to change nothing.
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

// A frame at one point of its way. `bytes` lives only during the call.
struct FrameNote {
  Instant at;
  NodeRef node;            // sent: the sender. delivered: the receiver. dropped: where it was going
  std::uint32_t lane = 0;  // twice the link's position; one more on the way back
  std::span<const std::byte> bytes;
};

// Bytes that an application wrote or read, at their place in the stream.
struct StreamNote {
  Instant at;
  HostIndex host;
  const Flow* flow;
  Side side;
  std::uint64_t offset = 0;
  std::span<const std::byte> bytes;
  bool as_written = true;  // read: these are the bytes that the other side wrote there
};

// All are called within a step of the kernel, in order. The default of each does nothing.
class Observer {
 public:
  virtual ~Observer() = default;
  // A host or station has put a frame on its link; not called again at a switch.
  virtual void sent(const Kernel&, const FrameNote&) {}
  // A host or station has it in its receive ring; one of several shards, in the turn that takes it.
  virtual void delivered(const Kernel&, const FrameNote&) {}
  virtual void dropped(const Kernel&, const FrameNote&, LinkDrop) {}
  virtual void turn_begins(const Kernel&, HostIndex) {}
  // After each turn: the stack is settled.
  virtual void turned(const Kernel&, HostIndex, Outcome) {}
  virtual void on_event(const Kernel&, HostIndex, const Event&) {}
  virtual void wrote(const Kernel&, const StreamNote&) {}
  virtual void read(const Kernel&, const StreamNote&) {}
  // Once, when the run is over.
  virtual void ended(const Kernel&) {}
};

// The observers of one kernel. Empty: one test a call.
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
