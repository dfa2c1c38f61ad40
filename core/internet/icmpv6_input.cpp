// Processing of received ICMPv6 messages.
#include "core/internet/icmpv6_input.hpp"

#include <algorithm>

#include "core/wire/ipv6.hpp"
#include "core/wire/neighbour_discovery.hpp"

namespace lockstep::internet {
namespace {

void classify(const wire::Icmp6Message& message, IcmpError& error) {
  error.type = wire::IcmpType::unreachable;
  error.kind = IcmpErrorKind::soft;
  error.code = message.code;
  error.mtu = 0;
  switch (message.type) {
    case wire::Icmp6Type::unreachable:
      // Port unreachable, or prohibited by an administrator: an open cannot succeed.
      if (message.code == wire::unreachable6_port ||
          message.code == wire::unreachable6_prohibited) {
        error.kind = IcmpErrorKind::hard;
      }
      return;
    case wire::Icmp6Type::packet_too_big:
      //= rfc4443#3.2
      //# 4443:ICMP6-19 the code is ignored
      error.kind = IcmpErrorKind::packet_too_big;
      error.mtu = static_cast<std::uint16_t>(std::min(message.rest, 0xffffu));
      return;
    case wire::Icmp6Type::time_exceeded:
      error.type = wire::IcmpType::time_exceeded;
      return;
    case wire::Icmp6Type::parameter_problem:
      //= rfc9293#3.9.2.2
      //# 9293:MUST-56 soft, with any code
      error.type = wire::IcmpType::parameter_problem;
      return;
    default:
      //= rfc4443#2.4
      //# 4443:ICMP6-3 an error of unknown type is passed to the transport; its code is ignored
      error.type = wire::IcmpType::parameter_problem;
      return;
  }
}

//= rfc4443#3.1
//# 4443:ICMP6-11 errors are passed to the transport that the quoted packet names
//= rfc4443#2.4
//# 4443:ICMP6-20 or discarded if it names none
Drop read_error(const Addresses& addresses, Icmp6Arrival& out) {
  wire::IcmpQuote quote;
  Drop const drop = wire::parse_quote6(out.message.body, quote);
  if (drop != Drop::none) {
    return drop;
  }
  if (addresses.find(quote.header.source) == no_address) {
    return Drop::icmp_quote_malformed;
  }
  if (quote.header.protocol != wire::IpProtocol::tcp) {
    return Drop::icmp_quote_unknown;
  }
  classify(out.message, out.error);
  out.error.quoted = {{quote.header.source, quote.source_port},
                      {quote.header.destination, quote.destination_port}};
  out.error.quoted_sequence = quote.sequence;
  out.error.quoted_bytes = quote.packet_bytes;
  out.act = Icmp6Act::error;
  return Drop::none;
}

}  // namespace

Drop icmpv6_input(const Addresses& addresses, const IpArrival& arrival, Icmp6Arrival& out) {
  wire::IpHeader const& header = arrival.packet.header;
  Drop const drop =
      wire::parse({header.source, header.destination}, arrival.packet.payload, out.message);
  if (drop != Drop::none) {
    return drop;
  }
  if (wire::is_neighbour_discovery(out.message.type)) {
    out.act = Icmp6Act::discovery;
    return Drop::none;
  }
  if (header.source == IpAddress{}) {
    return Drop::ip_source_invalid;
  }
  if (static_cast<std::uint8_t>(out.message.type) < 128) {
    return read_error(addresses, out);
  }
  if (out.message.type != wire::Icmp6Type::echo_request) {
    //= rfc4443#2.4
    //# 4443:ICMP6-4 an informational message of unknown type is silently discarded
    return Drop::icmp_type_unknown;
  }
  // No reply to a group: one packet could cause many replies.
  if (arrival.to_group) {
    return Drop::icmp_echo_to_group;
  }
  out.act = Icmp6Act::echo;
  return Drop::none;
}

}  // namespace lockstep::internet
