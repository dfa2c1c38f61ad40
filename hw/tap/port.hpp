// The driver of a TAP: one read(2) or write(2) for each frame, and no allocation after
// construction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/stack/driver.hpp"
#include "hw/burst_port.hpp"
#include "hw/poll/descriptor.hpp"

namespace lockstep::hw {

// A Driver. `device` is non-blocking, of type IFF_TAP | IFF_NO_PI | IFF_VNET_HDR, with headers of
// VirtioHeader::bytes octets, as setup.hpp opens it.
class TapPort : public BurstPort {
 public:
  // Allocates all memory. CHECKs 1 <= burst_frames <= burst_max.
  TapPort(Descriptor device, const PortShape& shape);

  std::span<const Ingress> receive();
  // Room for one frame; empty while the previous frame waits for the kernel.
  std::span<std::byte> claim();
  void commit(const Egress& egress);
  void reclaim() {}
  // commit() already sends each frame; this retries one that the kernel had no room for.
  void flush();

  int descriptor() const { return device_.number(); }
  // Whether a committed frame waits for room in the kernel.
  bool holds() const { return pending_bytes_ != 0; }
  bool more() const { return false; }
  bool down() const { return false; }  // the descriptor reports the deletion of a TAP
  const PortCounters& counters() const { return counters_; }

 private:
  // Whether the frame in the last buffer was sent, or lost.
  bool push();
  // Whether reading may go on, because a frame was read into buffer `index` or was lost.
  bool read_one(std::uint32_t index);
  std::span<std::byte> buffer(std::uint32_t index) {
    return std::span(memory_).subspan(std::size_t{index} * slot_bytes_, slot_bytes_);
  }

  Descriptor device_;
  std::uint32_t slot_bytes_;
  std::uint32_t pending_bytes_ = 0;  // of a frame in the last buffer not sent yet, or 0
  std::vector<std::byte> memory_;    // burst_frames_ buffers to read into, and one to write from
};

static_assert(Driver<TapPort>);

}  // namespace lockstep::hw
