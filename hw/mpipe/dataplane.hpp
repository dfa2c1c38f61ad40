// Runs a worker's thread on a core without interruptions by the system.
#pragma once

#include "hw/mpipe/port.hpp"

namespace lockstep::hw {

// All three are called, in this order, by the thread of a worker of an engine that was opened with
// `dataplane`; turns begin after the second. A trouble's code is what the call returned.

// Binds the calling thread to the worker's core and locks all its memory, so memory must be
// allocated before. Then wait for the other workers.
MpipeTrouble settle_on_core(const Mpipe& engine, MpipePort::Worker worker);

// Call when all workers have settled: returns when timer ticks no longer interrupt this core. From
// then on any system call would let the kernel interrupt it again.
MpipeTrouble enter_dataplane();

// Call before the first system call.
MpipeTrouble leave_dataplane();

}  // namespace lockstep::hw
