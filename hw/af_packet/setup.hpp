// Opens a packet socket on an interface that is there, and changes nothing of it.
#pragma once

#include <string>
#include <vector>

#include "hw/interface.hpp"
#include "hw/poll/descriptor.hpp"
#include "hw/trouble.hpp"

namespace lockstep::hw {

struct PacketSocketSettings {
  std::string name;
  // Kernel memory for frames that have arrived, asked for; what the kernel allows may be less.
  Bytes receive_buffer{8 << 20};
};

// Several of them that share the frames: each flow's come to the one that shard_of names
// (hw/shards), and all else to the first.
[[nodiscard]] Trouble open_packet_sockets(const PacketSocketSettings& settings, Count sockets,
                                          std::vector<Descriptor>& into, InterfaceFacts& facts);

// A non-blocking packet socket, bound, with virtio headers, the tags that the kernel takes off
// frames in their auxiliary data, all groups' frames and none of those that leave. Says why not and
// leaves nothing behind. `facts` is what look_at() says of the interface.
[[nodiscard]] Trouble open_packet_socket(const PacketSocketSettings& settings, Descriptor& into,
                                         InterfaceFacts& facts);

}  // namespace lockstep::hw
