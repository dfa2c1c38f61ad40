// Running without the kernel: no timer tick on this core.
#pragma once

enum : int {
  DP_QUIESCE = 1,  // returns after the last tick
  DP_STRICT = 2,
  DP_DEBUG = 4,
};
// For the calling thread, which must be bound to a core of the dataplane; 0 leaves it.
int set_dataplane(int flags);
