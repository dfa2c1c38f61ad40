// One TCP segment as captured.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/units/address.hpp"
#include "core/units/time.hpp"
#include "core/wire/tcp.hpp"

namespace lockstep::sim::referee {

// partial: the sum of the pseudo-header alone, or zero, as captured at a sender whose NIC fills in
// the checksum; or that of a segment which a receiver's NIC has joined from verified ones.
// unfilled: wrong, as those of many packets of such a sender, or of an edited capture. unknown: not
// all octets were captured, or it is wrong for either reason.
enum class Sum : std::uint8_t { good, bad, partial, unfilled, unknown };

// Valid as long as the octets that it refers to.
struct Sighting {
  std::uint64_t packet = 0;  // its number in the capture
  Instant at;
  Endpoint source;
  Endpoint destination;
  wire::Segment segment;               // `payload`: the captured part
  Bytes cut;                           // octets of payload that were not captured
  std::span<const std::byte> options;  // raw, as on the wire; empty if not available
  bool options_good = true;            // false: one is malformed, and `segment.options` is empty
  std::uint8_t reserved = 0;           // the four bits after the data offset
  std::uint8_t ecn = 0;                // the lower two bits of the traffic class
  std::uint8_t hop_limit = 0;          // IPv4: time to live; 0: unknown
  std::uint16_t identification = 0;    // of the IPv4 packet; 0: none
  std::uint32_t network = 0;           // a number of the VLANs and the tunnel's network; 0: none
  Sum sum = Sum::good;
  Sum ip_sum = Sum::good;
  bool copy = false;   // the second record of the same packet
  bool equal = false;  // it equals another packet of a moment ago, and may be a record of that one

  // A NIC that fills the checksum in may split the segment as well.
  bool is_offloaded() const { return sum == Sum::partial || sum == Sum::unfilled; }

  Bytes text() const { return Bytes{static_cast<std::uint32_t>(segment.payload.size())} + cut; }
  Bytes length() const { return segment.length() + cut; }
  Sequence end() const { return segment.sequence + length(); }
  // The sequence number of the first payload octet.
  Sequence text_begin() const {
    return segment.flags.syn() ? segment.sequence.next() : segment.sequence;
  }
};

}  // namespace lockstep::sim::referee
