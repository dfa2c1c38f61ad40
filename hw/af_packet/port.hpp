// The driver of a packet socket: one recvmmsg(2) and one sendmmsg(2) a burst, nothing allocated
// after construction.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/seam/driver.hpp"
#include "core/units/bytes.hpp"
#include "hw/af_packet/segments.hpp"
#include "hw/poll/clock.hpp"
#include "hw/poll/descriptor.hpp"
#include "hw/port_counters.hpp"

namespace lockstep::hw {

struct AfPacketShape {
  Bytes mtu{1500};
  Count burst_frames{64};  // at most burst_max
};

// A Driver. What is committed leaves together when the batch is full, or at the next receive().
class AfPacketPort {
 public:
  static constexpr std::uint32_t burst_max = 256;
  // An Ethernet header and an 802.1Q tag.
  static constexpr std::uint32_t link_bytes = 18;

  // `socket` is as open_packet_socket() makes it. The last moment at which memory is obtained:
  // some 70 KB a frame of a burst. CHECKs 1 <= burst_frames <= burst_max.
  AfPacketPort(Descriptor socket, const AfPacketShape& shape);
  ~AfPacketPort();
  AfPacketPort(const AfPacketPort&) = delete;
  AfPacketPort& operator=(const AfPacketPort&) = delete;

  Instant now() {
    now_ = clock_.now();
    return now_;
  }
  std::span<const Ingress> receive();
  // Room for one frame; empty while a whole batch waits for the kernel.
  std::span<std::byte> claim();
  void commit(const Egress& egress);
  void reclaim() {}

  int descriptor() const { return socket_.number(); }
  bool holds() const { return first_ != committed_; }
  bool more() const { return next_ != count_; }
  bool down() const { return down_; }
  // The interface was deleted: nothing will ever come or leave again.
  bool gone() const { return gone_; }
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
  // Whether nothing is held any more.
  bool flush();
  // The socket of a deleted interface stands on none; it is told only that this was set down.
  void look_whether_gone();
  std::span<std::byte> read_slot(std::uint32_t index);
  std::span<std::byte> out_slot(std::uint32_t index);
  std::span<std::byte> piece_slot(std::uint32_t index);

  MonotonicClock clock_;
  Instant now_ = Instant{} + MonotonicClock::start;  // when it was asked for last
  Descriptor socket_;
  std::uint32_t frame_max_;
  std::uint32_t burst_frames_;
  std::uint32_t slot_bytes_;         // of a frame of ours, or of a piece, with its virtio header
  std::uint32_t taken_ = 0;          // frames of this receive() so far
  std::uint32_t next_ = 0;           // of the batch that was read: to be taken next
  std::uint32_t count_ = 0;          // frames in that batch
  std::uint32_t first_ = 0;          // of the batch that leaves: not yet gone
  std::uint32_t committed_ = 0;      // frames in that batch
  bool cutting_ = false;             // segments_ holds more of frame next_
  bool waiting_ = false;             // the batch that leaves was refused for want of room
  bool down_ = false;                // it was, and nothing has passed since
  bool gone_ = false;
  Segments segments_;
  PortCounters counters_;
  std::vector<std::byte> memory_;
  std::unique_ptr<Vectors> vectors_;
  std::array<Ingress, burst_max> burst_{};
};

static_assert(Driver<AfPacketPort>);

}  // namespace lockstep::hw
