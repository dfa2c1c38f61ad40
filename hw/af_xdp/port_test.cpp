// The port over rings in plain memory, with the test in the role of the kernel.
#include "hw/af_xdp/port.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "core/units/random.hpp"
#include "core/wire/checksum.hpp"
#include "core/wire/octets.hpp"
#include "hw/af_xdp/left_out.hpp"
#include "hw/af_xdp/setup.hpp"

namespace lockstep::hw {
namespace {

constexpr std::uint32_t ring_size = 8;
constexpr std::uint32_t chunk_bytes = 2048;
constexpr std::uint32_t headroom = 256;

template <class Entry>
struct RingStore {
  std::uint32_t producer = 0;
  std::uint32_t consumer = 0;
  std::uint32_t flags = 0;
  std::array<Entry, ring_size> entries{};

  RingMemory<Entry> view() { return {&producer, &consumer, &flags, entries.data(), ring_size}; }
};

/// The kernel's end of the four rings. Its socket accepts calls and does nothing.
class Xdp : public testing::Test {
 protected:
  Xdp() { open({}); }

  void open(const XdpMode& mode, std::uint32_t chunks = 8) {
    port.reset();
    memory.assign(std::size_t{chunks} * chunk_bytes, {});
    fill = {};
    receive = {};
    transmit = {};
    completion = {};
    std::array<int, 2> ends{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, ends.data()), 0);
    kernel = Descriptor(ends[0]);
    XdpDevice device;
    device.socket = Descriptor(ends[1]);
    device.frames = memory;
    device.chunk_bytes = chunk_bytes;
    device.headroom_bytes = headroom;
    device.rings = {fill.view(), receive.view(), transmit.view(), completion.view()};
    device.mode = mode;
    port = std::make_unique<XdpPort>(std::move(device), PortShape{Bytes{1500}, Count{4}});
  }

  /// Delivers a frame in the next chunk that the port has given.
  void arrive(std::span<const std::byte> frame) {
    ASSERT_NE(fill.producer, fill.consumer) << "the port has given no room";
    std::uint64_t const at = fill.entries[fill.consumer % ring_size] + headroom;
    ++fill.consumer;
    std::ranges::copy(frame, memory.begin() + static_cast<std::ptrdiff_t>(at));
    receive.entries[receive.producer % ring_size] = {at, static_cast<std::uint32_t>(frame.size()),
                                                     0};
    ++receive.producer;
  }
  void arrive(std::size_t length, char fill_with) {
    arrive(std::vector(length, static_cast<std::byte>(fill_with)));
  }
  void send(std::uint16_t length) {
    auto const room = port->claim();
    ASSERT_GE(room.size(), length);
    std::fill_n(room.begin(), length, std::byte{'x'});
    port->commit({.length = length, .checksum_start = 0, .checksum_offset = 0, .to = {}});
  }
  /// Takes the next frame to send and returns its chunk; returns the frame's length, 0 if there is
  /// none.
  std::uint32_t leave() {
    if (transmit.consumer == transmit.producer) {
      return 0;
    }
    XdpFrame const frame = transmit.entries[transmit.consumer % ring_size];
    ++transmit.consumer;
    completion.entries[completion.producer % ring_size] = frame.address;
    ++completion.producer;
    return frame.length;
  }
  /// The number of system calls by the port since the last count.
  int calls() {
    int count = 0;
    char nothing = 0;
    while (recv(kernel.number(), &nothing, 1, MSG_DONTWAIT) >= 0) {
      ++count;
    }
    return count;
  }

  std::vector<std::byte> memory;
  RingStore<std::uint64_t> fill, completion;
  RingStore<XdpFrame> receive, transmit;
  Descriptor kernel;
  std::unique_ptr<XdpPort> port;
};

/// A TCP segment over IPv4 or IPv6 with `payload` payload octets, its checksum left out.
std::vector<std::byte> left_out_segment(bool v4, std::uint32_t payload) {
  std::uint32_t const ip = v4 ? 20 : 40;
  std::vector<std::byte> frame(14 + ip + 20 + payload, std::byte{'t'});
  std::uint32_t const tcp = 14 + ip;
  auto const length = static_cast<std::uint16_t>(20 + payload);
  wire::store16(&frame[12], v4 ? 0x0800 : 0x86dd);
  IpAddress const source = v4 ? IpAddress::v4(10, 0, 0, 1) : IpAddress{0x20010db8'00000000u, 1};
  IpAddress const destination =
      v4 ? IpAddress::v4(10, 0, 0, 2) : IpAddress{0x20010db8'00000000u, 2};
  if (v4) {
    wire::store8(&frame[14], 0x45);
    wire::store16(&frame[16], static_cast<std::uint16_t>(20 + length));
    wire::store16(&frame[20], 0x4000);
    wire::store8(&frame[23], 6);
    wire::store32(&frame[26], source.as_v4().value);
    wire::store32(&frame[30], destination.as_v4().value);
  } else {
    wire::store16(&frame[18], length);
    wire::store8(&frame[20], 6);
    wire::store64(&frame[22], source.high);
    wire::store64(&frame[30], source.low);
    wire::store64(&frame[38], destination.high);
    wire::store64(&frame[46], destination.low);
  }
  wire::store16(&frame[tcp + 16],
                wire::pseudo_header_sum({source, destination, 6, Bytes{length}}).folded());
  return frame;
}

TEST_F(Xdp, HalfOfTheChunksAreForReceiving) {
  EXPECT_EQ(fill.producer, 4u);
  EXPECT_EQ(fill.entries[3], 3u * chunk_bytes);
  EXPECT_EQ(port->receive().size(), 0u);
}

TEST_F(Xdp, FramesArriveInBurstsAndTheirChunksAreReturned) {
  for (std::size_t i = 0; i < 4; ++i) {
    arrive(60 + i, static_cast<char>('a' + i));
  }
  EXPECT_EQ(fill.producer - fill.consumer, 0u);
  auto burst = port->receive();
  ASSERT_EQ(burst.size(), 4u);
  EXPECT_EQ(receive.consumer, 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(burst[i].bytes.size(), 60 + i);
    EXPECT_EQ(burst[i].bytes[0], static_cast<std::byte>('a' + i));
    EXPECT_EQ(burst[i].checksum, Checksum::unknown);
  }
  EXPECT_EQ(fill.producer - fill.consumer, 0u);
  port->reclaim();
  EXPECT_EQ(fill.producer - fill.consumer, 4u);
  for (std::uint32_t round = 0; round < 100; ++round) {
    arrive(1518, 'd');
    arrive(64, 'e');
    burst = port->receive();
    ASSERT_EQ(burst.size(), 2u);
    EXPECT_EQ(burst[0].bytes[1517], std::byte{'d'});
    port->reclaim();
    ASSERT_EQ(fill.producer - fill.consumer, 4u);
  }
  EXPECT_EQ(port->counters().frames_in, 204u);
}

TEST_F(Xdp, ImpossibleFramesAreCounted) {
  arrive(1519, 'a');
  arrive(13, 'a');
  EXPECT_EQ(port->receive().size(), 0u);
  port->reclaim();
  EXPECT_EQ(fill.producer - fill.consumer, 4u);
  EXPECT_EQ(port->counters().too_long, 1u);
  EXPECT_EQ(port->counters().too_short, 1u);
  EXPECT_EQ(port->counters().frames_in, 0u);
}

TEST_F(Xdp, FramesLeaveTogether) {
  EXPECT_EQ(port->claim().data(), port->claim().data());
  EXPECT_EQ(port->claim().size(), 1518u);
  port->receive();
  calls();  // the first check of the interface
  send(100);
  send(101);
  EXPECT_TRUE(port->holds());
  EXPECT_EQ(port->receive().size(), 0u);
  EXPECT_EQ(leave(), 0u);
  EXPECT_EQ(calls(), 0);
  port->flush();
  EXPECT_GE(calls(), 1);
  EXPECT_EQ(leave(), 100u);
  EXPECT_EQ(leave(), 101u);
  EXPECT_FALSE(port->holds());
  EXPECT_EQ(port->counters().frames_out, 2u);
}

TEST_F(Xdp, ClaimIsEmptyUntilChunksAreReturned) {
  for (std::uint16_t i = 0; i < 4; ++i) {
    send(static_cast<std::uint16_t>(100 + i));
  }
  EXPECT_TRUE(port->claim().empty());
  EXPECT_TRUE(port->claim().empty());
  EXPECT_GE(port->counters().blocked, 1u);
  EXPECT_LE(port->counters().blocked, 4u);
  EXPECT_EQ(leave(), 100u);
  EXPECT_FALSE(port->claim().empty());
  send(104);
  EXPECT_TRUE(port->claim().empty());
  for (std::uint32_t i = 0; i < 1000; ++i) {
    ASSERT_EQ(leave(), 101u + i % 60000);
    send(static_cast<std::uint16_t>(105 + i));
    port->flush();
  }
  EXPECT_EQ(port->counters().frames_out, 1001u);
}

TEST_F(Xdp, AChecksumLeftToThePortIsCompleted) {
  std::vector<std::byte> const frame = left_out_segment(true, 101);
  auto const room = port->claim();
  std::ranges::copy(frame, room.begin());
  auto const length = static_cast<std::uint16_t>(frame.size());
  port->commit({.length = length, .checksum_start = 34, .checksum_offset = 16, .to = {}});
  wire::Partial const pseudo = wire::pseudo_header_sum(
      {IpAddress::v4(10, 0, 0, 1), IpAddress::v4(10, 0, 0, 2), 6, Bytes{121}});
  EXPECT_TRUE(wire::combine(pseudo, wire::sum(room.subspan(34, 121))).verifies());
}

TEST_F(Xdp, AnOmittedChecksumIsGoodOnlyWithoutAWire) {
  for (bool const v4 : {true, false}) {
    open({.no_wire = true});
    arrive(left_out_segment(v4, 77));
    auto damaged = left_out_segment(v4, 77);
    damaged[v4 ? 50 : 70] ^= std::byte{1};
    arrive(damaged);
    auto burst = port->receive();
    ASSERT_EQ(burst.size(), 2u);
    EXPECT_EQ(burst[0].checksum, Checksum::good);
    EXPECT_EQ(burst[1].checksum, Checksum::unknown);
    EXPECT_EQ(port->counters().left_out, 1u);
    open({});
    arrive(left_out_segment(v4, 77));
    burst = port->receive();
    EXPECT_EQ(burst[0].checksum, Checksum::unknown);
  }
}

TEST(LeftOut, OnlyAFieldWithThePseudoHeadersSum) {
  for (bool const v4 : {true, false}) {
    auto frame = left_out_segment(v4, 7);
    EXPECT_TRUE(checksum_is_left_out(frame));
    std::size_t const whole = frame.size();
    frame.resize(whole + 6);  // padding of the link
    EXPECT_TRUE(checksum_is_left_out(frame));
    for (std::size_t cut = 0; cut < whole; ++cut) {
      EXPECT_FALSE(checksum_is_left_out(std::span(frame).first(cut))) << cut;
    }
    frame.insert(frame.begin() + 12, {std::byte{0x81}, {}, {}, std::byte{5}});
    EXPECT_TRUE(checksum_is_left_out(frame));
  }
  auto fragment = left_out_segment(true, 7);
  wire::store16(&fragment[20], 0x2000);
  EXPECT_FALSE(checksum_is_left_out(fragment));
  auto other = left_out_segment(true, 7);
  wire::store8(&other[23], 1);
  EXPECT_FALSE(checksum_is_left_out(other));
}

TEST_F(Xdp, AZeroCopyDeviceIsWokenOnlyWhenItSleeps) {
  open({.native = true, .zero_copy = true});
  port->receive();
  calls();
  send(100);
  port->flush();
  EXPECT_EQ(calls(), 0);
  EXPECT_TRUE(port->holds());
  transmit.flags = 1;
  port->flush();
  EXPECT_EQ(calls(), 1);
  EXPECT_EQ(leave(), 100u);
  port->flush();
  EXPECT_EQ(calls(), 0);
  EXPECT_FALSE(port->holds());
}

TEST_F(Xdp, AFullFillRingKeepsTheChunkForTheNextTurn) {
  // As many chunks as the fill ring has entries; a frame is shown as received before its chunk is
  // shown as gone from the fill ring.
  open({}, 2 * ring_size);
  for (std::uint32_t round = 0; round < 100; ++round) {
    for (std::uint32_t i = 0; i < 4; ++i) {
      arrive(60 + i, 'a');
    }
    fill.consumer -= 3;
    ASSERT_EQ(port->receive().size(), 4u);
    port->reclaim();
    ASSERT_EQ(fill.producer - fill.consumer, ring_size);
    // The burst is shorter while chunks wait.
    fill.consumer += 1;
    ASSERT_EQ(port->receive().size(), 0u);
    fill.consumer += 2;
    port->reclaim();
    ASSERT_EQ(fill.producer - fill.consumer, ring_size);
  }
  EXPECT_EQ(port->counters().frames_in, 400u);
  EXPECT_EQ(port->counters().malformed, 0u);
}

TEST_F(Xdp, ACompletedFrameLeavesNoRoomUntilItsEntryIsFree) {
  open({}, 2 * ring_size);
  for (std::uint16_t i = 0; i < ring_size; ++i) {
    send(static_cast<std::uint16_t>(100 + i));
  }
  port->flush();
  for (std::uint32_t round = 0; round < 100; ++round) {
    ASSERT_NE(leave(), 0u);
    --transmit.consumer;
    ASSERT_TRUE(port->claim().empty());
    ++transmit.consumer;
    send(100);
    ASSERT_TRUE(port->claim().empty());
  }
}

TEST_F(Xdp, AnImpossiblePositionIsIgnored) {
  arrive(60, 'a');
  for (std::uint32_t const wild : {ring_size + 1, 1000u, 0x8000'0000u, 0u - 1}) {
    std::uint32_t const right = receive.producer;
    receive.producer = wild;
    EXPECT_EQ(port->receive().size(), 0u) << wild;
    receive.producer = right;
    fill.consumer += wild;
    completion.producer += wild;
    transmit.consumer += wild;
    port->reclaim();
    EXPECT_EQ(port->claim().size(), 1518u);
    EXPECT_FALSE(port->holds());
    fill.consumer -= wild;
    completion.producer -= wild;
    transmit.consumer -= wild;
  }
  EXPECT_EQ(port->receive().size(), 1u);
  port->reclaim();
  send(100);
  port->flush();
  EXPECT_EQ(leave(), 100u);
  EXPECT_EQ(fill.producer - fill.consumer, 4u);
}

TEST_F(Xdp, AnImpossibleDescriptorIsCountedAndIgnored) {
  constexpr std::uint64_t end = std::uint64_t{8} * chunk_bytes;
  auto const come = [&](std::uint64_t address, std::uint32_t length) {
    receive.entries[receive.producer % ring_size] = {address, length, 0};
    ++receive.producer;
    fill.consumer = fill.producer;
    std::size_t const frames = port->receive().size();
    port->reclaim();
    return frames;
  };
  std::uint64_t count = 0;
  for (std::uint64_t const address : {end, end - 1, end / 2, ~std::uint64_t{0}, end << 32}) {
    EXPECT_EQ(come(address, 60), 0u) << address;
    EXPECT_EQ(port->counters().malformed, ++count) << address;
  }
  // The chunk is known and comes back, whatever the length is.
  for (std::uint32_t const length : {chunk_bytes - headroom + 1, 0x8000'0000u, 0u - 1}) {
    EXPECT_EQ(come(headroom, length), 0u) << length;
    EXPECT_EQ(port->counters().malformed, ++count) << length;
  }
  EXPECT_EQ(come(headroom, 60), 1u);
  // A chunk that is already lent, and chunks that were never given to be sent.
  receive.entries[receive.producer % ring_size] = {0, 60, 0};
  ++receive.producer;
  EXPECT_EQ(come(1, 60), 1u);
  EXPECT_EQ(port->counters().malformed, ++count);
  for (std::uint64_t const address : {end / 2, std::uint64_t{0}, end, ~std::uint64_t{0}}) {
    completion.entries[completion.producer % ring_size] = address;
    ++completion.producer;
    EXPECT_EQ(port->counters().malformed, ++count) << address;
  }
  EXPECT_EQ(port->counters().frames_out, 0u);
}

TEST_F(Xdp, WhateverTheKernelWritesNothingCrashesAndNothingOutsideIsTouched) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    open({.native = seed % 2 == 0, .zero_copy = seed % 4 == 0, .no_wire = seed % 3 == 0},
         seed % 2 == 0 ? 8 : 2 * ring_size);
    auto const wild = [&](std::uint64_t near) {
      std::uint64_t const kind = random.below(4);
      return kind == 0 ? random.next() : kind == 1 ? near + random.below(9) - 4 : near;
    };
    for (std::uint32_t step = 0; step < 2'000; ++step) {
      for (std::uint32_t* const word : {&receive.producer, &fill.consumer, &completion.producer,
                                        &transmit.consumer, &fill.flags, &transmit.flags}) {
        *word = static_cast<std::uint32_t>(wild(*word + random.below(2)));
      }
      receive.entries[random.below(ring_size)] = {wild(random.below(memory.size())),
                                                  static_cast<std::uint32_t>(wild(1518)), 0};
      completion.entries[random.below(ring_size)] = wild(random.below(memory.size()));
      auto const burst = port->receive();
      ASSERT_LE(burst.size(), 4u);
      for (const Ingress& each : burst) {
        ASSERT_GE(each.bytes.data(), memory.data());
        ASSERT_LE(each.bytes.data() + each.bytes.size(), memory.data() + memory.size() / 2);
        ASSERT_LE(each.bytes.size(), 1518u);
      }
      port->reclaim();
      if (auto const room = port->claim(); !room.empty()) {
        ASSERT_GE(room.data(), memory.data() + memory.size() / 2);
        ASSERT_LE(room.data() + room.size(), memory.data() + memory.size());
        port->commit({.length = 1518, .checksum_start = 34, .checksum_offset = 16, .to = {}});
      }
      port->flush();
      calls();
    }
  }
}

TEST(XdpSetup, AMissingOrNonEthernetInterfaceIsNamed) {
  std::vector<XdpDevice> devices;
  InterfaceFacts facts;
  EXPECT_EQ(open_xdp_queues({.name = "no-such-if0"}, Count{1}, {}, devices, facts).kind,
            TroubleKind::bad_input);
  Trouble const loopback = open_xdp_queues({.name = "lo"}, Count{1}, {}, devices, facts);
  EXPECT_EQ(loopback.text, "lo has no Ethernet frames: choose an interface that has");
  EXPECT_TRUE(devices.empty());
}

TEST(XdpSetup, TheModeIsNamed) {
  EXPECT_EQ(text_of(XdpMode{true, true, false}), "native XDP, zero-copy");
  EXPECT_EQ(text_of(XdpMode{false, false, true}), "generic XDP, copied");
}

}  // namespace
}  // namespace lockstep::hw
