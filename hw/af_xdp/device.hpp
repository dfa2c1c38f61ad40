// What a port over an AF_XDP socket uses: descriptors, and memory shared with the kernel.
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

// An mmap(2) mapping, unmapped by its destructor.
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

// The four rings of a socket. Addresses in them are offsets into the frames' memory.
struct XdpRings {
  RingMemory<std::uint64_t> fill;        // we put: chunks for frames to be received
  RingMemory<XdpFrame> receive;          // we take: frames received
  RingMemory<XdpFrame> transmit;         // we put: frames to send
  RingMemory<std::uint64_t> completion;  // we take: frames sent
};

// The mode of the socket, as chosen by the kernel.
struct XdpMode {
  bool native = false;     // the program runs in the interface's driver, not after it
  bool zero_copy = false;  // the device accesses the frames' memory directly
  // The peer is memory of this machine (veth), so checksums may be left out.
  bool no_wire = false;
};

// Members are destroyed in reverse order: the program first, so that the kernel gets its frames
// back at once, the memory last. The kernel releases all of it when the process ends, however that
// happens.
struct XdpDevice {
  Mapping umem;
  std::array<Mapping, 4> ring_maps;
  std::span<std::byte> frames;       // a whole number of chunks
  std::uint32_t chunk_bytes = 0;     // a power of two: the size of a frame's place
  std::uint32_t headroom_bytes = 0;  // in front of each received frame
  XdpRings rings;
  XdpMode mode;
  std::uint32_t queue = 0;
  Descriptor socket;
  Descriptor groups;  // while open, the interface receives all multicast groups
  Descriptor map;     // the socket of each queue
  Descriptor link;    // attaches the program to the interface
};

}  // namespace lockstep::hw
