// Each discipline against the arithmetic of its reference.
#include <gtest/gtest.h>

#include <vector>

#include "sim/queues/codel.hpp"
#include "sim/queues/fq_codel.hpp"
#include "sim/queues/output.hpp"
#include "sim/queues/pie.hpp"
#include "sim/queues/red.hpp"

namespace lockstep::sim {
namespace {

constexpr Instant ms(std::uint64_t count) { return Instant{count * 1'000'000}; }

Packet packet(std::uint32_t number, std::uint32_t flow = 0, bool ect = false) {
  return {FrameId{number}, 1'000, flow, ect, false, {}};
}

TEST(Red, TheAverageFollowsTheLengthWithItsWeight) {
  RedSpec spec;
  spec.weight = {500'000'000};
  spec.packet_time = Duration::milliseconds(1);
  Red red(spec, {}, Random(1));
  LostPackets lost;
  // avg <- avg + (q - avg) / 2 with q = 0 (idle), 1, 2, 3.
  for (std::uint32_t i = 0; i < 4; ++i) {
    red.enqueue(ms(10), packet(i), lost);
  }
  EXPECT_EQ(red.average().value, (std::uint64_t{1} << 32) * 17 / 8);
  Packet out;
  while (red.dequeue(ms(20), out, lost)) {
  }
  // Idle for three small packets: avg * (1 - w)^3.
  red.enqueue(ms(23), packet(9), lost);
  EXPECT_EQ(red.average().value >> 8, ((std::uint64_t{1} << 32) * 17 / 64) >> 8);
}

// Floyd and Jacobson 1993, section 7: with uniform spacing the mean distance of marked packets is
// about 1 / (2 p_b), and no two are further apart than 1 / p_b.
TEST(Red, MarksAreSpacedEvenly) {
  RedSpec spec;
  spec.min_packets = 5;
  spec.max_packets = 15;
  spec.most = {100'000'000};
  spec.weight = {900'000'000};
  spec.ecn = true;
  Red red(spec, {}, Random(1));
  LostPackets lost;
  Packet out;
  for (std::uint32_t i = 0; i < 10; ++i) {
    red.enqueue(ms(1), packet(i, 0, true), lost);
  }
  std::uint32_t since = 0;
  std::uint32_t longest = 0;
  std::uint32_t marked = 0;
  for (std::uint32_t i = 0; i < 20'000; ++i) {
    ASSERT_TRUE(red.dequeue(ms(1), out, lost));
    marked += out.marked ? 1 : 0;
    since = out.marked ? 0 : since + 1;
    longest = longest < since ? since : longest;
    red.enqueue(ms(1), packet(i, 0, true), lost);
  }
  EXPECT_TRUE(lost.empty());
  // The queue is 9 when a packet arrives: p_b = 0.1 * 4 / 10.
  EXPECT_EQ((red.average().value + 1'000) >> 32, 9u);
  EXPECT_LE(longest, 25u);
  EXPECT_GE(marked, 20'000u / 14);
  EXPECT_LE(marked, 20'000u / 12);
}

TEST(Red, AboveTheThresholdEveryPacketIsDropped) {
  RedSpec spec;
  spec.min_packets = 1;
  spec.max_packets = 3;
  spec.weight = {999'000'000};
  spec.ecn = true;
  Red red(spec, {}, Random(1));
  LostPackets lost;
  for (std::uint32_t i = 0; i < 20; ++i) {
    red.enqueue(ms(1), packet(i, 0, true), lost);
  }
  EXPECT_EQ(red.packets() + lost.size(), 20u);
  EXPECT_LE(red.packets(), 5u);
  EXPECT_EQ(lost.back().why, LinkDrop::early_dropped);
}

TEST(CoDel, RootsAreExact) {
  EXPECT_EQ(root_of(0), 0u);
  EXPECT_EQ(root_of(15), 3u);
  EXPECT_EQ(root_of(16), 4u);
  EXPECT_EQ(root_of(~std::uint64_t{0}), 0xffff'ffffu);
  EXPECT_EQ(root_of(std::uint64_t{2} << 32), 92'681u);
}

// A standing queue of 20 ms: the first drop when the delay has been above 5 ms for 100 ms, the next
// 100 ms, 100 / sqrt(2) ms and 100 / sqrt(3) ms later (RFC 8289 5.5 and 5.6).
TEST(CoDel, DropsAsItsControlLawSays) {
  CoDel codel({}, {});
  LostPackets lost;
  std::vector<std::uint64_t> at;
  Packet out;
  for (std::uint32_t i = 0; i < 20; ++i) {
    codel.enqueue(ms(i), packet(i), lost);
  }
  for (std::uint64_t now = 20; now < 450; ++now) {
    codel.enqueue(ms(now), packet(static_cast<std::uint32_t>(now)), lost);
    ASSERT_TRUE(codel.dequeue(ms(now), out, lost));
    if (lost.size() != at.size()) {
      // A drop takes one packet more: one more arrives.
      at.push_back(now);
      codel.enqueue(ms(now), packet(1'000), lost);
    }
  }
  EXPECT_EQ(at, (std::vector<std::uint64_t>{120, 220, 291, 349, 399, 444}));
  EXPECT_EQ(codel.control().next_drop().ns / 1'000'000, 483u);
  EXPECT_EQ(lost[0].why, LinkDrop::early_dropped);
}

TEST(CoDel, MarksInsteadWhereItMay) {
  CoDelSpec spec;
  spec.ecn = true;
  CoDel codel(spec, {});
  LostPackets lost;
  Packet out;
  std::uint32_t marked = 0;
  for (std::uint64_t now = 0; now < 300; ++now) {
    codel.enqueue(ms(now), packet(1, 0, true), lost);
    if (now >= 20) {
      ASSERT_TRUE(codel.dequeue(ms(now), out, lost));
      marked += out.marked ? 1 : 0;
    }
  }
  EXPECT_TRUE(lost.empty());
  EXPECT_EQ(marked, 3u);
}

TEST(CoDel, AShortQueueIsLeftAlone) {
  CoDel codel({}, {});
  LostPackets lost;
  Packet out;
  for (std::uint64_t now = 0; now < 1'000; ++now) {
    codel.enqueue(ms(now), packet(1), lost);
    if (now > 0) {
      ASSERT_TRUE(codel.dequeue(ms(now + 50), out, lost));  // one packet of 1,000 octets stays
    }
  }
  EXPECT_TRUE(lost.empty());
}

// RFC 8290 4: a flow of few packets passes one that fills the queue, and gets its share.
TEST(FqCoDel, SparseFlowsGoFirstAndQuantaAreFair) {
  FqCoDelSpec spec;
  spec.quantum_bytes = 1'000;
  FqCoDel fq(spec);
  LostPackets lost;
  for (std::uint32_t i = 0; i < 10; ++i) {
    fq.enqueue(ms(1), packet(i, 1), lost);
  }
  Packet out;
  ASSERT_TRUE(fq.dequeue(ms(1), out, lost));
  EXPECT_EQ(out.flow, 1u);
  fq.enqueue(ms(1), packet(100, 2), lost);
  ASSERT_TRUE(fq.dequeue(ms(1), out, lost));
  EXPECT_EQ(out.frame, FrameId{100});
  for (std::uint32_t i = 0; i < 4; ++i) {
    fq.enqueue(ms(1), packet(100 + i, 2), lost);
  }
  std::vector<std::uint32_t> flows;
  for (std::uint32_t i = 0; i < 8; ++i) {
    ASSERT_TRUE(fq.dequeue(ms(1), out, lost));
    flows.push_back(out.flow);
  }
  EXPECT_EQ(flows, (std::vector<std::uint32_t>{1, 2, 1, 2, 1, 2, 1, 2}));
}

TEST(FqCoDel, TheFattestFlowLosesItsFirstPacket) {
  FqCoDelSpec spec;
  spec.limit_packets = 5;
  FqCoDel fq(spec);
  LostPackets lost;
  fq.enqueue(ms(1), packet(50, 2), lost);
  for (std::uint32_t i = 0; i < 6; ++i) {
    fq.enqueue(ms(1), packet(i, 1), lost);
  }
  ASSERT_EQ(lost.size(), 2u);
  EXPECT_EQ(lost[0].packet.frame, FrameId{0});
  EXPECT_EQ(lost[1].packet.frame, FrameId{1});
  EXPECT_EQ(fq.packets(), 5u);
  Packet out;
  std::uint32_t left = 0;
  while (fq.dequeue(ms(1), out, lost)) {
    ++left;
  }
  EXPECT_EQ(left, 5u);
}

// RFC 8033 appendix A with a standing delay of 55 ms: the first update adds
// (1/8 * 40 ms + 5/4 * 55 ms) / 2048 = 3.6e-5, the next 1/8 * 40 ms / 128.
TEST(Pie, TheProbabilityFollowsTheDelay) {
  PieSpec spec;
  Pie pie(spec, {}, Random(1));
  LostPackets lost;
  Packet out;
  for (std::uint32_t i = 0; i < 100; ++i) {
    pie.enqueue(ms(0), packet(i), lost);
  }
  ASSERT_TRUE(pie.dequeue(ms(14), out, lost));  // within the first period: 14 ms, below the target
  EXPECT_EQ(pie.probability(), 0u);
  pie.catch_up(ms(15));  // alpha * -1 ms + beta * 14 ms, divided by 2048
  constexpr std::uint64_t certain = Pie::certain;
  EXPECT_EQ(pie.probability() / 1'000, (certain * 17'375 / 1'000'000 / 2'048) / 1'000);
  ASSERT_TRUE(pie.dequeue(ms(29), out, lost));
  pie.catch_up(ms(30));  // plus (alpha * 14 ms + beta * 15 ms) / 512
  EXPECT_EQ(
      pie.probability() / 1'000'000,
      (certain * 17'375 / 1'000'000 / 2'048 + certain * 20'500 / 1'000'000 / 512) / 1'000'000);
}

TEST(Pie, ABurstIsLetThroughAndAStandingQueueIsNot) {
  PieSpec spec;
  Pie pie(spec, {}, Random(1));
  LostPackets lost;
  Packet out;
  std::size_t early = 0;
  for (std::uint64_t now = 0; now < 3'000; ++now) {
    pie.enqueue(ms(now), packet(1), lost);
    pie.enqueue(ms(now), packet(2), lost);
    ASSERT_TRUE(pie.dequeue(ms(now), out, lost));
    early = now < 150 ? lost.size() : early;
  }
  EXPECT_EQ(early, 0u);
  EXPECT_GT(lost.size(), 100u);
  EXPECT_GT(pie.probability(), Pie::certain / 20);
  // Idle: it decays to nothing.
  while (pie.dequeue(ms(3'000), out, lost)) {
  }
  pie.catch_up(ms(200'000));
  EXPECT_EQ(pie.probability(), 0u);
}

TEST(TokenBucketRule, ABurstThenTheRate) {
  TokenBucket bucket({8'000'000}, 3'000);  // an octet each microsecond
  Instant now = ms(10);
  for (std::uint32_t i = 0; i < 3; ++i) {
    ASSERT_EQ(bucket.ready_at(now, 1'000), now);
    bucket.take(now, 1'000);
  }
  EXPECT_EQ(bucket.ready_at(now, 1'000), ms(11));
  EXPECT_EQ(bucket.ready_at(ms(12), 1'000), ms(12));
}

TEST(RateTraceFile, WrapsAtItsLastLine) {
  RateTrace const trace({0, 2, 2, 5});
  auto const at = [&](std::uint64_t from) { return trace.first_from(Instant{from}); };
  EXPECT_EQ(at(0).at, ms(0));
  EXPECT_EQ(at(1).at, ms(2));
  EXPECT_EQ(at(1).bytes, 3'008u);
  EXPECT_EQ(at(2'000'001).at, ms(5));
  EXPECT_EQ(at(5'000'000).bytes, 3'008u);  // the last line, and the first of the next cycle
  EXPECT_EQ(at(5'000'001).at, ms(7));
  EXPECT_EQ(at(107'000'001).at, ms(110));
}

// Packets of 1,000 octets: the first opportunity sends one and half of the next.
TEST(Output, AnOpportunityIsSharedByPackets) {
  OutputSpec spec;
  spec.trace_ms = {1, 2, 10};
  OutputQueue output(spec, {{}, 0, 0, {}}, Random(1));
  LostPackets lost;
  for (std::uint32_t i = 0; i < 3; ++i) {
    output.enqueue(ms(0), packet(i), lost);
  }
  std::vector<std::uint64_t> left;
  for (Instant now = ms(0); !now.is_never();) {
    OutputQueue::Step const step = output.step(now, lost);
    if (step.sends) {
      left.push_back(step.left.ns / 1'000'000);
    }
    now = step.again;
  }
  EXPECT_EQ(left, (std::vector<std::uint64_t>{1, 2, 2}));
}

}  // namespace
}  // namespace lockstep::sim
