// A frame of several segments is split, and the stack's own parsers read each part.
#include "hw/af_packet/segments.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "core/wire/ipv4.hpp"
#include "core/wire/ipv6.hpp"
#include "core/wire/octets.hpp"

namespace lockstep::hw {
namespace {

constexpr std::uint32_t sequence = 0xffff'fe00;  // wraps within the frame

struct Kind {
  bool v4 = true;
  bool tagged = false;
  std::uint32_t tcp_options = 12;

  std::uint32_t ip_at() const { return tagged ? 18 : 14; }
  std::uint32_t tcp_at() const { return ip_at() + (v4 ? 20 : 40); }
  std::uint32_t payload_at() const { return tcp_at() + 20 + tcp_options; }
};

// Octet i of the payload is i modulo 251.
std::vector<std::byte> super_frame(const Kind& kind, std::uint32_t payload, std::uint8_t flags) {
  std::vector<std::byte> out(kind.payload_at() + payload);
  if (kind.tagged) {
    wire::store16(&out[12], 0x8100);
    wire::store16(&out[14], 7);
  }
  wire::store16(&out[kind.ip_at() - 2], kind.v4 ? 0x0800 : 0x86dd);
  auto const ip = std::span(out).subspan(kind.ip_at());
  auto const tcp_bytes = static_cast<std::uint32_t>(out.size()) - kind.tcp_at();
  if (kind.v4) {
    wire::Ipv4Header header;
    header.source = IpAddress::v4(10, 0, 0, 1);
    header.destination = IpAddress::v4(10, 0, 0, 2);
    header.protocol = wire::IpProtocol::tcp;
    header.time_to_live = 64;
    header.identification = 0xffff;
    wire::write(header, Bytes{tcp_bytes}, ip);
  } else {
    wire::store8(&ip[0], 0x60);
    wire::store16(&ip[4], static_cast<std::uint16_t>(tcp_bytes));
    wire::store8(&ip[6], 6);
    wire::store8(&ip[7], 64);
    wire::store_ipv6(&ip[8], {0x2001'0db8'0000'0000, 1});
    wire::store_ipv6(&ip[24], {0x2001'0db8'0000'0000, 2});
  }
  std::byte* const tcp = &out[kind.tcp_at()];
  wire::store32(tcp + 4, sequence);
  wire::store8(tcp + 12, static_cast<std::uint8_t>((20 + kind.tcp_options) / 4 << 4));
  wire::store8(tcp + 13, flags);
  std::fill_n(tcp + 20, kind.tcp_options, std::byte{1});
  for (std::uint32_t i = 0; i < payload; ++i) {
    out[kind.payload_at() + i] = static_cast<std::byte>(i % 251);
  }
  return out;
}

struct Cut {
  std::uint32_t sequence = 0;
  std::uint32_t payload = 0;
  std::uint8_t flags = 0;
  std::uint16_t identification = 0;
};

// Splits `frame`; each part must be a whole segment with the payload that belongs there.
std::vector<Cut> cut(const Kind& kind, std::span<const std::byte> frame, std::uint16_t size) {
  std::vector<Cut> out;
  Segments segments;
  EXPECT_TRUE(segments.begin(frame, size));
  std::array<std::byte, 2048> into{};
  std::uint32_t at = 0;
  while (std::uint32_t const length = segments.next(into)) {
    EXPECT_LE(length, segments.longest());
    auto const ip = std::span<const std::byte>(into).first(length).subspan(kind.ip_at());
    Cut one;
    if (kind.v4) {
      wire::Ipv4Packet packet;
      EXPECT_EQ(wire::parse(ip, packet), Drop::none);
      EXPECT_EQ(packet.bytes.size(), ip.size());
      one.identification = packet.header.identification;
    } else {
      EXPECT_EQ(wire::load16(&ip[4]) + 40u, ip.size());
    }
    const std::byte* const tcp = &into[kind.tcp_at()];
    one.sequence = wire::load32(tcp + 4);
    one.flags = wire::load8(tcp + 13);
    one.payload = length - kind.payload_at();
    EXPECT_TRUE(std::equal(into.begin(), into.begin() + kind.ip_at(), frame.begin()));
    for (std::uint32_t i = 0; i < one.payload; ++i, ++at) {
      EXPECT_EQ(into[kind.payload_at() + i], static_cast<std::byte>(at % 251));
    }
    out.push_back(one);
  }
  EXPECT_EQ(segments.next(into), 0u);
  return out;
}

TEST(Segments, EachSegmentIsAsOnAWire) {
  for (Kind const kind : {Kind{}, Kind{.tagged = true}, Kind{.v4 = false},
                          Kind{.v4 = false, .tagged = true, .tcp_options = 0}}) {
    auto const parts = cut(kind, super_frame(kind, 2500, 0x99), 1000);  // flags CWR ACK PSH FIN
    ASSERT_EQ(parts.size(), 3u);
    EXPECT_EQ(parts[0].payload, 1000u);
    EXPECT_EQ(parts[2].payload, 500u);
    EXPECT_EQ(parts[0].sequence, sequence);
    EXPECT_EQ(parts[1].sequence, sequence + 1000);
    EXPECT_EQ(parts[2].sequence, sequence + 2000);
    EXPECT_EQ(parts[0].flags, 0x90);
    EXPECT_EQ(parts[1].flags, 0x10);
    EXPECT_EQ(parts[2].flags, 0x19);
    if (kind.v4) {
      EXPECT_EQ(parts[0].identification, 0xffff);
      EXPECT_EQ(parts[1].identification, 0);
    }
  }
}

TEST(Segments, LinkPaddingIsNotPayload) {
  Kind const kind;
  auto frame = super_frame(kind, 10, 0x18);
  frame.resize(frame.size() + 30);
  auto const parts = cut(kind, frame, 10);
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].payload, 10u);
}

TEST(Segments, AnythingButAWholeSegmentIsRefused) {
  Kind const kind;
  auto const whole = super_frame(kind, 100, 0x10);
  Segments segments;
  EXPECT_FALSE(segments.begin(whole, 0));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(segments.begin(std::span(whole).first(length), 50)) << length;
  }
  EXPECT_TRUE(segments.begin(whole, 50));
  EXPECT_FALSE(segments.begin(super_frame(kind, 0, 0x10), 50));
  auto const altered = [&](std::size_t at, std::uint8_t to) {
    auto frame = whole;
    frame[at] = static_cast<std::byte>(to);
    return segments.begin(frame, 50);
  };
  EXPECT_FALSE(altered(12, 0x90));       // another EtherType
  EXPECT_FALSE(altered(14, 0x44));       // an IPv4 header of 16 octets
  EXPECT_FALSE(altered(14 + 9, 17));     // UDP
  EXPECT_FALSE(altered(34 + 12, 0x40));  // a TCP header of 16 octets
  EXPECT_FALSE(altered(14 + 3, 30));     // the packet ends within the TCP header
}

}  // namespace
}  // namespace lockstep::hw
