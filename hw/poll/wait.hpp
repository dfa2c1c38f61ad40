// Sleeps until a frame, room for one, a request to stop, or an instant.
#pragma once

#include "core/units/time.hpp"

namespace lockstep::hw {

struct WaitFor {
  int frames = -1;    // readable: a frame has arrived
  bool room = false;  // ... or writable: a frame can leave
  int stop = -1;      // readable: a stop was asked for
  int doorbell = -1;  // readable: another shard has frames for us
  Instant now;
  Instant until = Instant::never();
};

// By ppoll(2). Returns early if a signal comes; at once where `until` is not in the future.
void wait_for(const WaitFor& what);

}  // namespace lockstep::hw
