// Opens a packet socket on an existing interface without changing its settings.
#pragma once

#include <string>
#include <vector>

#include "hw/interface.hpp"
#include "hw/poll/descriptor.hpp"
#include "hw/trouble.hpp"

namespace lockstep::hw {

struct PacketSocketSettings {
  std::string name;
  // Kernel memory for received frames; the kernel may grant less.
  Bytes receive_buffer{8 << 20};
};

// Opens several sockets that share the frames: each flow's frames go to the socket that shard_of
// names (hw/shards), and all other frames to the first.
[[nodiscard]] Trouble open_packet_sockets(const PacketSocketSettings& settings, Count sockets,
                                          std::vector<Descriptor>& into, InterfaceFacts& facts);

// Opens a bound, non-blocking packet socket with virtio headers. Tags that the kernel strips are in
// the auxiliary data; frames of all multicast groups are received, outgoing frames are not. On
// failure returns the reason and leaves nothing behind. `facts` is the result of look_at().
[[nodiscard]] Trouble open_packet_socket(const PacketSocketSettings& settings, Descriptor& into,
                                         InterfaceFacts& facts);

}  // namespace lockstep::hw
