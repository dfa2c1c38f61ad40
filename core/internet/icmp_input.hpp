// Arriving ICMP messages: what to answer, and what an error says of which segment.
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

// soft:           may pass, never ends a connection (RFC 9293 3.9.2.2, MUST-56)
// hard:           should end it, before it is synchronized (SHLD-26, RFC 5927 5.2)
// packet_too_big: the path's MTU is smaller (RFC 1191); never ends it
enum class IcmpErrorKind : std::uint8_t { soft, hard, packet_too_big };

// What an error says of a TCP segment of ours. Whether the connection exists and the sequence
// number is in flight is TCP's question: until then anybody may have made it up.
struct IcmpError {
  IcmpErrorKind kind = IcmpErrorKind::soft;
  wire::IcmpType type{};
  std::uint8_t code = 0;
  std::uint16_t mtu = 0;  // of packet_too_big: the next hop's; 0: it did not say
  FourTuple quoted;       // as this host sees its connection: `local` is ours
  Sequence quoted_sequence;
  Bytes quoted_bytes;  // the total length of the quoted packet, as it claims
};

// echo: `message` is to be answered (icmp_errors.hpp). error: `error` is for TCP.
enum class IcmpAct : std::uint8_t { echo, error };

struct IcmpArrival {
  IcmpAct act = IcmpAct::echo;
  wire::IcmpMessage message;
  IcmpError error;
};

// Judges the ICMP message in `arrival`. Drop::none, or icmp_too_short, icmp_checksum,
// icmp_type_unknown, icmp_source_quench, icmp_echo_to_group, icmp_quote_malformed or
// icmp_quote_unknown (it quotes no TCP segment) with `out` unspecified.
[[nodiscard]] Drop icmp_input(const Addresses& addresses, const IpArrival& arrival,
                              IcmpArrival& out);

}  // namespace lockstep::internet
