// The XDP program that passes a queue's frames to a socket before the kernel's stack sees them.
#pragma once

#include <string>

#include "hw/poll/descriptor.hpp"
#include "hw/trouble.hpp"

namespace lockstep::hw {

// Runs in the kernel while `link` is open. Frames of a queue without a socket in `map` go to the
// kernel.
struct XdpProgram {
  Descriptor map;
  Descriptor link;
  bool native = false;
};

// Where the program runs. native: in the driver. generic: after it. fitting: native if possible.
enum class XdpPlace : unsigned char { fitting, native, generic };

// Builds the program's six instructions, loads it by bpf(2) and attaches it to interface `name`
// with number `index` and queues below `queues`. On failure returns the reason and leaves nothing
// behind.
[[nodiscard]] Trouble attach_xdp_program(const std::string& name, int index, unsigned queues,
                                         XdpPlace place, XdpProgram& into);

// From now on the queue's frames go to `socket`, which must be bound to the queue.
[[nodiscard]] Trouble give_queue(const XdpProgram& program, unsigned queue,
                                 const Descriptor& socket);

}  // namespace lockstep::hw
