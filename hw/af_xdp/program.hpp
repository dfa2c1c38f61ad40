// The program that runs before the kernel's own stack and hands a queue's frames to a socket.
#pragma once

#include <string>

#include "hw/poll/descriptor.hpp"
#include "hw/trouble.hpp"

namespace lockstep::hw {

// What runs in the kernel while `link` is open. A frame of a queue for which `map` has no socket
// goes on to the kernel.
struct XdpProgram {
  Descriptor map;
  Descriptor link;
  bool native = false;
};

// Where the program is to run. fitting: in the driver if that can, behind it otherwise.
enum class XdpPlace : unsigned char { fitting, native, generic };

// Loads and attaches it: six instructions, put together here, by bpf(2) alone. `index` is that of
// the interface `name`, with queues numbered below `queues`. Says why not and leaves nothing
// behind.
[[nodiscard]] Trouble attach_xdp_program(const std::string& name, int index, unsigned queues,
                                         XdpPlace place, XdpProgram& into);

// From now on the queue's frames go to the socket, which is bound to it.
[[nodiscard]] Trouble give_queue(const XdpProgram& program, unsigned queue,
                                 const Descriptor& socket);

}  // namespace lockstep::hw
