// Packets of IPv6 that tests of a whole stack send to it.
#pragma once

#include <gtest/gtest.h>

#include "core/stack/testing/six_kit.hpp"

namespace lockstep::testing {

inline SixPacket carrying(const Octets& payload, std::uint8_t next = 6) {
  SixPacket packet;
  packet.next = next;
  packet.payload = payload;
  return packet;
}

inline SixPacket icmp(const wire::Icmp6Message& message, IpAddress destination = six_device,
                      std::uint8_t hop_limit = 64) {
  SixPacket packet;
  packet.destination = destination;
  packet.next = 58;
  packet.hop_limit = hop_limit;
  packet.payload = icmp_octets(message, {six_peer, destination});
  return packet;
}

inline SixPacket discovery(const wire::NdMessage& message, IpAddress destination,
                           IpAddress source = six_peer) {
  SixPacket packet;
  packet.source = source;
  packet.destination = destination;
  packet.next = 58;
  packet.hop_limit = 255;
  packet.payload.resize(wire::nd_message_bytes_max);
  packet.payload.resize(wire::write({source, destination}, message, packet.payload).count);
  return packet;
}

inline SixPacket neighbour_answers() {
  wire::NdMessage message;
  message.type = wire::Icmp6Type::neighbour_advertisement;
  message.target = six_peer;
  message.solicited = true;
  message.override = true;
  message.has_link_address = true;
  message.link_address = six_peer_mac;
  return discovery(message, six_device);
}

inline SixPacket syn(std::uint16_t mss = 0) {
  wire::Segment segment;
  segment.flags = flag::syn;
  segment.window = {65535};
  segment.options.has_mss = mss != 0;
  segment.options.mss = mss;
  return carrying(segment_octets(segment));
}

// A stack with one connection opened by the peer.
inline void accept(Six& six, std::uint16_t mss = 0) {
  six.listen();
  six.deliver(syn(mss));
  wire::Segment const answer = six.next_segment();
  wire::Segment ack;
  ack.flags = flag::ack;
  ack.sequence = {1};
  ack.acknowledgment = answer.sequence.next();
  ack.window = {65535};
  six.deliver(carrying(segment_octets(ack)));
  ASSERT_TRUE(six.stack.inspect(six.id).exists);
}

}  // namespace lockstep::testing
