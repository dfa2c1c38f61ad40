// Received IPv6 packets: checks their form, source and destination, and finds the transport.
#pragma once

#include <cstddef>
#include <span>

#include "core/internet/ip_input.hpp"
#include "core/wire/ipv6.hpp"

namespace lockstep::internet {

// Parses and checks a packet. `link_group`: the frame was sent to a group. `parsed` is scratch
// space and holds what only IPv6 has: the fragment header, and the problem to answer. Returns
// Drop::none (TCP, ICMPv6, or a fragment), a reason of wire::parse() or wire::walk(), or
// ip_not_for_us, ip_link_broadcast or ip_source_invalid. `out` is complete with Drop::none, and
// whenever parsed.problem requires an answer. The source :: is accepted here: neighbour discovery
// processes it, TCP refuses it.
[[nodiscard]] Drop ipv6_input(const Addresses& addresses, std::span<const std::byte> bytes,
                              bool link_group, wire::Ipv6Packet& parsed, IpArrival& out);

// Converts a parsed packet to the form in which the layers above read both families.
void as_packet(const wire::Ipv6Packet& parsed, wire::Ipv4Packet& out);

// Parses a packet of either family, by its version, without checking its addresses; for observers
// of frames. An IPv6 fragment is parsed up to its fragment header. Returns Drop::none or a reason.
[[nodiscard]] Drop read_packet(std::span<const std::byte> bytes, wire::Ipv4Packet& out);

}  // namespace lockstep::internet
