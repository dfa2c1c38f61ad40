// Writing the IP headers of our own datagrams.
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
  //# 8200:V6-28 a reply never reverses a routing header, because none is ever sent
  //= rfc8200#4.5
  //# 8200:V6-21 no IPv6 packet that we send has a fragment header or another extension
  if (!departure.source.is_v4()) [[unlikely]] {
    return write_ipv6_header(departure, into);
  }
  wire::Ipv4Header header;
  header.source = departure.source;
  header.destination = departure.destination;
  header.protocol = departure.protocol;
  //= rfc1122#3.2.1.7
  //# 1122:H-24 the transport chooses the time to live
  //= rfc9293#3.9.2
  //# 9293:MUST-49 and it is configurable
  header.time_to_live = departure.time_to_live;
  //= rfc1122#3.2.1.6
  //# 1122:H-21 and so is the field formerly called TOS
  header.traffic_class = departure.traffic_class;
  //= rfc1191#2
  //# 1191:PMTU-8 every packet of the path carries DF
  //= rfc791#3.2
  //# 791:IP4-7 a packet larger than a link on the path is lost, not fragmented
  //= rfc6864#4.3
  //# 6864:ID-6 never fragmented, and fragmentation is forbidden
  //= rfc7323#5.7
  //# 7323:TS-52 PAWS cannot detect wrongly reassembled segments
  header.dont_fragment = true;
  //= rfc6864#4.2
  //# 6864:ID-2, 6864:ID-4, 6864:ID-5 an atomic datagram may have any identification: always zero
  //= rfc6864#4.1
  //# 6864:ID-1 so it reveals nothing
  //= rfc791#3.2
  //# 791:IP4-8 and it need not be unique
  header.identification = 0;
  return wire::write(header, departure.payload, into);
}

}  // namespace lockstep::internet
