// Sleeps until a frame arrives, room for one appears, a stop is requested, or an instant is
// reached.
#pragma once

#include "core/units/time.hpp"

namespace lockstep::hw {

struct WaitFor {
  int frames = -1;    // readable: a frame has arrived
  bool room = false;  // also wait for `frames` to be writable: a frame can leave
  int stop = -1;      // readable: a stop was requested
  int doorbell = -1;  // readable: another shard has sent frames
  Instant now;
  Instant until = Instant::never();
  int watcher = -1;  // readable: the loop's watcher has something to do
};

// Uses ppoll(2). Returns early on a signal, and at once if `until` is not in the future.
void wait_for(const WaitFor& what);

}  // namespace lockstep::hw
