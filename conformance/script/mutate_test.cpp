// Changes to the octets of a packet: lengths and checksums follow.
#include "conformance/script/mutate.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/wire/checksum.hpp"
#include "core/wire/ipv4.hpp"

namespace lockstep::conformance::script {
namespace {

using Packet = std::vector<std::byte>;

/// 10.0.0.1 to 10.0.0.2: an IPv4 header, one of TCP, and the data "ab".
Packet packet() {
  constexpr std::array<std::uint8_t, 42> octets{
      0x45, 0,  0,  42, 0, 1, 0, 0, 64, 6, 0, 0,    10,   0,    0, 1, 10, 0, 0, 2,  // IPv4
      4,    0,  31, 1,  0, 0, 0, 1, 0,  0, 0, 0x10, 0x50, 0x10, 1, 0, 0,  0, 0, 0,  // TCP
      'a',  'b'};
  Packet out;
  for (std::uint8_t const octet : octets) {
    out.push_back(std::byte{octet});
  }
  return out;
}

Mutation change(Mutation::Kind kind, bool ip, std::uint32_t offset,
                std::vector<std::uint8_t> octets) {
  Mutation out;
  out.kind = kind;
  out.ip = ip;
  out.offset = offset;
  out.octets = std::move(octets);
  return out;
}

/// Whether both checksums are right, with the addresses that are in the packet.
void expect_sound(const Packet& sent, std::size_t header) {
  wire::Ipv4Packet parsed;
  ASSERT_EQ(wire::parse(sent, parsed), Drop::none);
  std::span const tcp = std::span<const std::byte>(sent).subspan(header);
  wire::Partial const pseudo =
      wire::pseudo_header_sum({parsed.header.source, parsed.header.destination, 6,
                               Bytes{static_cast<std::uint32_t>(tcp.size())}});
  EXPECT_EQ(combine(pseudo, wire::sum(tcp)).checksum(), 0);
}

TEST(Mutate, AnInsertedOptionMovesTheChecksumOfTcp) {
  Packet sent = packet();
  mutate(sent, {change(Mutation::Kind::replace, true, 0, {0x46}),
                change(Mutation::Kind::insert, true, 20, {1, 1, 1, 0})});
  ASSERT_EQ(sent.size(), 46u);
  expect_sound(sent, 24);
  EXPECT_EQ(sent[24 + 11], std::byte{0x10});  // of the ACK field: not overwritten
}

TEST(Mutate, AChangeOfTcpBehindAnInsertedOptionIsCountedFromTcp) {
  Packet sent = packet();
  mutate(sent, {change(Mutation::Kind::replace, true, 0, {0x46}),
                change(Mutation::Kind::insert, true, 20, {1, 1, 1, 0}),
                change(Mutation::Kind::replace, false, 13, {0x18})});
  expect_sound(sent, 24);
  EXPECT_EQ(sent[24 + 13], std::byte{0x18});
}

TEST(Mutate, AChangedAddressEntersTheChecksumOfTcp) {
  Packet sent = packet();
  mutate(sent, {change(Mutation::Kind::replace, true, 16, {255, 255, 255, 255})});
  expect_sound(sent, 20);
}

TEST(Mutate, AChecksumThatAChangeSetsStays) {
  Packet sent = packet();
  mutate(sent, {change(Mutation::Kind::replace, false, 16, {0x12, 0x34})});
  EXPECT_EQ(sent[36], std::byte{0x12});
  EXPECT_EQ(sent[37], std::byte{0x34});
}

}  // namespace
}  // namespace lockstep::conformance::script
