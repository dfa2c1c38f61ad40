// Processing of received ICMP messages.
#include "core/internet/icmp_input.hpp"

namespace lockstep::internet {
namespace {

// The effect of an unreachable message with this code on a connection.
IcmpErrorKind kind_of_unreachable(std::uint8_t code) {
  switch (static_cast<wire::Unreachable>(code)) {
    case wire::Unreachable::protocol:
    case wire::Unreachable::port:
      //= rfc9293#3.9.2.2
      //# 9293:SHLD-26 codes 2 and 3 are hard
      //= rfc1122#3.2.2.1
      //# 1122:H-29 port unreachable is equivalent to a reset
      return IcmpErrorKind::hard;
    case wire::Unreachable::fragmentation_needed:
      // Path MTU discovery; it never aborts, although it is on the list of hard codes.
      return IcmpErrorKind::packet_too_big;
    case wire::Unreachable::network:
    case wire::Unreachable::host:
    case wire::Unreachable::source_route_failed:
      //= rfc9293#3.9.2.2
      //# 9293:MUST-56 codes 0, 1 and 5 never abort
      //= rfc1122#3.2.2.1
      //# 1122:H-30 they are hints, not proof
      return IcmpErrorKind::soft;
    default:
      // Later codes state why a router refuses; that may change.
      return IcmpErrorKind::soft;
  }
}

//= rfc9293#3.9.2.2
//# 9293:MUST-54 the quoted header identifies the connection
//= rfc1122#3.2.2
//# 1122:H-28, 1122:H-36 the quoted protocol number selects the transport
Drop read_error(const Addresses& addresses, IcmpArrival& out) {
  wire::IcmpQuote quote;
  Drop const drop = wire::parse(out.message.body, quote);
  if (drop != Drop::none) {
    return drop;
  }
  if (addresses.find(quote.header.source) == no_address) {
    return Drop::icmp_quote_malformed;
  }
  if (quote.header.protocol != wire::IpProtocol::tcp) {
    return Drop::icmp_quote_unknown;
  }
  IcmpError& error = out.error;
  error.type = out.message.type;
  error.code = out.message.code;
  error.kind = IcmpErrorKind::soft;
  error.mtu = 0;
  //= rfc1122#3.2.2.1
  //# 1122:H-L7 unreachable is passed to the transport
  if (error.type == wire::IcmpType::unreachable) {
    error.kind = kind_of_unreachable(error.code);
  }
  if (error.kind == IcmpErrorKind::packet_too_big) {
    error.mtu = out.message.next_hop_mtu();
  }
  error.quoted = {{quote.header.source, quote.source_port},
                  {quote.header.destination, quote.destination_port}};
  error.quoted_sequence = quote.sequence;
  error.quoted_bytes = quote.packet_bytes;
  out.act = IcmpAct::error;
  return Drop::none;
}

}  // namespace

Drop icmp_input(const Addresses& addresses, const IpArrival& arrival, IcmpArrival& out) {
  Drop const drop = wire::parse(arrival.packet.payload, out.message);
  if (drop != Drop::none) {
    return drop;
  }
  switch (out.message.type) {
    case wire::IcmpType::echo_request:
      //= rfc1122#3.2.2.6
      //# 1122:H-L10 an echo request to all hosts is silently discarded
      if (arrival.to_group) {
        return Drop::icmp_echo_to_group;
      }
      out.act = IcmpAct::echo;
      return Drop::none;
    case wire::IcmpType::source_quench:
      //= rfc9293#3.9.2.2
      //# 9293:MUST-55 silently discarded
      //= rfc5927#6.2
      //# 5927:ICMP-4 it never throttles a connection
      //= rfc6633#3
      //# 6633:SQ-1, 6633:SQ-3 discarded by the IP layer itself
      return Drop::icmp_source_quench;
    case wire::IcmpType::time_exceeded:
    case wire::IcmpType::parameter_problem:
      //= rfc9293#3.9.2.2
      //# 9293:MUST-56 neither ever aborts
      //= rfc1122#3.2.2.4
      //# 1122:H-31 time exceeded is passed to the transport
      //= rfc1122#3.2.2.5
      //# 1122:H-32 and so is a parameter problem
      return read_error(addresses, out);
    case wire::IcmpType::unreachable:
      return read_error(addresses, out);
    case wire::IcmpType::echo_reply:
    case wire::IcmpType::redirect:
      // We send no echo requests, and routes are only configured.
      return Drop::icmp_type_unknown;
  }
  //= rfc1122#3.2.2
  //# 1122:H-26 unknown types are silently discarded
  return Drop::icmp_type_unknown;
}

}  // namespace lockstep::internet
