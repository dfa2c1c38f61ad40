// Received IPv6 packets: checks their form, source and destination, and finds the transport.
#pragma once

#include <cstddef>
#include <span>

#include "core/internet/ip_input.hpp"
#include "core/wire/ipv6.hpp"

namespace lockstep::internet {

// Parses and checks a packet. `link_group`: the frame was sent to a group. `parsed` is scratch that
// keeps what only IPv6 has: its fragment header, and the problem that an error must report.
// Drop::none (its protocol is TCP or ICMPv6, or it is a fragment), one of wire::parse's or
// wire::walk's reasons, or ip_not_for_us, ip_link_broadcast or ip_source_invalid. `out` is whole
// with Drop::none, and whenever parsed.problem needs an answer. A source of :: passes: neighbour
// discovery accepts it, TCP does not.
[[nodiscard]] Drop ipv6_input(const Addresses& addresses, std::span<const std::byte> bytes,
                              bool link_group, wire::Ipv6Packet& parsed, IpArrival& out);

// Reads a packet of either family, by its version, without checking whether it is for us: for
// observers of frames. A fragment of IPv6 is read up to its fragment header. Drop::none, or a
// reason.
[[nodiscard]] Drop read_packet(std::span<const std::byte> bytes, wire::IpPacket& out);

}  // namespace lockstep::internet
