// Opens AF_XDP on the queues of an existing interface without changing its settings.
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
  Bytes mtu{1500};  // for sending and receiving
  XdpPlace place = XdpPlace::fitting;
  bool must_be_zero_copy = false;  // refuse a driver that has to copy
};

// The largest MTU for which a frame fits into a page of the kernel.
inline constexpr Bytes xdp_mtu_max{4096 - 256 - 18};

// The locked memory for frames of this MTU, in both directions.
std::uint64_t xdp_memory_bytes(Bytes mtu);

// Opens a socket on each queue, in order, of an interface that must have exactly `queues` of them,
// with memory for 2,048 frames in each direction, and attaches the program. From then on frames
// arrive there instead of in the kernel, until the last of `into` is destroyed. On failure returns
// the reason and leaves nothing behind. With `cpus`, one for each queue, the queue's memory is
// local to its processor. `facts` is the result of look_at().
[[nodiscard]] Trouble open_xdp_queues(const XdpSettings& settings, Count queues,
                                      const std::vector<Cpu>& cpus, std::vector<XdpDevice>& into,
                                      InterfaceFacts& facts);

// For example "native XDP, zero-copy".
std::string text_of(const XdpMode& mode);

}  // namespace lockstep::hw
