// The driver of a packet socket: one recvmmsg(2) and one sendmmsg(2) for each burst, and no
// allocation after construction.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/stack/driver.hpp"
#include "hw/af_packet/segments.hpp"
#include "hw/burst_port.hpp"
#include "hw/poll/descriptor.hpp"

namespace lockstep::hw {

// A Driver. Committed frames leave together at flush(), or when the batch is full.
class AfPacketPort : public BurstPort {
 public:
  // `socket` is as open_packet_socket() makes it. Allocates all memory: about 70 KB for each frame
  // of a burst. CHECKs 1 <= burst_frames <= burst_max.
  AfPacketPort(Descriptor socket, const PortShape& shape);
  ~AfPacketPort();

  std::span<const Ingress> receive();
  // Room for one frame; empty while a full batch waits for the kernel.
  std::span<std::byte> claim();
  void commit(const Egress& egress);
  void reclaim() {}
  // Sends what was committed; returns whether nothing is left.
  bool flush();

  int descriptor() const { return socket_.number(); }
  bool holds() const { return first_ != committed_; }
  bool more() const { return next_ != count_; }
  bool down() const { return down_; }
  // Also queries how many frames the kernel had no room for.
  const PortCounters& counters();

 private:
  struct Vectors;  // arguments of recvmmsg and sendmmsg

  void read_batch();
  // Hands out frame `next_` of the batch, or as many of its segments as the burst has room for.
  void take();
  void take_segments();
  void hand_out(std::span<const std::byte> frame, Checksum verdict);
  // Restores the tag that the kernel removed; returns its octets, 0 if there was none.
  std::uint32_t put_tag_back(std::uint32_t index);
  // Sets gone_ if the socket is no longer bound, because a deletion is reported only as link down.
  void look_whether_gone();
  std::span<std::byte> read_slot(std::uint32_t index);
  std::span<std::byte> out_slot(std::uint32_t index);
  std::span<std::byte> piece_slot(std::uint32_t index);

  Descriptor socket_;
  std::uint32_t slot_bytes_;     // for one frame or segment, with its virtio header
  std::uint32_t next_ = 0;       // the next frame to take from the batch read
  std::uint32_t count_ = 0;      // frames in the batch read
  std::uint32_t first_ = 0;      // the first frame not yet sent of the batch to send
  std::uint32_t committed_ = 0;  // frames in the batch to send
  bool cutting_ = false;         // segments_ holds more segments of frame next_
  bool waiting_ = false;         // the kernel refused the batch to send for lack of room
  bool down_ = false;            // the interface was down, and no frame has passed since
  Segments segments_;
  std::vector<std::byte> memory_;
  std::unique_ptr<Vectors> vectors_;
};

static_assert(Driver<AfPacketPort>);

}  // namespace lockstep::hw
