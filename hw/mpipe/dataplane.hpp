// A worker's thread on a core that the system leaves alone.
#pragma once

#include "hw/mpipe/port.hpp"

namespace lockstep::hw {

// All three are for the thread of a worker of an engine that was opened with `dataplane`, in this
// order, and the first turn is behind the second. A trouble's code is what the call gave.

// Binds the calling thread to the worker's core and locks all memory that there is: whatever is
// still to be obtained must be before. Then wait for the other workers.
MpipeTrouble settle_on_core(const Mpipe& engine, MpipePort::Worker worker);

// Once all workers have settled: returns when no tick of the system's interrupts this core any
// more. From then on no call into the system, or it is interrupted again.
MpipeTrouble enter_dataplane();

// Before the first such call.
MpipeTrouble leave_dataplane();

}  // namespace lockstep::hw
