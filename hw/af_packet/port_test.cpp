// The port over a pair of sockets that preserve datagram boundaries, as a packet socket does.
#include "hw/af_packet/port.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>
#include <string>

#include "core/units/random.hpp"
#include "core/wire/octets.hpp"
#include "hw/af_packet/setup.hpp"
#include "hw/virtio_header.hpp"

namespace lockstep::hw {
namespace {

constexpr std::uint32_t header_bytes = VirtioHeader::short_bytes;

class Packet : public testing::Test {
 protected:
  Packet() {
    std::array<int, 2> ends{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends.data()), 0);
    kernel = Descriptor(ends[0]);
    int const room = 1 << 20;
    EXPECT_EQ(setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof room), 0);
    port = std::make_unique<AfPacketPort>(Descriptor(ends[1]), PortShape{Bytes{1500}, Count{4}});
  }

  void arrive(const std::string& header, const std::string& frame) {
    std::string whole = header;
    whole.resize(header_bytes);
    whole += frame;
    ASSERT_EQ(write(kernel.number(), whole.data(), whole.size()),
              static_cast<ssize_t>(whole.size()));
  }
  // An Ethernet frame of IPv4 or IPv6 and TCP with `payload` payload octets, to be cut into
  // segments of `segment` octets, after the kernel's virtio header.
  static std::string segments_frame(bool six, std::uint32_t payload, std::uint16_t segment,
                                    char kind = 0) {
    std::array<std::byte, 74> headers{};
    std::uint32_t const tcp = six ? 54 : 34;
    wire::store16(&headers[12], six ? 0x86dd : 0x0800);
    wire::store8(&headers[14], six ? 0x60 : 0x45);
    wire::store16(&headers[16], static_cast<std::uint16_t>(40 + payload));
    wire::store8(&headers[23], 6);
    if (six) {
      wire::store16(&headers[18], static_cast<std::uint16_t>(20 + payload));
      wire::store8(&headers[20], 6);
    }
    wire::store8(&headers[tcp + 12], 0x50);
    std::string header(header_bytes, '\0');
    header[0] = VirtioHeader::needs_checksum;
    header[1] = static_cast<char>(kind != 0 ? kind : six ? 4 : 1);
    header[4] = static_cast<char>(segment & 0xff);
    header[5] = static_cast<char>(segment >> 8);
    return header + std::string(reinterpret_cast<const char*>(headers.data()), tcp + 20) +
           std::string(payload, 't');
  }
  void arrive_segments(std::uint32_t payload, std::uint16_t segment, char kind = 1) {
    std::string const whole = segments_frame(false, payload, segment, kind);
    arrive(whole.substr(0, header_bytes), whole.substr(header_bytes));
  }
  void send(std::uint16_t length) {
    auto const room = port->claim();
    ASSERT_GE(room.size(), length);
    std::fill_n(room.begin(), length, std::byte{'x'});
    Egress egress;
    egress.length = length;
    port->commit(egress);
  }
  std::string left() {
    std::string frame(4000, '\0');
    ssize_t const got = read(kernel.number(), frame.data(), frame.size());
    frame.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
    return frame;
  }

  Descriptor kernel;
  std::unique_ptr<AfPacketPort> port;
};

TEST_F(Packet, FramesArriveInBurstsWithTheirVerdicts) {
  arrive({}, std::string(60, 'a'));
  arrive("\1", std::string(61, 'b'));
  arrive("\2", std::string(62, 'c'));
  arrive({}, std::string(1518, 'd'));
  arrive({}, std::string(64, 'e'));
  auto const burst = port->receive();
  ASSERT_EQ(burst.size(), 4u);
  EXPECT_EQ(burst[0].checksum, Checksum::unknown);
  EXPECT_EQ(burst[1].checksum, Checksum::good);
  EXPECT_EQ(burst[2].checksum, Checksum::good);
  EXPECT_EQ(burst[3].bytes.size(), 1518u);
  EXPECT_EQ(burst[3].bytes[1517], std::byte{'d'});
  port->reclaim();
  EXPECT_EQ(port->receive().size(), 1u);
  EXPECT_EQ(port->receive().size(), 0u);
  EXPECT_EQ(port->counters().frames_in, 5u);
}

TEST_F(Packet, ImpossibleFramesAreCounted) {
  arrive({}, std::string(1519, 'a'));
  arrive({}, std::string(13, 'a'));
  arrive(std::string("\0\3", 2), std::string(100, 'a'));  // segmented UDP
  arrive_segments(3000, 0);
  EXPECT_EQ(port->receive().size(), 0u);
  arrive_segments(3000, 1465);  // each longer than the MTU allows
  EXPECT_EQ(port->receive().size(), 0u);
  EXPECT_EQ(port->counters().too_long, 1u);
  EXPECT_EQ(port->counters().too_short, 1u);
  EXPECT_EQ(port->counters().segmented, 3u);
  EXPECT_EQ(port->counters().frames_in, 0u);
}

TEST_F(Packet, AFrameOfManySegmentsContinuesInTheNextBurst) {
  arrive({}, std::string(60, 'a'));
  arrive_segments(6 * 1000 + 1, 1000, static_cast<char>(0x81));
  arrive({}, std::string(61, 'b'));
  auto burst = port->receive();
  ASSERT_EQ(burst.size(), 4u);
  EXPECT_EQ(burst[0].bytes.size(), 60u);
  EXPECT_EQ(burst[1].bytes.size(), 1054u);
  EXPECT_EQ(burst[1].checksum, Checksum::good);
  EXPECT_EQ(wire::load32(&burst[3].bytes[38]), 2000u);
  port->reclaim();
  EXPECT_TRUE(port->more());
  burst = port->receive();
  ASSERT_EQ(burst.size(), 4u);
  EXPECT_EQ(wire::load32(&burst[0].bytes[38]), 3000u);
  EXPECT_EQ(burst[3].bytes.size(), 55u);
  port->reclaim();
  burst = port->receive();
  ASSERT_EQ(burst.size(), 1u);
  EXPECT_EQ(burst[0].bytes.size(), 61u);
  EXPECT_FALSE(port->more());
  EXPECT_EQ(port->counters().taken_apart, 1u);
  EXPECT_EQ(port->counters().frames_in, 9u);
}

TEST_F(Packet, FramesLeaveTogether) {
  EXPECT_EQ(port->claim().data(), port->claim().data());
  send(100);
  send(101);
  EXPECT_TRUE(port->holds());
  EXPECT_EQ(port->receive().size(), 0u);
  EXPECT_EQ(left(), "");
  EXPECT_TRUE(port->flush());
  EXPECT_FALSE(port->holds());
  EXPECT_EQ(left(), std::string(header_bytes, '\0') + std::string(100, 'x'));
  EXPECT_EQ(left().size(), header_bytes + 101);
  for (std::uint16_t i = 0; i < 5; ++i) {
    send(static_cast<std::uint16_t>(200 + i));  // the fifth flushes the four before it
  }
  EXPECT_EQ(left().size(), header_bytes + 200);
  EXPECT_EQ(port->counters().frames_out, 6u);
}

TEST_F(Packet, AChecksumLeftToTheKernelIsMarked) {
  auto const room = port->claim();
  std::fill_n(room.begin(), 60, std::byte{'x'});
  port->commit({.length = 60, .checksum_start = 0x0122, .checksum_offset = 16, .to = {}});
  port->flush();
  EXPECT_EQ(left().substr(0, header_bytes), std::string("\1\0\0\0\0\0\x22\1\x10\0", 10));
}

TEST_F(Packet, FramesThatWaitKeepTheirOrder) {
  std::uint64_t sent = 0;
  while (!port->claim().empty()) {
    send(static_cast<std::uint16_t>(64 + sent % 1000));
    ++sent;
    ASSERT_LT(sent, 100'000u);
  }
  EXPECT_TRUE(port->holds());
  EXPECT_GE(port->counters().blocked, 1u);
  EXPECT_LE(port->counters().blocked, 4u);
  for (std::uint64_t i = 0; i < sent; ++i) {
    ASSERT_EQ(left().size(), header_bytes + 64 + i % 1000);
    port->flush();
  }
  EXPECT_FALSE(port->holds());
  EXPECT_EQ(port->counters().frames_out, sent);
  EXPECT_EQ(left(), "");
}

TEST_F(Packet, HeldFramesAreSentWhenThePortIsDestroyed) {
  send(100);
  port.reset();
  EXPECT_EQ(left().size(), header_bytes + 100);
}

TEST_F(Packet, WhateverTheKernelWritesNothingCrashesAndEachReadIsCounted) {
  Random random(1);
  std::uint64_t reads = 0;
  std::uint64_t segments = 0;
  for (std::uint32_t round = 0; round < 2'000; ++round) {
    // A frame of several segments with some octets and its length changed, or random octets.
    std::string wild(random.below(100), '\0');
    for (char& octet : wild) {
      octet = static_cast<char>(random.next());
    }
    if (random.below(2) == 0) {
      bool const six = random.below(2) == 0;
      auto const payload = static_cast<std::uint16_t>(random.below(4'000));
      wild = segments_frame(six, payload, static_cast<std::uint16_t>(random.below(2'000)));
      wild.resize(random.below(4) == 0 ? random.below(wild.size()) : wild.size());
      for (std::uint64_t i = random.below(4); i != 0 && !wild.empty(); --i) {
        wild[random.below(std::min<std::size_t>(wild.size(), 80))] =
            static_cast<char>(random.next());
      }
    }
    wild.resize(std::max<std::size_t>(wild.size(), 1));
    ASSERT_EQ(write(kernel.number(), wild.data(), wild.size()), static_cast<ssize_t>(wild.size()));
    ++reads;
    do {
      auto const burst = port->receive();
      for (const Ingress& each : burst) {
        ASSERT_GE(each.bytes.size(), 14u);
        ASSERT_LE(each.bytes.size(), 1518u);
      }
      segments += burst.size();
      port->reclaim();
    } while (port->more());
  }
  auto const& seen = port->counters();
  EXPECT_GT(seen.taken_apart, 0u);
  EXPECT_EQ(seen.frames_in, segments);
  EXPECT_LE(seen.too_short + seen.too_long + seen.segmented + seen.taken_apart, reads);
}

TEST(PacketSetup, AMissingOrNonEthernetInterfaceIsNamed) {
  Descriptor socket;
  InterfaceFacts facts;
  EXPECT_EQ(open_packet_socket({.name = "no-such-if0"}, socket, facts).kind,
            TroubleKind::bad_input);
  Trouble const loopback = open_packet_socket({.name = "lo"}, socket, facts);
  EXPECT_EQ(loopback.text, "lo has no Ethernet frames: choose an interface that has");
  EXPECT_FALSE(socket.is_open());
}

}  // namespace
}  // namespace lockstep::hw
