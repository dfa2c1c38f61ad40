// Fragments in the stack: reassembly, ICMPv6 errors, and processing of complete datagrams.
#include "core/stack/body.hpp"
#include "core/tcp/calls.hpp"
#include "core/tcp/path.hpp"
#include "core/units/check.hpp"

namespace lockstep {
namespace {

// The ICMPv6 error for an invalid IPv6 fragment.
//= rfc8200#4.5
//# 8200:V6-14 length not a multiple of eight: points at the payload length
//# 8200:V6-15 end beyond 65,535: points at the fragment offset
internet::Icmp6ErrorToSend complaint_about(const wire::Ipv6Packet& packet) {
  constexpr std::uint32_t payload_length_at = 4;
  std::size_t const data = packet.bytes.size() - packet.fragment_at - wire::ipv6_fragment_bytes;
  bool const ragged = packet.fragment.more && data % 8 != 0;
  return {wire::Icmp6Type::parameter_problem, wire::problem_field,
          ragged ? payload_length_at : packet.fragment_at + 2u, false};
}

// The fragment of an IPv4 packet that was parsed before: its identification is read again.
internet::FragmentArrival fragment4_of(const wire::IpPacket& packet) {
  wire::Ipv4Packet parsed;
  CHECK(wire::parse(packet.bytes, parsed) == Drop::none);
  return internet::fragment_of(parsed);
}

}  // namespace

// Returns Drop::none if the fragment was stored, or if `frame` now holds the complete datagram.
Drop Stack::Body::reassemble(Parsed& frame) {
  bool const six = !frame.ip.packet.header.source.is_v4();
  if (six && !is_usable(frame.ip.local_address)) {
    return Drop::ip_tentative;
  }
  std::span<const std::byte> whole;
  internet::FragmentArrival const arrival =
      six ? internet::fragment_of(frame.six) : fragment4_of(frame.ip.packet);
  Drop const drop = fragments.take(arrival, engine.state->now, whole);
  bool const answers =
      config.tcp.shard.value == 0;  // every shard has this fragment; only shard 0 answers
  if (drop == Drop::ip_fragment_malformed && six && answers) {
    send_icmp6_error(frame, complaint_about(frame.six));
  }
  if (drop != Drop::none || whole.empty()) {
    frame.drop = Drop::none;
    return drop;
  }
  bool const to_group = frame.ip.to_group;
  frame.kind = Parsed::Kind::dropped;
  if (six) {
    parse_ip6(whole, to_group, Checksum::unknown, frame);
    //= rfc6980#5
    //# 6980:NDF-2 the packet stays marked as fragmented
    frame.six.has_fragment = true;
  } else {
    parse_ip(whole, to_group, Checksum::unknown, frame);
  }
  if (!answers && frame.kind != Parsed::Kind::tcp && frame.kind != Parsed::Kind::dropped) {
    frame.kind = Parsed::Kind::dropped;
    frame.drop = Drop::wrong_shard;
  }
  // A reassembled datagram must not be a fragment itself.
  if (frame.kind == Parsed::Kind::fragment) {
    frame.kind = Parsed::Kind::dropped;
    frame.drop = Drop::ip_fragment_malformed;
  }
  return frame.kind == Parsed::Kind::dropped ? frame.drop : Drop::none;
}

// An incomplete datagram has waited long enough.
//= rfc1122#3.3.2
//# 1122:H-8 ICMP Time Exceeded, if the first fragment has arrived
[[gnu::cold]] void Stack::Body::expire_datagram(memory::Index index) {
  std::span<const std::byte> const first = fragments.first_fragment(index);
  // Every shard has this datagram; only shard 0 answers.
  if (!first.empty() && config.tcp.shard.value == 0) {
    constexpr std::uint8_t reassembly_time_exceeded = 1;
    internet::KnownPath unknown;
    internet::IpArrival about;
    if (internet::ip_input(addresses, first, false, unknown, about) == Drop::ip_fragment) {
      send_icmp_error(about, std::nullopt,
                      {wire::IcmpType::time_exceeded, reassembly_time_exceeded, 0});
    }
  }
  fragments.expire(index);
}

Drop Stack::Body::process_error(const internet::IcmpError& error) {
  std::uint16_t const local = addresses.find(error.quoted.local.address);
  if (error.kind == internet::IcmpErrorKind::packet_too_big) {
    // Such an error has no other use: ignored if path MTU discovery is off.
    return config.tcp.path_mtu_discovery ? tcp::process_packet_too_big(engine, error, local)
                                         : Drop::none;
  }
  return tcp::process_icmp_error(engine, error, local, cause_of(error));
}

}  // namespace lockstep
