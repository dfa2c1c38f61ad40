// The driver of one queue of an interface by AF_XDP: frames in memory shared with the kernel, and
// no system call a frame; nothing allocated after construction.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/seam/driver.hpp"
#include "hw/af_xdp/device.hpp"
#include "hw/burst_port.hpp"

namespace lockstep::hw {

// A Driver. What is committed leaves at the next receive(). Half of the frames' memory is for those
// that arrive, half for those that leave.
class XdpPort : public BurstPort {
 public:
  // `device` is one of those that open_xdp_queues() makes. The last moment at which memory is
  // obtained: four octets a frame. CHECKs 1 <= burst_frames <= burst_max, and that a chunk has room
  // for a frame.
  XdpPort(XdpDevice device, const PortShape& shape);
  ~XdpPort();

  std::span<const Ingress> receive();
  // Room for one frame; empty while the kernel has not yet sent any of those before it.
  std::span<std::byte> claim();
  void commit(const Egress& egress);
  void reclaim();

  int descriptor() const { return device_.socket.number(); }
  // Frames wait for the kernel; while the interface is down it will not take them.
  bool holds() const { return !down_ && transmit_.waiting() != 0; }
  bool more() const { return false; }  // the descriptor says
  // Nobody says when the interface goes: it is looked at once a second.
  bool down() const { return true; }
  // Asks the kernel how many frames it had no room for.
  const PortCounters& counters();

 private:
  // Gives the kernel what was committed, until it takes no more.
  void flush();
  // One call; whether another may help.
  bool kick();
  void take_back_sent();
  void take(const XdpFrame& frame);
  // Tells the sleeping device that it has room again.
  void wake_for_room();
  void finish_checksum(const Egress& egress, std::span<std::byte> frame) const;
  std::span<std::byte> chunk(std::uint64_t address) const {
    return device_.frames.subspan(address, device_.chunk_bytes);
  }

  Instant look_at_;  // when the interface is looked at next
  XdpDevice device_;
  ProducerRing<std::uint64_t> fill_;
  ConsumerRing<XdpFrame> receive_;
  ProducerRing<XdpFrame> transmit_;
  ConsumerRing<std::uint64_t> completion_;
  std::uint32_t lent_ = 0;   // chunks that reclaim() gives back
  std::uint32_t lost_ = 0;   // of those that the kernel gives back, so many have not left
  bool waiting_ = false;     // the kernel has refused what was committed for want of room
  bool down_ = false;        // the interface was, when it was looked at last
  std::vector<std::uint32_t> free_;  // chunks of frames that leave, by number
  std::uint32_t free_count_ = 0;
  std::array<std::uint64_t, burst_max> chunks_{};
};

static_assert(Driver<XdpPort>);

}  // namespace lockstep::hw
