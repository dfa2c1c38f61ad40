// For tests of sockets: ICMP and ICMPv6 errors about segments that a stack has sent.
#pragma once

#include "core/wire/icmp.hpp"
#include "core/wire/icmpv6.hpp"
#include "core/wire/ipv4.hpp"
#include "core/wire/ipv6.hpp"
#include "core/wire/tcp.hpp"
#include "tools/lib/sockets/sockets_kit.hpp"

namespace lockstep::tools::testing {

/// The only connection of a side.
inline ConnectionInfo first_of(Sockets& side) {
  ConnectionInfo info;
  for (std::uint32_t generation = 0; generation < 64 && !info.exists; ++generation) {
    info = side.stack().inspect({0, generation});
  }
  EXPECT_TRUE(info.exists);
  return info;
}

/// An ICMP error; on an IPv6 connection `type` is one of ICMPv6.
struct IcmpError {
  std::uint8_t type = static_cast<std::uint8_t>(wire::IcmpType::unreachable);
  std::uint8_t code = 0;
  std::uint32_t rest = 0;  // the second word of the ICMP header
};

/// Quotes a segment of 1480 octets from SND.UNA, as it was sent.
inline std::vector<std::byte> icmp4_about(const ConnectionInfo& info, IcmpError error) {
  std::array<std::byte, 40> quote{};
  wire::Segment s;
  s.source = info.tuple.local.port;
  s.destination = info.tuple.remote.port;
  s.sequence = info.send.una;
  static_cast<void>(wire::write(s, std::span(quote).subspan(20)));
  wire::Ipv4Header inner;
  inner.source = info.tuple.local.address;
  inner.destination = info.tuple.remote.address;
  inner.protocol = wire::IpProtocol::tcp;
  inner.time_to_live = 60;
  inner.dont_fragment = true;
  static_cast<void>(wire::write(inner, Bytes{1480}, quote));
  std::vector<std::byte> packet(20 + 8 + 28);
  wire::IcmpMessage message;
  message.type = static_cast<wire::IcmpType>(error.type);
  message.code = error.code;
  message.rest = error.rest;
  message.body = std::span(quote).first(28);
  Bytes const length = wire::write(message, std::span(packet).subspan(20));
  wire::Ipv4Header outer;
  outer.source = info.tuple.remote.address;
  outer.destination = info.tuple.local.address;
  outer.protocol = wire::IpProtocol::icmp;
  outer.time_to_live = 64;
  static_cast<void>(wire::write(outer, length, packet));
  return packet;
}

inline std::vector<std::byte> icmp6_about(const ConnectionInfo& info, IcmpError error) {
  std::array<std::byte, 60> quote{};
  wire::Segment s;
  s.source = info.tuple.local.port;
  s.destination = info.tuple.remote.port;
  s.sequence = info.send.una;
  static_cast<void>(wire::write(s, std::span(quote).subspan(40)));
  wire::Ipv6Header inner;
  inner.source = info.tuple.local.address;
  inner.destination = info.tuple.remote.address;
  inner.next_header = static_cast<std::uint8_t>(wire::IpProtocol::tcp);
  inner.hop_limit = 60;
  static_cast<void>(wire::write(inner, Bytes{20}, quote));
  std::vector<std::byte> packet(40 + 8 + quote.size());
  wire::Icmp6Message message;
  message.type = static_cast<wire::Icmp6Type>(error.type);
  message.code = error.code;
  message.rest = error.rest;
  message.body = quote;
  wire::Ipv6Header outer;
  outer.source = info.tuple.remote.address;
  outer.destination = info.tuple.local.address;
  outer.next_header = static_cast<std::uint8_t>(wire::IpProtocol::icmpv6);
  outer.hop_limit = 64;
  Bytes const length =
      wire::write({outer.source, outer.destination}, message, std::span(packet).subspan(40));
  static_cast<void>(wire::write(outer, length, packet));
  return packet;
}

inline std::vector<std::byte> icmp_about(const ConnectionInfo& info, IcmpError error) {
  return info.tuple.local.address.is_v4() ? icmp4_about(info, error) : icmp6_about(info, error);
}

}  // namespace lockstep::tools::testing
