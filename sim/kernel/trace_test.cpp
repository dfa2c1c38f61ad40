// Captures: pcapng bytes, and comments with the host, its state and the cause.
#include "sim/kernel/trace.hpp"

#include <gtest/gtest.h>

#include <string>

#include "sim/worlds/build.hpp"

namespace lockstep::sim {
namespace {

class MemorySink final : public ByteSink {
 public:
  void put(std::span<const std::byte> bytes) override {
    for (std::byte each : bytes) {
      text += std::to_integer<char>(each);
    }
  }
  std::uint32_t number(std::size_t at) const {
    std::uint32_t value = 0;
    for (std::size_t i = 4; i > 0; --i) {
      value = value << 8 | static_cast<unsigned char>(text[at + i - 1]);
    }
    return value;
  }
  std::string text;
};

TEST(Pcapng, BlocksAreLittleEndianPaddedAndClosedByTheirLength) {
  MemorySink sink;
  PcapngWriter writer(sink);
  writer.interface(CaptureLink::ethernet, "abc");
  std::array const frame{std::byte{1}, std::byte{2}, std::byte{3}};
  writer.packet({0, Instant{0x1'0000'0002}, CaptureWay::outbound, frame, "why"});
  EXPECT_EQ(sink.number(0), 0x0a0d'0d0au);
  EXPECT_EQ(sink.number(8), 0x1a2b'3c4du);
  std::size_t at = 0;
  std::vector<std::uint32_t> types;
  while (at < sink.text.size()) {
    std::uint32_t const length = sink.number(at + 4);
    ASSERT_EQ(length % 4, 0u);
    ASSERT_EQ(sink.number(at + length - 4), length);
    types.push_back(sink.number(at));
    if (types.back() == 6) {
      EXPECT_EQ(sink.number(at + 12), 1u);
      EXPECT_EQ(sink.number(at + 16), 2u);
      EXPECT_EQ(sink.number(at + 20), 3u);
    }
    at += length;
  }
  EXPECT_EQ(at, sink.text.size());
  EXPECT_EQ(types, (std::vector<std::uint32_t>{0x0a0d'0d0a, 1, 6}));
}

World traced_world() {
  LaneSpec lane;
  lane.rate_bits_per_second = 10'000'000;
  lane.delay = Duration::milliseconds(10);
  World world = two_hosts(lane);
  world.apps = {app_of("bulk", 60'000)};
  Mask mask;
  mask.lose(12);
  world.lane_faults = {fault_of_link("mask", mask)};
  world.lane_faults[0].back = false;
  return world;
}

TEST(Trace, CommentsNameStateWindowAndCause) {
  World const world = traced_world();
  MemorySink sink;
  Trace trace(world, sink);
  Kernel kernel(world, 1);
  kernel.observe(trace);
  ASSERT_EQ(kernel.run(), Ending::completed);
  for (const char* each :
       {"a: arp", "a: SYN-SENT", "; syn", "b: SYN-RECEIVED", "; syn-ack", "ESTABLISHED cwnd",
        "; data on arrival of ack", "; ack on arrival of data", "; retransmission", "arrived at b",
        "fast recovery"}) {
    EXPECT_NE(sink.text.find(each), std::string::npos) << each;
  }
}

TEST(Trace, ATraceChangesNothingAndIsReproducible) {
  World const world = traced_world();
  std::string captures[2];
  std::uint64_t fingerprint = 0;
  for (std::string& capture : captures) {
    MemorySink sink;
    Trace trace(world, sink);
    Kernel kernel(world, 5);
    kernel.observe(trace);
    kernel.run();
    capture = sink.text;
    fingerprint = kernel.fingerprint();
  }
  EXPECT_EQ(captures[0], captures[1]);
  Kernel unseen(world, 5);
  unseen.run();
  EXPECT_EQ(unseen.fingerprint(), fingerprint);
}

TEST(Trace, OfOneHostHasOnlyItsPackets) {
  World const world = traced_world();
  MemorySink all;
  MemorySink one;
  Trace every(world, all);
  Trace single(world, one, {NodeKind::host, 1});
  Kernel kernel(world, 1);
  kernel.observe(every);
  kernel.observe(single);
  kernel.run();
  EXPECT_EQ(single.packets(),
            kernel.host({1}).state().frames_sent + kernel.host({1}).state().frames_received);
  EXPECT_GT(every.packets(), single.packets());
}

}  // namespace
}  // namespace lockstep::sim
