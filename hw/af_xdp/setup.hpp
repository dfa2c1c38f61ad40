// Opens AF_XDP on the queues of an interface that is there, and changes no setting of it.
#pragma once

#include <string>
#include <vector>

#include "core/units/bytes.hpp"
#include "hw/af_xdp/device.hpp"
#include "hw/af_xdp/program.hpp"
#include "hw/interface.hpp"
#include "hw/shards/affinity.hpp"
#include "hw/trouble.hpp"

namespace lockstep::hw {

struct XdpSettings {
  std::string name;
  Bytes mtu{1500};  // of what we send, and the most that we take
  XdpPlace place = XdpPlace::fitting;
  bool must_be_zero_copy = false;  // refuse a driver that has to copy
};

// The most that a page of the kernel's has room for.
inline constexpr Bytes xdp_mtu_max{4096 - 256 - 18};

// What frames of this MTU take, both ways; it is locked in memory.
std::uint64_t xdp_memory_bytes(Bytes mtu);

// A socket on each queue of an interface that has `queues` of them, in their order (any other
// number is refused), with memory for 2,048 frames each way and the program attached: frames arrive
// there and no longer in the kernel, until the last of `into` goes. Says why not and leaves nothing
// behind. With `cpus`, one for each, the memory of each lies on its processor's node. `facts` is
// what look_at() says of the interface.
[[nodiscard]] Trouble open_xdp_queues(const XdpSettings& settings, Count queues,
                                      const std::vector<Cpu>& cpus, std::vector<XdpDevice>& into,
                                      InterfaceFacts& facts);

// "native XDP, zero-copy"
std::string text_of(const XdpMode& mode);

}  // namespace lockstep::hw
