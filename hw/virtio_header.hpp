// The virtio header that the kernel puts before a frame: checksum and segmentation.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/stack/frame.hpp"

namespace lockstep::hw {

// struct virtio_net_hdr_v1 of the virtio specification, 5.1.6, little-endian. A TAP uses all of it,
// a packet socket omits the last two octets. Declared here because the kernel's header does not
// compile as C++ everywhere.
struct VirtioHeader {
  static constexpr std::uint32_t bytes = 12;
  static constexpr std::uint32_t short_bytes = 10;
  // the checksum of [start, end) still has to be filled in
  static constexpr std::uint8_t needs_checksum = 1;
  static constexpr std::uint8_t data_valid = 2;  // the checksum has been verified

  std::uint8_t flags = 0;
  static constexpr std::uint8_t segments_tcp4 = 1;
  static constexpr std::uint8_t segments_tcp6 = 4;
  // with either of the above: only the first segment has CWR
  static constexpr std::uint8_t segments_ecn = 0x80;

  std::uint8_t segmentation = 0;    // 0: none
  std::uint16_t segment_bytes = 0;  // payload octets of each segment except the last
  std::uint16_t checksum_start = 0;
  std::uint16_t checksum_offset = 0;
};

namespace virtio {

constexpr std::uint16_t word_at(std::span<const std::byte> bytes, std::uint32_t at) {
  return static_cast<std::uint16_t>(std::to_integer<unsigned>(bytes[at]) |
                                    std::to_integer<unsigned>(bytes[at + 1]) << 8);
}

constexpr void set_word(std::span<std::byte> bytes, std::uint32_t at, std::uint16_t value) {
  bytes[at] = static_cast<std::byte>(value & 0xff);
  bytes[at + 1] = static_cast<std::byte>(value >> 8);
}

}  // namespace virtio

// `bytes` must hold at least VirtioHeader::short_bytes octets.
constexpr VirtioHeader parse_virtio(std::span<const std::byte> bytes) {
  VirtioHeader header;
  header.flags = std::to_integer<std::uint8_t>(bytes[0]);
  header.segmentation = std::to_integer<std::uint8_t>(bytes[1]);
  header.segment_bytes = virtio::word_at(bytes, 4);
  header.checksum_start = virtio::word_at(bytes, 6);
  header.checksum_offset = virtio::word_at(bytes, 8);
  return header;
}

// Writes zeros for segmentation and for fields that this struct omits. `into` has the header's
// length: VirtioHeader::bytes or short_bytes.
constexpr void write_virtio(const VirtioHeader& header, std::span<std::byte> into) {
  std::ranges::fill(into, std::byte{});
  into[0] = static_cast<std::byte>(header.flags);
  virtio::set_word(into, 6, header.checksum_start);
  virtio::set_word(into, 8, header.checksum_offset);
}

// A frame whose checksum was left out on this machine, or was verified, is good: it crossed no wire
// since.
constexpr Checksum verdict_of(const VirtioHeader& header) {
  bool const good = (header.flags & (VirtioHeader::needs_checksum | VirtioHeader::data_valid)) != 0;
  return good ? Checksum::good : Checksum::unknown;
}

// The header for a frame to send, which may ask for a checksum.
constexpr VirtioHeader header_of(const Egress& egress) {
  VirtioHeader header;
  if (egress.checksum_start != 0 || egress.checksum_offset != 0) {
    header.flags = VirtioHeader::needs_checksum;
    header.checksum_start = egress.checksum_start;
    header.checksum_offset = egress.checksum_offset;
  }
  return header;
}

}  // namespace lockstep::hw
