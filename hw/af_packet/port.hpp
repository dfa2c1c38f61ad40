// The driver of a packet socket: one recvmmsg(2) and one sendmmsg(2) a burst, nothing allocated
// after construction.
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

// A Driver. What is committed leaves together at flush(), or when the batch is full.
class AfPacketPort : public BurstPort {
 public:
  // `socket` is as open_packet_socket() makes it. The last moment at which memory is obtained:
  // some 70 KB a frame of a burst. CHECKs 1 <= burst_frames <= burst_max.
  AfPacketPort(Descriptor socket, const PortShape& shape);
  ~AfPacketPort();

  std::span<const Ingress> receive();
  // Room for one frame; empty while a whole batch waits for the kernel.
  std::span<std::byte> claim();
  void commit(const Egress& egress);
  void reclaim() {}
  // Whether nothing is held any more.
  bool flush();

  int descriptor() const { return socket_.number(); }
  bool holds() const { return first_ != committed_; }
  bool more() const { return next_ != count_; }
  bool down() const { return down_; }
  // Asks the kernel how many frames it had no room for.
  const PortCounters& counters();

 private:
  struct Vectors;  // what recvmmsg and sendmmsg read

  void read_batch();
  // Hands out frame `next_` of the batch, or as many of its segments as the burst has room for.
  void take();
  void take_segments();
  void hand_out(std::span<const std::byte> frame, Checksum verdict);
  // A tag that the kernel took off, back where it stood; 0 octets: there was none.
  std::uint32_t put_tag_back(std::uint32_t index);
  // The socket of a deleted interface stands on none; it is told only that this was set down.
  void look_whether_gone();
  std::span<std::byte> read_slot(std::uint32_t index);
  std::span<std::byte> out_slot(std::uint32_t index);
  std::span<std::byte> piece_slot(std::uint32_t index);

  Descriptor socket_;
  std::uint32_t slot_bytes_;     // of a frame of ours, or of a piece, with its virtio header
  std::uint32_t next_ = 0;       // of the batch that was read: to be taken next
  std::uint32_t count_ = 0;      // frames in that batch
  std::uint32_t first_ = 0;      // of the batch that leaves: not yet gone
  std::uint32_t committed_ = 0;  // frames in that batch
  bool cutting_ = false;         // segments_ holds more of frame next_
  bool waiting_ = false;         // the batch that leaves was refused for want of room
  bool down_ = false;            // it was, and nothing has passed since
  Segments segments_;
  std::vector<std::byte> memory_;
  std::unique_ptr<Vectors> vectors_;
};

static_assert(Driver<AfPacketPort>);

}  // namespace lockstep::hw
