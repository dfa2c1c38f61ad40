// Splits a frame of several TCP segments into the frames that a wire would have carried.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace lockstep::hw {

// The kernel passes frames of up to 64 KiB between local sockets and from GRO; no device splits
// them. This is a view of such a frame and does not own it.
class Segments {
 public:
  Segments() = default;

  // Whether `frame`, which begins with its Ethernet header and at most one 802.1Q tag, is a whole
  // TCP segment with payload over IPv4, or over IPv6 without extension headers. `segment_bytes` is
  // the payload of each segment except the last; not 0.
  bool begin(std::span<const std::byte> frame, std::uint16_t segment_bytes);

  // The length of the longest frame that next() writes.
  std::uint32_t longest() const { return payload_at_ + segment_bytes_; }
  // Writes the next frame to the front of `into`, which must have room for longest(), and returns
  // its length; 0: there are no more. IPv4's header checksum is correct, TCP's is left unchanged.
  std::uint32_t next(std::span<std::byte> into);

 private:
  std::span<const std::byte> frame_;  // without the link's padding
  bool v4_ = false;
  std::uint32_t ip_at_ = 0;
  std::uint32_t tcp_at_ = 0;
  std::uint32_t payload_at_ = 0;
  std::uint32_t segment_bytes_ = 0;
  std::uint32_t done_ = 0;  // octets of payload already written
  std::uint16_t index_ = 0;
};

}  // namespace lockstep::hw
