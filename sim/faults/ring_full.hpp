// Ring full: while active, a host's port has no room for frames to send.
#pragma once

namespace lockstep::sim {

struct RingFull {};

}  // namespace lockstep::sim
