// Running without the kernel: no timer tick on this core.
#pragma once

enum : int {
  DP_QUIESCE = 1,  // returns once the last tick is over
  DP_STRICT = 2,
  DP_DEBUG = 4,
};
// Of the calling thread, which must be bound to a core of the dataplane; 0: as it was.
int set_dataplane(int flags);
