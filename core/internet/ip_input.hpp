// Received IP packets: checks their form, source and destination, and finds the transport.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/internet/addresses.hpp"
#include "core/units/drop.hpp"
#include "core/wire/ipv4.hpp"

namespace lockstep::internet {

// One packet for us, of either family. Valid as long as the bytes that it was parsed from.
struct IpArrival {
  wire::IpPacket packet;
  std::uint16_t local_address = no_address;  // of ours, the destination; no_address: to a group
  bool to_group = false;                     // IP or link destination is a broadcast
  bool path_known = false;                   // the addresses are those of the last good packet
};

// The addresses of the last packet that was good and for this host alone; those of the next one are
// mostly the same. It only saves work. A fresh one holds no addresses.
struct KnownPath {
  IpAddress source;
  IpAddress destination;
  std::uint16_t local_address = no_address;
};

// Parses and checks a packet. `known` only saves work and never changes the result; it must always
// be used with the same `addresses`. `link_group`: the frame was sent to all hosts. Returns
// Drop::none (the protocol is TCP or ICMP), a reason of wire::parse(), or ip_not_for_us,
// ip_link_broadcast, ip_source_invalid, ip_fragment or ip_protocol_unknown. `out` is complete with
// Drop::none, ip_fragment, and ip_protocol_unknown, which icmp_errors.hpp can answer.
[[nodiscard]] Drop ip_input(const Addresses& addresses, std::span<const std::byte> bytes,
                            bool link_group, KnownPath& known, IpArrival& out);

}  // namespace lockstep::internet
