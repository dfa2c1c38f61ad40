// Arriving IPv6 packets: whether they are well-formed, for us, from a host; for which transport.
#pragma once

#include <cstddef>
#include <span>

#include "core/internet/ip_input.hpp"
#include "core/wire/ipv6.hpp"

namespace lockstep::internet {

// Parses and judges a packet. `link_group`: the frame was sent to a group. `parsed` is scratch that
// keeps what only IPv6 has: its fragment header, and the problem that it must be answered with.
// Drop::none (its protocol is TCP or ICMPv6, or it is a fragment), one of wire::parse's or
// wire::walk's reasons, or ip_not_for_us, ip_link_broadcast or ip_source_invalid. `out` is whole
// with Drop::none, and whenever parsed.problem asks for an answer. A source of :: is let through:
// neighbour discovery knows what to do with it, and TCP refuses it.
[[nodiscard]] Drop ipv6_input(const Addresses& addresses, std::span<const std::byte> bytes,
                              bool link_group, wire::Ipv6Packet& parsed, IpArrival& out);

// A packet whose headers are parsed, as the floors above read packets of either family.
void as_packet(const wire::Ipv6Packet& parsed, wire::Ipv4Packet& out);

// Reads a packet of either family, by its version, without judging for whom it is: for whoever
// looks at frames from outside. A fragment of IPv6 is read up to its header. Drop::none, or a
// reason.
[[nodiscard]] Drop read_packet(std::span<const std::byte> bytes, wire::Ipv4Packet& out);

}  // namespace lockstep::internet
