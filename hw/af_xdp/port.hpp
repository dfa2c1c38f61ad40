// The driver of one queue of an interface by AF_XDP: frames in memory shared with the kernel, no
// system call for each frame, and no allocation after construction.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/stack/driver.hpp"
#include "hw/af_xdp/device.hpp"
#include "hw/burst_port.hpp"

namespace lockstep::hw {

// A Driver. Half of the frames' memory is for received frames, half for frames to send. Ring
// entries of the kernel are checked; an impossible one is counted as `malformed` and ignored.
class XdpPort : public BurstPort {
 public:
  // `device` is one of those that open_xdp_queues() makes. Allocates all memory, four octets and a
  // bit for each frame. CHECKs 1 <= burst_frames <= burst_max, and that a chunk has room for a
  // frame.
  XdpPort(XdpDevice device, const PortShape& shape);
  ~XdpPort();

  std::span<const Ingress> receive();
  // Room for one frame; empty while all chunks or ring entries wait for the kernel.
  std::span<std::byte> claim();
  void commit(const Egress& egress);
  void reclaim();
  // Passes the committed frames to the kernel, until it accepts no more.
  void flush();

  int descriptor() const { return device_.socket.number(); }
  // Whether frames wait for the kernel; false while the interface is down, when none can leave.
  bool holds() const { return !down_ && transmit_.waiting() != 0; }
  bool more() const { return false; }  // the descriptor shows it
  // Deletion of the interface is not reported, so the loop must check once a second.
  bool down() const { return true; }
  // Also queries how many frames the kernel had no room for.
  const PortCounters& counters();

 private:
  // Makes one call; returns whether another may help.
  bool kick();
  void take_back_sent();
  void take(const XdpFrame& frame);
  // Whether the kernel has chunk `number`; marks it as ours.
  bool take_from_kernel(std::uint64_t number);
  // Wakes the device if it sleeps for lack of chunks to receive into.
  void wake_for_room();
  void finish_checksum(const Egress& egress, std::span<std::byte> frame) const;
  std::uint64_t address_of(std::uint32_t number) const {
    return std::uint64_t{number} * device_.chunk_bytes;
  }
  std::span<std::byte> chunk(std::uint32_t number) const {
    return device_.frames.subspan(address_of(number), device_.chunk_bytes);
  }

  Instant look_at_;  // the next check of the interface
  XdpDevice device_;
  ProducerRing<std::uint64_t> fill_;
  ConsumerRing<XdpFrame> receive_;
  ProducerRing<XdpFrame> transmit_;
  ConsumerRing<std::uint64_t> completion_;
  std::uint32_t arriving_ = 0;       // the first chunks, for receiving; the rest are for sending
  std::uint32_t lent_ = 0;           // received chunks that wait for reclaim()
  std::uint32_t lost_ = 0;           // of the completed frames, those that were lost
  bool waiting_ = false;             // the kernel refused committed frames for lack of room
  bool down_ = false;                // the interface was down at the last check
  std::vector<std::uint32_t> free_;  // free chunks for sending, by number
  std::uint32_t free_count_ = 0;
  // Whether the kernel has each chunk. A completion of any other chunk is ignored.
  std::vector<bool> with_kernel_;
  std::array<std::uint32_t, burst_max> chunks_{};  // received chunks, until they are returned
};

static_assert(Driver<XdpPort>);

}  // namespace lockstep::hw
