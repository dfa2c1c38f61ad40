// The driver of one queue of an interface by AF_XDP: frames in memory shared with the kernel, and
// no system call a frame; nothing allocated after construction.
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

// A Driver. What is committed leaves at the next receive(). Half of the frames' memory is for those
// that arrive, half for those that leave. What the kernel writes into the rings is believed only as
// far as it can be true: anything else is `malformed` and ignored.
class XdpPort : public BurstPort {
 public:
  // `device` is one of those that open_xdp_queues() makes. The last moment at which memory is
  // obtained: four octets and a bit a frame. CHECKs 1 <= burst_frames <= burst_max, and that a
  // chunk has room for a frame.
  XdpPort(XdpDevice device, const PortShape& shape);
  ~XdpPort();

  std::span<const Ingress> receive();
  // Room for one frame; empty while the kernel has not yet sent any of those before it.
  std::span<std::byte> claim();
  void commit(const Egress& egress);
  void reclaim();
  // Gives the kernel what was committed, until it takes no more.
  void flush();

  int descriptor() const { return device_.socket.number(); }
  // Frames wait for the kernel; while the interface is down it will not take them.
  bool holds() const { return !down_ && transmit_.waiting() != 0; }
  bool more() const { return false; }  // the descriptor says
  // Nobody says when the interface goes: it is looked at once a second.
  bool down() const { return true; }
  // Asks the kernel how many frames it had no room for.
  const PortCounters& counters();

 private:
  // One call; whether another may help.
  bool kick();
  void take_back_sent();
  void take(const XdpFrame& frame);
  // Whether the kernel has chunk `number`; it has it no more.
  bool take_from_kernel(std::uint64_t number);
  // Tells the sleeping device that it has room again.
  void wake_for_room();
  void finish_checksum(const Egress& egress, std::span<std::byte> frame) const;
  std::uint64_t address_of(std::uint32_t number) const {
    return std::uint64_t{number} * device_.chunk_bytes;
  }
  std::span<std::byte> chunk(std::uint32_t number) const {
    return device_.frames.subspan(address_of(number), device_.chunk_bytes);
  }

  Instant look_at_;  // when the interface is looked at next
  XdpDevice device_;
  ProducerRing<std::uint64_t> fill_;
  ConsumerRing<XdpFrame> receive_;
  ProducerRing<XdpFrame> transmit_;
  ConsumerRing<std::uint64_t> completion_;
  std::uint32_t arriving_ = 0;       // the first chunks: of frames that arrive. The rest leave.
  std::uint32_t lent_ = 0;           // chunks that reclaim() gives back, as far as there is room
  std::uint32_t lost_ = 0;           // of those that the kernel gives back, so many have not left
  bool waiting_ = false;             // the kernel has refused what was committed for want of room
  bool down_ = false;                // the interface was, when it was looked at last
  std::vector<std::uint32_t> free_;  // chunks of frames that leave, by number
  std::uint32_t free_count_ = 0;
  // Of each chunk, whether the kernel has it. It gives back no other one, whatever it writes.
  std::vector<bool> with_kernel_;
  std::array<std::uint32_t, burst_max> chunks_{};  // lent, by number
};

static_assert(Driver<XdpPort>);

}  // namespace lockstep::hw
