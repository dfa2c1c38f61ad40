// What a port over an AF_XDP socket stands on: descriptors, and memory shared with the kernel.
#pragma once

#include <sys/mman.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "hw/af_xdp/ring.hpp"
#include "hw/poll/descriptor.hpp"

namespace lockstep::hw {

// A mapping that goes with its owner.
class Mapping {
 public:
  Mapping() = default;
  explicit Mapping(std::span<std::byte> bytes) : bytes_(bytes) {}
  Mapping(Mapping&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Mapping() {
    if (!bytes_.empty()) {
      munmap(bytes_.data(), bytes_.size());
    }
  }
  std::span<std::byte> bytes() const { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

// The four rings of a socket. Addresses in them count from the begin of the frames' memory.
struct XdpRings {
  RingMemory<std::uint64_t> fill;        // room for frames that will arrive: ours to give
  RingMemory<XdpFrame> receive;          // frames that have arrived
  RingMemory<XdpFrame> transmit;         // frames that are to leave: ours to give
  RingMemory<std::uint64_t> completion;  // frames that have left
};

// How the socket works, as the kernel has chosen.
struct XdpMode {
  bool native = false;     // the program runs in the interface's driver, not behind it
  bool zero_copy = false;  // the device itself reads and writes the frames' memory
  // The other end is memory of this machine (veth), which may leave checksums out.
  bool no_wire = false;
};

// Members go in the reverse of their order: the program first, so that the kernel gets its frames
// back at once, the memory last. All of it is gone too when the process is, however it ended.
struct XdpDevice {
  Mapping umem;
  std::array<Mapping, 4> ring_maps;
  std::span<std::byte> frames;       // whole chunks
  std::uint32_t chunk_bytes = 0;     // a power of two: of a frame's place
  std::uint32_t headroom_bytes = 0;  // in front of each frame that arrives
  XdpRings rings;
  XdpMode mode;
  std::uint32_t queue = 0;
  Descriptor socket;
  Descriptor groups;  // makes the interface hear all groups while it is open
  Descriptor map;     // which socket takes which queue
  Descriptor link;    // the program on the interface
};

}  // namespace lockstep::hw
