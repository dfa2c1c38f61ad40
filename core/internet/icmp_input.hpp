// Received ICMP messages: echo requests to answer, and errors about segments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/internet/ip_input.hpp"
#include "core/units/address.hpp"
#include "core/units/bytes.hpp"
#include "core/units/drop.hpp"
#include "core/units/sequence.hpp"
#include "core/wire/icmp.hpp"

namespace lockstep::internet {

// soft:           may be temporary, never ends a connection (RFC 9293 3.9.2.2, MUST-56)
// hard:           ends an open that is not yet synchronized (SHLD-26, RFC 5927 5.2)
// packet_too_big: the path MTU is smaller (RFC 1191); never ends a connection
enum class IcmpErrorKind : std::uint8_t { soft, hard, packet_too_big };

// An ICMP error about a TCP segment of ours. TCP checks whether the connection exists and the
// sequence number is in flight; before that, the error may be forged.
struct IcmpError {
  IcmpErrorKind kind = IcmpErrorKind::soft;
  wire::IcmpType type{};
  std::uint8_t code = 0;
  std::uint16_t mtu = 0;  // packet_too_big: the next-hop MTU; 0: not given
  FourTuple quoted;       // from this host's point of view: `local` is ours
  Sequence quoted_sequence;
  Bytes quoted_bytes;  // total length in the quoted header
};

// echo: `message` requires a reply (icmp_errors.hpp). error: `error` is for TCP.
enum class IcmpAct : std::uint8_t { echo, error };

struct IcmpArrival {
  IcmpAct act = IcmpAct::echo;
  wire::IcmpMessage message;
  IcmpError error;
};

// Processes the ICMP message in `arrival`. Returns Drop::none; or icmp_too_short, icmp_checksum,
// icmp_type_unknown, icmp_source_quench, icmp_echo_to_group, icmp_quote_malformed or
// icmp_quote_unknown (the quote is not a TCP segment) with `out` unspecified.
[[nodiscard]] Drop icmp_input(const Addresses& addresses, const IpArrival& arrival,
                              IcmpArrival& out);

}  // namespace lockstep::internet
