// ECN marking of a frame by a long queue: sets CE in its IP header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/wire/octets.hpp"

namespace lockstep::sim {

// Sets CE (RFC 3168 5) in the IPv4 or IPv6 packet behind `link_header_bytes` octets of link header,
// if it is ECT and not yet CE, and updates the IPv4 header checksum (RFC 1624, equation 3). Returns
// true if the frame was changed. Skips a VLAN tag; leaves frames that are not IP or are truncated
// unchanged.
inline bool mark_congestion(std::span<std::byte> frame, std::uint32_t link_header_bytes) {
  std::size_t at = link_header_bytes;
  constexpr std::uint32_t tagged = 0x8100;
  if (at >= 14 && frame.size() >= at + 4 && wire::load16(frame.data() + at - 2) == tagged) {
    at += 4;
  }
  if (frame.size() < at + 20) {
    return false;
  }
  std::byte* const header = frame.data() + at;
  std::uint32_t const before = wire::load16(header);
  std::uint32_t const version = before >> 12;
  // The ECN field is the lowest two bits of IPv4's second octet; in IPv6 it is four bits higher.
  std::uint32_t const shift = version == 6 ? 4 : 0;
  std::uint32_t const field = before >> shift & 3;
  bool const is_ip = version == 4 || version == 6;
  if (!is_ip || field == 0 || field == 3) {
    return false;
  }
  std::uint32_t const after = before | 3u << shift;
  wire::store16(header, static_cast<std::uint16_t>(after));
  if (version == 4) {
    std::uint32_t const sum =
        (~std::uint32_t{wire::load16(header + 10)} & 0xffff) + (~before & 0xffff) + after;
    std::uint32_t const once = (sum & 0xffff) + (sum >> 16);
    std::uint32_t const folded = (once & 0xffff) + (once >> 16);
    wire::store16(header + 10, static_cast<std::uint16_t>(~folded));
  }
  return true;
}

}  // namespace lockstep::sim
