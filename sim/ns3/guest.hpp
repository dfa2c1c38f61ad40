// Runs a core/stack Application on a stack in ns-3, beside the sockets, so that one program runs in
// all environments.
#pragma once

#include "core/stack/event.hpp"
#include "core/stack/stack.hpp"
#include "core/units/time.hpp"

namespace ns3 {

/// Receives every event of the stack that no socket owns, and runs in every turn. It must not
/// dispose of the stack, and must be dismissed before it is destroyed.
class LockstepGuest {
 public:
  virtual ~LockstepGuest() = default;
  /// Whether it owns this listener, and so receives its `accepted` events.
  virtual bool Listens(lockstep::ListenerId listener) const = 0;
  virtual void HandleEvent(lockstep::Stack& stack, const lockstep::Event& event) = 0;
  virtual void Run(lockstep::Stack& stack, lockstep::Instant now) = 0;
  /// The latest instant of its next turn.
  virtual lockstep::Instant Deadline() const = 0;
};

}  // namespace ns3
