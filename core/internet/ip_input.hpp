// Arriving IP packets: whether they are well-formed, for us, from a host, and for which transport.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/internet/addresses.hpp"
#include "core/units/drop.hpp"
#include "core/wire/ipv4.hpp"

namespace lockstep::internet {

// One packet for us. Valid as long as the bytes that it was parsed from.
struct IpArrival {
  wire::Ipv4Packet packet;
  std::uint16_t local_address = no_address;  // of ours, the destination; no_address: to a group
  bool to_group = false;                     // IP or link destination is a broadcast
  bool path_known = false;                   // the addresses are those of the last good packet
};

// The addresses of the last packet that was found good and for this host alone: those of the next
// one are mostly the same. It only ever spares work; a fresh one knows nothing.
struct KnownPath {
  IpAddress source;
  IpAddress destination;
  std::uint16_t local_address = no_address;
};

// Parses and judges a packet; a function of the other arguments alone, whatever `known` holds,
// which must have come from the same `addresses`. `link_group`: the frame was sent to all hosts.
// Drop::none (its protocol is TCP or ICMP), one of wire::parse's reasons, or ip_not_for_us,
// ip_link_broadcast, ip_source_invalid, ip_fragment or ip_protocol_unknown. `out` is whole with
// Drop::none, with ip_fragment, and with ip_protocol_unknown, which icmp_errors.hpp can answer.
[[nodiscard]] Drop ip_input(const Addresses& addresses, std::span<const std::byte> bytes,
                            bool link_group, KnownPath& known, IpArrival& out);

}  // namespace lockstep::internet
