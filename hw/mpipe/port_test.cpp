// The driver on the model: bursts, batches, fences, back-pressure, several workers, shutdown; and
// the predecessor's defects.
#include "hw/mpipe/port.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <vector>

#include "core/units/random.hpp"
#include "hw/mpipe/model/rig.hpp"

namespace lockstep::hw {
namespace {

using mpipe::Arrived;
using mpipe::Errors;
using mpipe::Flow;
using mpipe::Frame;
using mpipe::Place;
using mpipe::Rig;
using mpipe::Sin;
using mpipe::tcp_frame;

constexpr MpipeShape small{.receive_ring = {128}, .transmit_buffers = {64}, .batch = {16}};

// Returns whether there was room.
bool send(MpipePort& port, const Frame& frame, Egress egress = {}) {
  auto const room = port.claim();
  if (room.empty()) {
    return false;
  }
  std::memcpy(room.data(), frame.data(), frame.size());
  egress.length = static_cast<std::uint16_t>(frame.size());
  port.commit(egress);
  return true;
}

// Every buffer has exactly one owner, and none is missing.
void expect_whole(const Rig& rig, std::uint64_t made) {
  EXPECT_EQ(rig.machine.buffers(), made);
  EXPECT_EQ(rig.machine.sins(), 0u);
}

TEST(MpipePort, ReceivedFramesAreLentAndBuffersAndCreditsReturned) {
  Rig rig(small);
  ASSERT_TRUE(rig.trouble.none());
  MpipePort port(rig.engine, {0});
  std::uint64_t const made = rig.machine.buffers();
  for (std::uint32_t round = 0; round < 100; ++round) {
    for (std::uint32_t i = 0; i < 40; ++i) {
      ASSERT_EQ(rig.arrive(tcp_frame({}, i)), Arrived::taken);
    }
    auto const burst = port.receive();
    ASSERT_EQ(burst.size(), 32u);
    EXPECT_EQ(rig.in(Place::driver), 32u);
    EXPECT_EQ(Frame(burst[5].bytes.begin(), burst[5].bytes.end()), tcp_frame({}, 5));
    EXPECT_EQ(burst[5].checksum, Checksum::good);
    port.reclaim();
    ASSERT_EQ(port.receive().size(), 8u);
    port.reclaim();
    EXPECT_EQ(rig.in(Place::driver), 0u);
  }
  EXPECT_EQ(port.counters().frames_in, 4'000u);
  expect_whole(rig, made);
}

TEST(MpipePort, AWrongChecksumIsReportedAndADamagedFrameIsLost) {
  Rig rig(small);
  MpipePort port(rig.engine, {0});
  Frame frame = tcp_frame({}, 20);
  frame[60] ^= std::byte{1};
  ASSERT_EQ(rig.arrive(frame), Arrived::taken);
  auto const burst = port.receive();
  ASSERT_EQ(burst.size(), 1u);
  EXPECT_EQ(burst[0].checksum, Checksum::bad);
  port.reclaim();
  Errors errors;
  errors.bad_sum = {Probability::certain};
  Rig bad(small, errors);
  MpipePort worse(bad.engine, {0});
  std::uint64_t const made = bad.machine.buffers();
  std::uint64_t taken = 0;
  for (std::uint32_t i = 0; i < 50; ++i) {
    taken += bad.arrive(frame) == Arrived::taken ? 1 : 0;
    EXPECT_TRUE(worse.receive().empty());
    worse.reclaim();
  }
  EXPECT_EQ(worse.counters().damaged, taken);
  EXPECT_GT(taken, 0u);
  EXPECT_EQ(bad.in(Place::driver), 0u);
  expect_whole(bad, made);
}

TEST(MpipePort, AFullBatchIsPostedAndTheRestAtFlush) {
  Rig rig(small);
  MpipePort port(rig.engine, {0});
  for (std::uint32_t i = 0; i < 20; ++i) {
    ASSERT_TRUE(send(port, tcp_frame({}, i)));
  }
  EXPECT_EQ(rig.wire.frames.size(), 16u);
  EXPECT_TRUE(port.holds());
  port.flush();
  port.reclaim();
  EXPECT_EQ(rig.wire.frames.size(), 20u);
  EXPECT_EQ(port.counters().batches, 2u);
  EXPECT_FALSE(port.holds());
}

TEST(MpipePort, ClaimingTwiceReturnsTheSameRoom) {
  Rig rig(small);
  MpipePort port(rig.engine, {0});
  EXPECT_EQ(port.claim().data(), port.claim().data());
  EXPECT_EQ(rig.in(Place::driver), 1u);
}

TEST(MpipePort, OmittedChecksumsAreCompleted) {
  Rig rig({.mtu = {9'000}, .receive_ring = {128}, .transmit_buffers = {64}});
  ASSERT_TRUE(rig.trouble.none());
  MpipePort port(rig.engine, {0});
  // By the engine; for a frame longer than it stores, by the worker.
  for (std::size_t const payload : {100u, 8'000u}) {
    Frame const right = tcp_frame({}, payload);
    Frame left = right;
    // The field holds the folded sum of the pseudo-header.
    std::byte* const ip = left.data() + 14;
    Frame pseudo(ip + 12, ip + 20);
    for (std::size_t const octet :
         {std::size_t{0}, std::size_t{6}, (20 + payload) >> 8, (20 + payload) & 0xff}) {
      pseudo.push_back(static_cast<std::byte>(octet));
    }
    wire::store16(ip + 36, wire::sum(pseudo).folded());
    Egress egress;
    egress.checksum_start = 34;
    egress.checksum_offset = 16;
    ASSERT_TRUE(send(port, left, egress));
    port.flush();
    ASSERT_FALSE(rig.wire.frames.empty());
    EXPECT_EQ(rig.wire.frames.back(), right);
  }
  EXPECT_EQ(port.counters().sums_left, 1u);
  EXPECT_EQ(port.counters().sums_here, 1u);
  EXPECT_EQ(rig.machine.sins(), 0u);
}

TEST(MpipePort, JumboFramesArriveWhole) {
  Rig rig({.mtu = {9'000}, .receive_ring = {128}, .transmit_buffers = {64}});
  MpipePort port(rig.engine, {0});
  Frame const frame = tcp_frame({}, 8'960);
  ASSERT_EQ(rig.arrive(frame), Arrived::taken);
  auto const burst = port.receive();
  ASSERT_EQ(burst.size(), 1u);
  EXPECT_EQ(Frame(burst[0].bytes.begin(), burst[0].bytes.end()), frame);
  port.reclaim();
  EXPECT_EQ(port.counters().chained, 0u);
}

TEST(MpipePort, AStackOfBareIpGetsPacketsAndThePortAddsLinkHeaders) {
  MpipeShape shape = small;
  shape.bare_ip = true;
  shape.own = Mac{{2, 2, 2, 2, 2, 2}};
  shape.peer = Mac{{2, 2, 2, 2, 2, 2}};
  Rig rig(shape);
  MpipePort port(rig.engine, {0});
  Frame const frame = tcp_frame({}, 30);
  ASSERT_EQ(rig.arrive(frame), Arrived::taken);
  auto const burst = port.receive();
  ASSERT_EQ(burst.size(), 1u);
  Frame const packet(burst[0].bytes.begin(), burst[0].bytes.end());
  port.reclaim();
  EXPECT_EQ(packet, Frame(frame.begin() + 14, frame.end()));
  ASSERT_TRUE(send(port, packet));
  port.flush();
  ASSERT_EQ(rig.wire.frames.size(), 1u);
  EXPECT_EQ(rig.wire.frames[0], frame);
}

TEST(MpipePort, AFlowKeepsItsWorkerInBothDirectionsFor4And36Workers) {
  for (std::uint32_t const workers : {4u, 36u}) {
    Rig rig({.workers = {workers}, .receive_ring = {128}, .transmit_buffers = {16}});
    ASSERT_TRUE(rig.trouble.none()) << rig.trouble.step;
    std::vector<std::unique_ptr<MpipePort>> ports;
    for (std::uint32_t w = 0; w < workers; ++w) {
      ports.push_back(std::make_unique<MpipePort>(rig.engine, MpipePort::Worker{w}));
    }
    std::uint64_t const made = rig.machine.buffers();
    std::set<std::uint32_t> used;
    for (std::uint16_t flow = 0; flow < 400; ++flow) {
      Flow const there{.source_port = static_cast<std::uint16_t>(1'000 + flow)};
      ASSERT_EQ(rig.arrive(tcp_frame(there, 1)), Arrived::taken);
      ASSERT_EQ(rig.arrive(tcp_frame(there.back(), 2)), Arrived::taken);
      for (std::uint32_t w = 0; w < workers; ++w) {
        auto const got = ports[w]->receive().size();
        ports[w]->reclaim();
        ASSERT_TRUE(got == 0 || got == 2);
        if (got == 2) {
          used.insert(w);
          auto const hash = mpipe::classify(tcp_frame(there, 1), rig.machine.hash_seed()).hash;
          EXPECT_EQ(rig.engine.ring_of_bucket(hash), w);
        }
        // Each worker sends; above 24 workers two share an eDMA ring.
        ASSERT_TRUE(send(*ports[w], tcp_frame(there, w)));
        ASSERT_TRUE(ports[w]->flush());
      }
    }
    EXPECT_EQ(used.size(), workers);
    EXPECT_EQ(rig.wire.frames.size(), 400u * workers);
    expect_whole(rig, made);
  }
}

// Two links of one NIC, with a wire for each.
struct TwoLinks {
  explicit TwoLinks(std::uint32_t workers)
      : rig({.links = {"xgbe0", "gbe2"},
             .workers = {workers},
             .receive_ring = {128},
             .transmit_buffers = {32}}) {
    rig.machine.attach(second, rig.engine.channel({1}));
    for (std::uint32_t link = 0; link < 2; ++link) {
      for (std::uint32_t w = 0; w < workers; ++w) {
        ports[link].push_back(
            std::make_unique<MpipePort>(rig.engine, MpipePort::Worker{w}, MpipeLink{link}));
      }
    }
    made = rig.machine.buffers();
  }
  // The frames that each worker of a link receives now.
  std::vector<std::uint64_t> taken(std::uint32_t link) {
    std::vector<std::uint64_t> counts;
    for (auto& port : ports[link]) {
      counts.push_back(port->receive().size());
      port->reclaim();
    }
    return counts;
  }
  Rig rig;
  mpipe::NotedWire second;
  std::array<std::vector<std::unique_ptr<MpipePort>>, 2> ports;
  std::uint64_t made = 0;
};

TEST(MpipeLinks, FramesStayOnTheLinkOfTheirWorkers) {
  TwoLinks two(3);
  ASSERT_TRUE(two.rig.trouble.none()) << two.rig.trouble.step;
  std::set<std::uint32_t> used;
  for (std::uint16_t i = 0; i < 60; ++i) {
    Flow const flow{.source_port = i};
    auto const hash = mpipe::classify(tcp_frame(flow, 1), two.rig.machine.hash_seed()).hash;
    std::uint32_t const worker = two.rig.engine.ring_of_bucket(hash);
    std::uint32_t const link = i % 2;
    ASSERT_EQ(two.rig.arrive(tcp_frame(flow, 1), {link}), Arrived::taken);
    std::vector<std::uint64_t> expected(3);
    EXPECT_EQ(two.taken(1 - link), expected);
    expected[worker] = 1;
    EXPECT_EQ(two.taken(link), expected);
    used.insert(worker);
    ASSERT_TRUE(send(*two.ports[link][worker], tcp_frame(flow.back(), i)));
    ASSERT_TRUE(two.ports[link][worker]->flush());
    mpipe::NotedWire const& wire = link == 0 ? two.rig.wire : two.second;
    EXPECT_EQ(wire.frames.back(), tcp_frame(flow.back(), i));
  }
  EXPECT_EQ(used.size(), 3u);
  EXPECT_EQ(two.rig.wire.frames.size(), 30u);
  EXPECT_EQ(two.second.frames.size(), 30u);
  expect_whole(two.rig, two.made);
}

TEST(MpipeLinks, AFullSlowOrDownLinkDoesNotDelayTheOther) {
  TwoLinks two(2);
  for (std::uint16_t i = 0; i < 1'000; ++i) {
    two.rig.arrive(tcp_frame({.source_port = i}, 1'000), {0});
  }
  EXPECT_EQ(two.rig.machine.stats().ingress_packets, 2u * 126u);
  for (std::uint16_t i = 0; i < 100; ++i) {
    ASSERT_EQ(two.rig.arrive(tcp_frame({.source_port = i}, 1'000), {1}), Arrived::taken);
  }
  EXPECT_EQ(two.rig.machine.stats().ingress_drops_no_buf, 0u);
  two.rig.wire.slow = 1'000;  // nothing leaves on that link
  for (std::uint32_t i = 0; i < 100; ++i) {
    EXPECT_EQ(send(*two.ports[0][0], tcp_frame({}, 1)), i < 32);
    ASSERT_TRUE(send(*two.ports[1][0], tcp_frame({}, 2)));
  }
  ASSERT_TRUE(two.ports[1][0]->flush());
  EXPECT_EQ(two.second.frames.size(), 100u);
  two.rig.machine.set_link_up(false, two.rig.engine.channel({0}));
  EXPECT_FALSE(two.rig.engine.link_is_up({0}));
  EXPECT_TRUE(two.rig.engine.link_is_up({1}));
  EXPECT_EQ(two.rig.arrive(tcp_frame({}, 1), {0}), Arrived::lost);
  EXPECT_EQ(two.rig.arrive(tcp_frame({}, 1), {1}), Arrived::taken);
  expect_whole(two.rig, two.made);
}

TEST(MpipeLinks, FourLinksOf36WorkersShareTheEdmaRings) {
  MpipeShape const shape{.links = {"xgbe0", "xgbe1", "xgbe2", "xgbe3"},
                         .workers = {36},
                         .receive_ring = {128},
                         .transmit_buffers = {4}};
  EXPECT_EQ(shape.edma_rings(), 6u);  // of 24
  Rig rig(shape);
  ASSERT_TRUE(rig.trouble.none()) << rig.trouble.step;
  std::uint64_t const made = rig.machine.buffers();
  for (std::uint32_t link = 0; link < 4; ++link) {
    std::set<std::uint32_t> used;
    for (std::uint16_t i = 0; i < 400; ++i) {
      Frame const frame = tcp_frame({.source_port = i}, 1);
      auto const hash = mpipe::classify(frame, rig.machine.hash_seed()).hash;
      std::uint32_t const worker = rig.engine.ring_of_bucket(hash);
      used.insert(worker);
      MpipePort port(rig.engine, {worker}, {link});
      ASSERT_EQ(rig.arrive(frame, {link}), Arrived::taken);
      ASSERT_EQ(port.receive().size(), 1u);
      port.reclaim();
      ASSERT_TRUE(send(port, frame));
      ASSERT_TRUE(port.flush());
    }
    EXPECT_EQ(used.size(), 36u);
  }
  EXPECT_EQ(rig.wire.frames.size(), 4u * 400u);
  expect_whole(rig, made);
}

TEST(MpipeLinks, AMissingOrRepeatedLinkFails) {
  Rig rig({.links = {"xgbe0", "xgbe0"}, .receive_ring = {128}, .transmit_buffers = {8}});
  EXPECT_STREQ(rig.trouble.step, "opening the link a second time");
  EXPECT_FALSE(rig.engine.is_open());
  EXPECT_STREQ(rig.engine.open({.links = {"xgbe0", "eth0"}}).step, "finding the link");
  EXPECT_FALSE(rig.engine.is_open());
  for (auto const& link : rig.machine.link_table) {
    EXPECT_FALSE(link.open);
  }
}

TEST(MpipePort, DrainingWaitsForTheLastFrameAndHoldsNothing) {
  Errors errors;
  errors.completion = Duration{5'000};
  Rig rig(small, errors);
  MpipePort port(rig.engine, {0});
  std::uint64_t const made = rig.machine.buffers();
  ASSERT_TRUE(send(port, tcp_frame({}, 1)));
  ASSERT_FALSE(port.claim().empty());
  ASSERT_EQ(rig.arrive(tcp_frame({}, 1)), Arrived::taken);
  ASSERT_TRUE(rig.engine.stop_receiving().none());
  EXPECT_EQ(rig.arrive(tcp_frame({}, 1)), Arrived::filtered);
  for (std::uint32_t i = 0; i < 10; ++i) {
    EXPECT_FALSE(port.drained());
  }
  rig.at(5'000);
  EXPECT_TRUE(port.drained());
  EXPECT_EQ(rig.wire.frames.size(), 1u);
  EXPECT_EQ(rig.in(Place::stack), made);
  expect_whole(rig, made);
  rig.engine.close();
  EXPECT_FALSE(rig.engine.is_open());
}

TEST(MpipePort, AFailedOpenNamesTheStepAndClosesEverything) {
  MpipeShape shape = small;
  shape.links = {"eth0"};
  Rig rig(shape);
  EXPECT_STREQ(rig.trouble.step, "finding the link");
  EXPECT_EQ(rig.trouble.code, GXIO_ERR_NO_DEVICE);
  EXPECT_FALSE(rig.engine.is_open());
  shape.links = {"gbe0"};
  EXPECT_TRUE(rig.engine.open(shape).none());
}

TEST(MpipePort, AnImpossibleAddressIsCountedAndIgnored) {
  Rig rig(small);
  MpipePort port(rig.engine, {0});
  gxio_mpipe_iqueue_t& ring = rig.engine.iqueue(0);
  using Change = void (*)(gxio_mpipe_idesc_t&);
  Change const changes[] = {
      [](gxio_mpipe_idesc_t& d) { d.words[7] = 0; },
      [](gxio_mpipe_idesc_t& d) { d.words[7] ^= std::uint64_t{1} << 31; },
      [](gxio_mpipe_idesc_t& d) { d.words[7] += std::uint64_t{1} << 30; },
      [](gxio_mpipe_idesc_t& d) { d.stack_idx = 31; },
      [](gxio_mpipe_idesc_t& d) { d.l2_size = 0x3fff; },
  };
  std::uint64_t count = 0;
  for (Change const change : changes) {
    ASSERT_EQ(rig.arrive(tcp_frame({}, 20)), Arrived::taken);
    change(ring.idescs[ring.head]);
    EXPECT_TRUE(port.receive().empty());
    port.reclaim();
    EXPECT_EQ(port.counters().malformed, ++count);
  }
  ASSERT_EQ(rig.arrive(tcp_frame({}, 20)), Arrived::taken);
  EXPECT_EQ(port.receive().size(), 1u);
}

TEST(MpipePort, WhateverTheNicWritesNothingCrashesAndNothingOutsideIsTouched) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Rig rig(small);
    MpipePort port(rig.engine, {0});
    gxio_mpipe_iqueue_t& ring = rig.engine.iqueue(0);
    Random random(seed);
    for (std::uint32_t step = 0; step < 2'000; ++step) {
      rig.arrive(tcp_frame({}, static_cast<std::size_t>(random.below(1'400))));
      gxio_mpipe_idesc_t& next = ring.idescs[ring.head % ring.num_entries];
      std::uint64_t& word = next.words[random.below(8)];
      word = random.below(2) == 0 ? random.next() : word ^ std::uint64_t{1} << random.below(64);
      if (random.below(8) == 0) {
        ring.idescs[0].words[0] = random.below(2) == 0 ? random.next() : random.below(256);
      }
      for (const Ingress& each : port.receive()) {
        ASSERT_TRUE(rig.machine.memory().holds(each.bytes.data()));
        ASSERT_TRUE(rig.machine.memory().holds(each.bytes.data() + each.bytes.size() - 1));
        ASSERT_LE(each.bytes.size(), 1'664u);
      }
      port.reclaim();
      send(port, tcp_frame({}, 1));
    }
  }
}

// Defect 17: no memory fence between writing a packet and posting its descriptor.
TEST(PredecessorsDriver, Defect17APacketIsFencedBeforeItsDescriptorIsPosted) {
  Rig rig(small);
  MpipePort port(rig.engine, {0});
  for (std::uint32_t i = 0; i < 200; ++i) {
    ASSERT_TRUE(send(port, tcp_frame({}, i)));
  }
  ASSERT_TRUE(port.flush());
  EXPECT_EQ(rig.machine.sins(Sin::stale_send), 0u);
  ASSERT_EQ(rig.wire.frames.size(), 200u);
  for (std::uint32_t i = 0; i < 200; ++i) {
    EXPECT_EQ(rig.wire.frames[i], tcp_frame({}, i));
  }
}

// Defect 18: the process died when a buffer stack was empty, and sending spun while the ring was
// full.
TEST(PredecessorsDriver, Defect18AnEmptyStackAndAFullRingAreBackPressure) {
  Rig rig(small);
  MpipePort port(rig.engine, {0});
  rig.wire.slow = 1'000;  // nothing leaves
  std::uint32_t sent = 0;
  while (sent < 1'000 && send(port, tcp_frame({}, 1))) {
    ++sent;
  }
  EXPECT_EQ(sent, 64u);
  EXPECT_TRUE(port.claim().empty());
  EXPECT_GT(port.counters().no_buffer, 0u);
  rig.wire.slow = 0;
  rig.at(1);
  EXPECT_TRUE(send(port, tcp_frame({}, 1)));
  // The ring was filled by another worker.
  gxio_mpipe_edesc_t null{};
  null.ns = 1;
  null.bound = 1;
  Errors late;
  late.completion = Duration{1'000};
  Rig full(small, late);
  MpipePort waits(full.engine, {0});
  for (std::uint32_t i = 0; i < 505; ++i) {
    auto const slot = gxio_mpipe_equeue_try_reserve_fast(&full.engine.equeue(0), 1);
    ASSERT_GE(slot, 0);
    gxio_mpipe_equeue_put_at(&full.engine.equeue(0), null, static_cast<unsigned long>(slot));
  }
  for (std::uint32_t i = 0; i < 16; ++i) {
    ASSERT_TRUE(send(waits, tcp_frame({}, 1)));
  }
  EXPECT_TRUE(waits.holds());
  EXPECT_FALSE(send(waits, tcp_frame({}, 1)));
  EXPECT_GT(waits.counters().no_credit, 0u);
  full.at(1'000);
  EXPECT_TRUE(send(waits, tcp_frame({}, 1)));
  EXPECT_EQ(full.wire.frames.size(), 16u);
}

// Defect 19: more descriptors than large buffers, so that load alone made the hardware drop.
TEST(PredecessorsDriver, Defect19RingsRunOutBeforeBuffersDo) {
  for (std::uint32_t const workers : {1u, 4u}) {
    for (std::size_t const payload : {1u, 1'400u}) {
      Rig rig({.workers = {workers}, .receive_ring = {128}, .transmit_buffers = {8}});
      for (std::uint16_t i = 0; i < 2'000; ++i) {
        Arrived const what = rig.arrive(tcp_frame({.source_port = i}, payload));
        ASSERT_TRUE(what == Arrived::taken || what == Arrived::ring_full);
      }
      EXPECT_EQ(rig.machine.stats().ingress_packets, 126u * workers);
      EXPECT_EQ(rig.machine.stats().ingress_drops_no_buf, 0u);
    }
  }
}

// Defect 20: buffers of a dropped chained packet were never returned.
TEST(PredecessorsDriver, Defect20AChainedPacketThatIsDroppedReturnsAllItsBuffers) {
  Rig rig(small);
  MpipePort port(rig.engine, {0});
  std::uint64_t const made = rig.machine.buffers();
  // A rule that other software may have left: every frame into buffers of 128 octets.
  for (gxio_mpipe_model_rule_t& rule : rig.machine.rules) {
    std::memset(rule.stacks, rule.stacks[0], sizeof rule.stacks);
    rule.capacity = 16'384;
  }
  std::uint64_t const free = rig.in(Place::stack);
  ASSERT_EQ(rig.arrive(tcp_frame({}, 1'000)), Arrived::taken);
  EXPECT_EQ(rig.in(Place::ring), 9u);
  EXPECT_TRUE(port.receive().empty());
  EXPECT_EQ(port.counters().chained, 1u);
  port.reclaim();
  EXPECT_EQ(rig.in(Place::stack), free);
  // A packet for which buffers ran out in the middle: its buffers are returned too.
  auto& stack = rig.machine.stack_table[rig.machine.rules[0].stacks[0]];
  std::vector<mpipe::Offset> kept(stack.free.begin() + 3, stack.free.end());
  stack.free.resize(3);
  ASSERT_EQ(rig.arrive(tcp_frame({}, 1'000)), Arrived::taken);
  EXPECT_TRUE(port.receive().empty());
  EXPECT_EQ(port.counters().cut_short, 1u);
  port.reclaim();
  EXPECT_EQ(stack.free.size(), 3u);
  stack.free.insert(stack.free.end(), kept.begin(), kept.end());
  expect_whole(rig, made);
}

}  // namespace
}  // namespace lockstep::hw
