// Received ICMPv6 messages: echo requests, errors for TCP, neighbour discovery for the link layer.
#pragma once

#include <cstdint>

#include "core/internet/icmp_input.hpp"
#include "core/wire/icmpv6.hpp"

namespace lockstep::internet {

// echo: requires a reply. error: for TCP. discovery: for the link layer.
enum class Icmp6Act : std::uint8_t { echo, error, discovery };

struct Icmp6Arrival {
  Icmp6Act act = Icmp6Act::echo;
  wire::Icmp6Message message;
  IcmpError error;  // its `type` is the corresponding ICMP type of IPv4
};

// Processes the ICMPv6 message in `arrival`. Returns Drop::none; or icmp_too_short, icmp_checksum,
// icmp_type_unknown, icmp_echo_to_group, icmp_quote_malformed or icmp_quote_unknown (the quote is
// not a TCP segment of ours) with `out` unspecified.
[[nodiscard]] Drop icmpv6_input(const Addresses& addresses, const IpArrival& arrival,
                                Icmp6Arrival& out);

}  // namespace lockstep::internet
