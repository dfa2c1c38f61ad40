// Writing of the IP headers of our own datagrams.
#include "core/internet/ip_output.hpp"

namespace lockstep::internet {
namespace {

Bytes write_ipv6_header(const Departure& departure, std::span<std::byte> into) {
  wire::Ipv6Header header;
  header.source = departure.source;
  header.destination = departure.destination;
  header.next_header = static_cast<std::uint8_t>(departure.protocol);
  header.hop_limit = departure.time_to_live;
  header.traffic_class = departure.traffic_class;
  return wire::write(header, departure.payload, into);
}

}  // namespace

Bytes write_ip_header(const Departure& departure, std::span<std::byte> into) {
  //= rfc8200#8.4
  //# 8200:V6-28 nothing of what arrived is turned round: a reply has no routing header
  //= rfc8200#4.5
  //# 8200:V6-21 no packet of IPv6 that leaves has a fragment header, nor any other extension
  if (!departure.source.is_v4()) [[unlikely]] {
    return write_ipv6_header(departure, into);
  }
  wire::Ipv4Header header;
  header.source = departure.source;
  header.destination = departure.destination;
  header.protocol = departure.protocol;
  //= rfc1122#3.2.1.7
  //# 1122:H-24 the time to live is the transport's choice
  //= rfc9293#3.9.2
  //# 9293:MUST-49 and configurable
  header.time_to_live = departure.time_to_live;
  //= rfc1122#3.2.1.6
  //# 1122:H-21 and so is the field once called TOS
  header.traffic_class = departure.traffic_class;
  //= rfc1191#2
  //# 1191:PMTU-8 every packet of the path carries DF
  //= rfc791#3.2
  //# 791:IP4-7 what is larger than a link on the way is lost, not cut
  //= rfc6864#4.3
  //# 6864:ID-6 never fragmented, and forbidden to be
  //= rfc7323#5.7
  //# 7323:TS-52 PAWS cannot tell wrongly reassembled segments from right ones
  header.dont_fragment = true;
  //= rfc6864#4.2
  //# 6864:ID-2, 6864:ID-4, 6864:ID-5 an atomic datagram carries any identification: always zero
  //= rfc6864#4.1
  //# 6864:ID-1 so nothing else can be read from it
  //= rfc791#3.2
  //# 791:IP4-8 and it need not be unique
  header.identification = 0;
  return wire::write(header, departure.payload, into);
}

}  // namespace lockstep::internet
