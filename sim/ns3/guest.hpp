// An Application of core/stack on a stack in ns-3, beside the sockets: code that runs elsewhere
// too.
#pragma once

#include "core/stack/event.hpp"
#include "core/stack/stack.hpp"
#include "core/units/time.hpp"

namespace ns3 {

/// Told of every event of the stack that no socket owns, and run in every turn. It must not dispose
/// of the stack, and leaves it before it ends.
class LockstepGuest {
 public:
  virtual ~LockstepGuest() = default;
  /// Whether this listener is its own: then it is told who was accepted.
  virtual bool Listens(lockstep::ListenerId listener) const = 0;
  virtual void Told(lockstep::Stack& stack, const lockstep::Event& event) = 0;
  virtual void Run(lockstep::Stack& stack, lockstep::Instant now) = 0;
  /// When it wants the next turn at the latest.
  virtual lockstep::Instant Deadline() const = 0;
};

}  // namespace ns3
