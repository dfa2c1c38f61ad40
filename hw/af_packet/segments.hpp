// Takes a frame of several TCP segments apart, each as it would have been on a wire.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace lockstep::hw {

// The kernel hands itself text in frames of up to 64 KiB, which a device would have cut; where
// there is no device, or one that has put what arrived together, nobody has. Looks at a frame, and
// never owns it.
class Segments {
 public:
  Segments() = default;

  // Whether `frame` (from its Ethernet header, perhaps with one 802.1Q tag) is a whole TCP segment
  // over IPv4, or over IPv6 without extension headers, with more than headers in it.
  // `segment_bytes` is what each but the last holds of text; not 0.
  bool begin(std::span<const std::byte> frame, std::uint16_t segment_bytes);

  // The length of the largest that next() writes.
  std::uint32_t longest() const { return text_at_ + segment_bytes_; }
  // Writes the next one to the front of `into`, which has room for longest(): its octets; 0: there
  // is none. IPv4's header checksum is right; TCP's is left as it was.
  std::uint32_t next(std::span<std::byte> into);

 private:
  std::span<const std::byte> frame_;  // without the link's padding
  bool v4_ = false;
  std::uint32_t ip_at_ = 0;
  std::uint32_t tcp_at_ = 0;
  std::uint32_t text_at_ = 0;
  std::uint32_t segment_bytes_ = 0;
  std::uint32_t done_ = 0;  // of its text
  std::uint16_t index_ = 0;
};

}  // namespace lockstep::hw
