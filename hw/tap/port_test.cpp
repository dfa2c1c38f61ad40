// The port over a pair of sockets that preserve datagram boundaries as a TAP does; the virtio
// header.
#include "hw/tap/port.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <string>

#include "core/units/random.hpp"
#include "hw/tap/setup.hpp"
#include "hw/virtio_header.hpp"

namespace lockstep::hw {
namespace {

class Tap : public testing::Test {
 protected:
  Tap() {
    std::array<int, 2> ends{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends.data()), 0);
    kernel = Descriptor(ends[0]);
    port = std::make_unique<TapPort>(Descriptor(ends[1]), PortShape{Bytes{1500}, Count{4}});
  }

  void arrive(std::uint8_t flags, std::size_t length, std::uint8_t segmentation = 0) {
    std::string frame(VirtioHeader::bytes + length, 'f');
    std::fill_n(frame.begin(), VirtioHeader::bytes, '\0');
    frame[0] = static_cast<char>(flags);
    frame[1] = static_cast<char>(segmentation);
    ASSERT_EQ(write(kernel.number(), frame.data(), frame.size()),
              static_cast<ssize_t>(frame.size()));
  }
  void send(std::uint16_t length, const Egress& other = {}) {
    auto const room = port->claim();
    ASSERT_GE(room.size(), length);
    std::fill_n(room.begin(), length, std::byte{'x'});
    Egress egress = other;
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
  std::unique_ptr<TapPort> port;
};

TEST_F(Tap, FramesArriveInBurstsWithTheirVerdicts) {
  arrive(0, 60);
  arrive(VirtioHeader::needs_checksum, 61);
  arrive(VirtioHeader::data_valid, 62);
  arrive(4, 63);  // an unknown flag
  arrive(0, 64);
  auto burst = port->receive();
  ASSERT_EQ(burst.size(), 4u);
  EXPECT_EQ(burst[0].checksum, Checksum::unknown);
  EXPECT_EQ(burst[1].checksum, Checksum::good);
  EXPECT_EQ(burst[2].checksum, Checksum::good);
  EXPECT_EQ(burst[3].checksum, Checksum::unknown);
  EXPECT_EQ(burst[3].bytes.size(), 63u);
  EXPECT_EQ(burst[3].bytes[0], std::byte{'f'});
  EXPECT_LE(burst[0].arrived, port->now());
  port->reclaim();
  EXPECT_EQ(port->receive().size(), 1u);
  EXPECT_EQ(port->receive().size(), 0u);
  EXPECT_EQ(port->counters().frames_in, 5u);
  EXPECT_EQ(port->counters().read_errors, 0u);
}

TEST_F(Tap, ImpossibleFramesAreCounted) {
  arrive(0, 1518);
  arrive(0, 1519);
  arrive(0, 9000);
  arrive(0, 0);
  EXPECT_EQ(port->receive().size(), 1u);
  arrive(0, 100, 1);
  EXPECT_EQ(port->receive().size(), 0u);
  EXPECT_EQ(port->counters().too_long, 2u);
  EXPECT_EQ(port->counters().too_short, 1u);
  EXPECT_EQ(port->counters().segmented, 1u);
}

TEST_F(Tap, FramesAreSentAfterTheirVirtioHeader) {
  EXPECT_EQ(port->claim().data(), port->claim().data());
  send(100);
  EXPECT_EQ(left(), std::string(12, '\0') + std::string(100, 'x'));
  Egress partial;
  partial.checksum_start = 0x0122;
  partial.checksum_offset = 16;
  send(60, partial);
  EXPECT_EQ(left().substr(0, 12), std::string("\1\0\0\0\0\0\x22\1\x10\0\0\0", 12));
  EXPECT_EQ(port->counters().frames_out, 2u);
}

TEST_F(Tap, ABlockedFrameWaitsAndNothingOvertakesIt) {
  std::uint64_t sent = 0;
  while (!port->claim().empty()) {
    send(static_cast<std::uint16_t>(64 + sent % 1000));
    ++sent;
    ASSERT_LT(sent, 100'000u);
  }
  EXPECT_EQ(port->counters().blocked, 1u);
  EXPECT_TRUE(port->claim().empty());
  EXPECT_TRUE(port->holds());
  for (std::uint64_t i = 0; i < sent; ++i) {
    auto const frame = left();
    ASSERT_EQ(frame.size(), 12 + 64 + i % 1000);
    static_cast<void>(port->claim());  // sends the pending frame now that there is room
  }
  EXPECT_FALSE(port->claim().empty());
  EXPECT_EQ(port->counters().frames_out, sent);
  EXPECT_EQ(left(), "");
}

TEST_F(Tap, AWaitingFrameLeavesInTheNextTurnEvenIfNothingFollows) {
  while (!port->holds()) {
    send(64);
  }
  while (!left().empty()) {
  }
  port->flush();
  EXPECT_FALSE(port->holds());
  EXPECT_EQ(left().size(), 12u + 64);
}

TEST_F(Tap, AClosedPeerIsALossAndNoCrash) {
  kernel.close();
  ASSERT_EQ(signal(SIGPIPE, SIG_IGN) == SIG_ERR, false);
  send(100);
  send(100);
  EXPECT_EQ(port->counters().refused, 2u);
  EXPECT_EQ(port->counters().frames_out, 0u);
  EXPECT_FALSE(port->gone());
  EXPECT_FALSE(port->claim().empty());
}

TEST_F(Tap, WhateverTheKernelWritesNothingCrashesAndEachReadIsCounted) {
  Random random(1);
  std::uint64_t reads = 0;
  std::uint64_t handed_out = 0;
  for (std::uint32_t round = 0; round < 2'000; ++round) {
    for (std::uint32_t i = 0; i < 4; ++i) {
      // Any header and any length: none, a part of a header, more than a frame may have.
      std::string wild(1 + random.below(random.below(2) == 0 ? 40 : 4'000), '\0');
      for (char& octet : wild) {
        octet = static_cast<char>(random.next());
      }
      wild[std::min<std::size_t>(1, wild.size() - 1)] =
          static_cast<char>(random.below(2) == 0 ? 0 : random.next());
      ASSERT_EQ(write(kernel.number(), wild.data(), wild.size()),
                static_cast<ssize_t>(wild.size()));
      ++reads;
    }
    auto const burst = port->receive();
    for (const Ingress& each : burst) {
      ASSERT_GE(each.bytes.size(), 1u);
      ASSERT_LE(each.bytes.size(), 1518u);
    }
    handed_out += burst.size();
    port->reclaim();
  }
  auto const& seen = port->counters();
  EXPECT_GT(handed_out, 0u);
  EXPECT_EQ(seen.frames_in, handed_out);
  EXPECT_EQ(seen.frames_in + seen.too_short + seen.too_long + seen.segmented, reads);
}

TEST(TapSetup, InvalidInterfaceNames) {
  for (std::string const name : {"", "1234567890123456", "a b", "a/b", ".."}) {
    TapInterface tap;
    Trouble const trouble = tap.open({.name = name, .hosts = {}});
    EXPECT_EQ(trouble.kind, TroubleKind::bad_input) << name;
    EXPECT_NE(trouble.text.find("1 to 15"), std::string::npos);
  }
}

}  // namespace
}  // namespace lockstep::hw
