// The model: depths, wraps, credits, modes, error codes; and a test for each misuse that it
// detects.
#include "hw/mpipe/model/machine.hpp"

#include <gtest/gtest.h>

#include <set>

#include "hw/mpipe/kit.hpp"
#include "hw/mpipe/model/rig.hpp"

namespace lockstep::hw::mpipe {
namespace {

constexpr MpipeShape small{.receive_ring = {128}, .transmit_buffers = {64}};

unsigned char* popped(Rig& rig) {
  return buffer_of(
      gxio_mpipe_pop_buffer_bdesc(&rig.engine.context(), rig.engine.transmit_stack(0)));
}

gxio_mpipe_edesc_t descriptor_of(Rig& rig, unsigned char* buffer, unsigned bytes) {
  gxio_mpipe_edesc_t edesc{};
  edesc.bound = 1;
  edesc.hwb = 1;
  edesc.xfer_size = bytes & 0x3fff;
  edesc.stack_idx = rig.engine.transmit_stack(0) & 0x1f;
  gxio_mpipe_edesc_set_va(&edesc, buffer);
  return edesc;
}

void put(Rig& rig, gxio_mpipe_edesc_t edesc) {
  std::int64_t const slot = gxio_mpipe_equeue_try_reserve_fast(&rig.engine.equeue(0), 1);
  ASSERT_GE(slot, 0);
  gxio_mpipe_equeue_put_at(&rig.engine.equeue(0), edesc, static_cast<unsigned long>(slot));
}

TEST(MpipeSins, WithoutAFenceStaleBytesAreSent) {
  Rig rig(small);
  unsigned char* const buffer = popped(rig);
  std::memset(buffer, 0x11, 100);
  __insn_mf();
  std::memset(buffer, 0x22, 100);  // without a fence
  put(rig, descriptor_of(rig, buffer, 100));
  ASSERT_EQ(rig.wire.frames.size(), 1u);
  EXPECT_EQ(rig.wire.frames[0], Frame(100, std::byte{0x11}));
  EXPECT_EQ(rig.machine.sins(Sin::stale_send), 1u);
}

TEST(MpipeSins, ABufferReadAfterItWasPushedIsPoison) {
  Rig rig(small);
  unsigned char* const buffer = popped(rig);
  std::memset(buffer, 0x11, 100);
  gxio_mpipe_push_buffer(&rig.engine.context(), rig.engine.transmit_stack(0), buffer);
  EXPECT_EQ(buffer[0], 0xa5);
  EXPECT_EQ(buffer[99], 0xa5);
}

// A buffer that never had an owner is poisoned only when it is popped.
TEST(MpipeSins, ANewBufferIsPoisonOnceItIsPopped) {
  Rig rig(small);
  unsigned char* const buffer = popped(rig);
  EXPECT_EQ(buffer[0], 0xa5);
  EXPECT_EQ(buffer[99], 0xa5);
}

TEST(MpipeSins, ASecondPushOfOneBufferIsRefused) {
  Rig rig(small);
  std::uint64_t const before = rig.in(Place::stack);
  unsigned char* const buffer = popped(rig);
  gxio_mpipe_push_buffer(&rig.engine.context(), rig.engine.transmit_stack(0), buffer);
  gxio_mpipe_push_buffer(&rig.engine.context(), rig.engine.transmit_stack(0), buffer);
  EXPECT_EQ(rig.machine.sins(Sin::double_push), 1u);
  EXPECT_EQ(rig.in(Place::stack), before);
}

TEST(MpipeSins, ABufferOfNoRegisteredPageIsRefused) {
  Rig rig(small);
  std::byte ours[256];
  gxio_mpipe_push_buffer(&rig.engine.context(), 0, ours);
  EXPECT_EQ(rig.machine.sins(Sin::unregistered_push), 1u);
  // Its page is registered, but for another stack.
  unsigned char* const buffer = popped(rig);
  gxio_mpipe_push_buffer(&rig.engine.context(), 0, buffer);
  EXPECT_EQ(rig.machine.sins(Sin::unregistered_push), 2u);
}

TEST(MpipeSins, ABufferInARingOrInFlightIsRefused) {
  Rig rig(small);
  ASSERT_EQ(rig.arrive(tcp_frame({}, 10)), Arrived::taken);
  gxio_mpipe_idesc_t* idesc = nullptr;
  ASSERT_EQ(gxio_mpipe_iqueue_try_peek(&rig.engine.iqueue(0), &idesc), 1);
  // Not advanced over, so hardware may still write to it.
  gxio_mpipe_push_buffer(&rig.engine.context(), static_cast<unsigned>(idesc->stack_idx),
                         gxio_mpipe_idesc_get_va(idesc));
  EXPECT_EQ(rig.machine.sins(Sin::push_not_held), 1u);
  rig.wire.slow = 1;
  unsigned char* const buffer = popped(rig);
  put(rig, descriptor_of(rig, buffer, 100));
  gxio_mpipe_push_buffer(&rig.engine.context(), rig.engine.transmit_stack(0), buffer);
  EXPECT_EQ(rig.machine.sins(Sin::push_not_held), 2u);
}

TEST(MpipeSins, AFullStackRefusesBuffers) {
  Rig rig(small);
  // 64 buffers occupy 6 lines of 12, with room for 8 more that do not exist. One stack's buffers
  // fill it exactly, and memory of the next page may not be pushed, so the room is never overrun.
  Machine::BufferStack& stack = rig.machine.stack_table[rig.engine.transmit_stack(0)];
  unsigned char* const buffer = popped(rig);
  stack.capacity = static_cast<std::uint32_t>(stack.free.size());
  gxio_mpipe_push_buffer(&rig.engine.context(), rig.engine.transmit_stack(0), buffer);
  EXPECT_EQ(rig.machine.sins(Sin::stack_overflow), 1u);
}

TEST(MpipeSins, ADescriptorOfMemoryThatNoPageHoldsSendsNothing) {
  Rig rig(small);
  gxio_mpipe_edesc_t edesc = descriptor_of(rig, popped(rig), 100);
  edesc.hwb = 0;
  edesc.stack_idx = 31;
  put(rig, edesc);
  EXPECT_EQ(rig.machine.sins(Sin::unregistered_send), 1u);
  EXPECT_TRUE(rig.wire.frames.empty());
}

TEST(MpipeSins, ABufferIsPostedOnce) {
  Rig rig(small);
  rig.wire.slow = 2;
  unsigned char* const buffer = popped(rig);
  __insn_mf();
  put(rig, descriptor_of(rig, buffer, 100));
  put(rig, descriptor_of(rig, buffer, 100));
  EXPECT_EQ(rig.machine.sins(Sin::send_not_held), 1u);
}

TEST(MpipeSins, ASlotIsFilledOnce) {
  Rig rig(small);
  gxio_mpipe_edesc_t null{};
  null.ns = 1;
  null.bound = 1;
  gxio_mpipe_equeue_put_at(&rig.engine.equeue(0), null, 0);
  gxio_mpipe_equeue_put_at(&rig.engine.equeue(0), null, 0);
  EXPECT_EQ(rig.machine.sins(Sin::slot_overwritten), 1u);
}

TEST(MpipeSins, AChecksumBeyondWhatIsStoredIsNotInserted) {
  Rig rig({.mtu = {9'000}, .receive_ring = {128}, .transmit_buffers = {8}});
  ASSERT_TRUE(rig.trouble.none());
  unsigned char* const buffer = popped(rig);
  std::memset(buffer, 0, 2'000);
  __insn_mf();
  gxio_mpipe_edesc_t edesc = descriptor_of(rig, buffer, 2'000);
  edesc.csum = 1;
  edesc.csum_start = 34;
  edesc.csum_dest = 50;
  put(rig, edesc);
  EXPECT_EQ(rig.machine.sins(Sin::sum_too_long), 1u);
  EXPECT_EQ(rig.wire.frames[0][50], std::byte{0});
}

TEST(MpipeSins, ExcessCreditsAreDetected) {
  Rig rig(small);
  ASSERT_EQ(rig.arrive(tcp_frame({}, 10)), Arrived::taken);
  gxio_mpipe_credit(&rig.engine.context(), rig.engine.iqueue(0).ring, -1, 2);
  EXPECT_EQ(rig.machine.sins(Sin::credit_too_many), 1u);
}

TEST(MpipeSins, ACallThatWouldSpinIsDetected) {
  Errors errors;
  errors.not_ready = {Probability::certain};
  Rig rig(small, errors);
  EXPECT_EQ(gxio_mpipe_pop_buffer(&rig.engine.context(), rig.engine.transmit_stack(0)), nullptr);
  EXPECT_EQ(rig.machine.sins(Sin::spun), 1u);
}

TEST(MpipeRing, HoldsTwoLessThanItsEntriesUntilCreditsComeBack) {
  Rig rig(small);
  for (std::uint32_t i = 0; i < 126; ++i) {
    ASSERT_EQ(rig.arrive(tcp_frame({}, 10)), Arrived::taken) << i;
  }
  EXPECT_EQ(rig.arrive(tcp_frame({}, 10)), Arrived::ring_full);
  EXPECT_EQ(rig.machine.stats().ingress_drops_cls_lb, 1u);
  // Reading makes no room; only credits do.
  gxio_mpipe_iqueue_advance(&rig.engine.iqueue(0), 1);
  EXPECT_EQ(rig.arrive(tcp_frame({}, 10)), Arrived::ring_full);
  gxio_mpipe_credit(&rig.engine.context(), rig.engine.iqueue(0).ring, -1, 1);
  EXPECT_EQ(rig.arrive(tcp_frame({}, 10)), Arrived::taken);
}

TEST(MpipeRing, ItsFirstSlotIsTheTailAndItWrapsToTheSecond) {
  Rig rig(small);
  gxio_mpipe_iqueue_t& iqueue = rig.engine.iqueue(0);
  for (std::uint32_t i = 0; i < 1'000; ++i) {
    ASSERT_EQ(rig.arrive(tcp_frame({}, i % 50)), Arrived::taken);
    std::uint64_t tail = 0;
    std::memcpy(&tail, static_cast<const void*>(iqueue.idescs), sizeof tail);
    ASSERT_EQ(tail, (i + 1) % 127 + 1);
    gxio_mpipe_idesc_t* idesc = nullptr;
    ASSERT_EQ(gxio_mpipe_iqueue_try_peek(&iqueue, &idesc), 1);
    ASSERT_EQ(idesc->l2_size, 54 + i % 50);
    ASSERT_EQ(idesc->packet_sqn, i);
    unsigned char* const va = gxio_mpipe_idesc_get_va(idesc);
    auto const stack = static_cast<unsigned>(idesc->stack_idx);
    gxio_mpipe_iqueue_advance(&iqueue, 1);
    gxio_mpipe_push_buffer(&rig.engine.context(), stack, va);
    gxio_mpipe_credit(&rig.engine.context(), iqueue.ring, -1, 1);
  }
  EXPECT_EQ(rig.machine.sins(), 0u);
}

TEST(MpipeRing, HeadroomPutsTheNetworkHeaderAtAMultipleOfFour) {
  Rig rig(small);
  ASSERT_EQ(rig.arrive(tcp_frame({}, 10)), Arrived::taken);
  gxio_mpipe_idesc_t* idesc = nullptr;
  ASSERT_EQ(gxio_mpipe_iqueue_try_peek(&rig.engine.iqueue(0), &idesc), 1);
  auto const at = reinterpret_cast<std::uintptr_t>(gxio_mpipe_idesc_get_va(idesc));
  EXPECT_EQ(at % 128, 2u);
  EXPECT_EQ(gxio_mpipe_idesc_get_l3_offset(idesc), 14);
  EXPECT_EQ(gxio_mpipe_idesc_get_l4_offset(idesc), 34);
}

// The ring of each of some frames of one flow, with buckets of a group of three rings in the given
// mode.
std::vector<unsigned> rings_of(gxio_mpipe_bucket_mode_t mode, std::uint32_t frames,
                               bool credit_bucket) {
  Rig rig({.workers = {3}, .receive_ring = {128}, .transmit_buffers = {8}});
  gxio_mpipe_init_notif_group_and_buckets(&rig.engine.context(), 0, rig.engine.first_ring(), 3, 0,
                                          1'024, mode);
  std::vector<unsigned> out;
  for (std::uint32_t i = 0; i < frames; ++i) {
    std::array<std::uint32_t, 3> before{};
    for (std::uint32_t w = 0; w < 3; ++w) {
      before[w] = rig.machine.delivered(w);
    }
    unsigned to = 3;
    if (rig.arrive(tcp_frame({}, 10)) == Arrived::taken) {
      for (std::uint32_t w = 0; w < 3; ++w) {
        to = rig.machine.delivered(w) != before[w] ? w : to;
      }
    }
    if (credit_bucket && to != 3) {
      gxio_mpipe_idesc_t idesc = rig.engine.iqueue(to).idescs[rig.engine.iqueue(to).head];
      gxio_mpipe_credit(&rig.engine.context(), -1, static_cast<int>(idesc.bucket_id), 1);
    }
    out.push_back(to);
  }
  return out;
}

TEST(MpipeBalancer, EveryModeChoosesAsDocumented) {
  auto const count = [](const std::vector<unsigned>& rings) {
    return std::set<unsigned>(rings.begin(), rings.end()).size();
  };
  // Static affinity: 126 fit, the others are dropped.
  auto const fixed = rings_of(GXIO_MPIPE_BUCKET_STATIC_FLOW_AFFINITY, 130, false);
  EXPECT_EQ(count({fixed.begin(), fixed.begin() + 126}), 1u);
  EXPECT_EQ(fixed.back(), 3u);
  // Dynamic affinity: fixed while the bucket has frames outstanding, chosen anew when it has none.
  auto const held = rings_of(GXIO_MPIPE_BUCKET_DYNAMIC_FLOW_AFFINITY, 100, false);
  EXPECT_EQ(count(held), 1u);
  EXPECT_EQ(count(rings_of(GXIO_MPIPE_BUCKET_DYNAMIC_FLOW_AFFINITY, 100, true)), 3u);
  // Round robin: always the least full ring.
  EXPECT_EQ(count(rings_of(GXIO_MPIPE_BUCKET_ROUND_ROBIN, 100, false)), 3u);
  // Sticky: moves on when the ring is full, and drops when all are.
  auto const sticky = rings_of(GXIO_MPIPE_BUCKET_STICKY_FLOW_LOCALITY, 3 * 126 + 1, false);
  EXPECT_EQ(count({sticky.begin(), sticky.begin() + 126}), 1u);
  EXPECT_EQ(count({sticky.begin(), sticky.end() - 1}), 3u);
  EXPECT_EQ(sticky.back(), 3u);
}

TEST(MpipeEgress, GathersUpToTheBoundDescriptorAndInsertsTheChecksum) {
  Rig rig(small);
  Frame const whole = tcp_frame({}, 300);
  Frame unsummed = whole;
  std::byte* const ip = unsummed.data() + 14;
  Frame pseudo(ip + 12, ip + 20);
  for (unsigned const octet : {0u, 6u, 1u, 64u}) {  // 320 octets of TCP
    pseudo.push_back(static_cast<std::byte>(octet));
  }
  wire::store16(ip + 36, 0);
  unsigned char* const first = popped(rig);
  unsigned char* const second = popped(rig);
  std::memcpy(first, unsummed.data(), 60);
  std::memcpy(second, unsummed.data() + 60, unsummed.size() - 60);
  __insn_mf();
  gxio_mpipe_edesc_t head = descriptor_of(rig, first, 60);
  head.bound = 0;
  head.csum = 1;
  head.csum_start = 34;
  head.csum_dest = 50;
  head.csum_seed = wire::sum(pseudo).folded();
  put(rig, head);
  EXPECT_TRUE(rig.wire.frames.empty());
  put(rig, descriptor_of(rig, second, static_cast<unsigned>(unsummed.size()) - 60));
  ASSERT_EQ(rig.wire.frames.size(), 1u);
  EXPECT_EQ(rig.wire.frames[0], whole);
  EXPECT_EQ(rig.machine.sins(), 0u);
}

TEST(MpipeEgress, CreditsComeBackWhenFramesHaveLeftAndGenerationsAlternate) {
  Errors errors;
  errors.completion = Duration{1'000};
  Rig rig(small, errors);
  gxio_mpipe_equeue_t& equeue = rig.engine.equeue(0);
  gxio_mpipe_edesc_t null{};
  null.ns = 1;
  null.bound = 1;
  std::uint64_t now = 0;
  for (std::uint32_t lap = 0; lap < 5; ++lap) {
    std::int64_t last = -1;
    for (std::uint32_t i = 0; i < 512; ++i) {
      last = gxio_mpipe_equeue_try_reserve(&equeue, 1);
      ASSERT_EQ(last, static_cast<std::int64_t>(lap * 512 + i));
      gxio_mpipe_equeue_put_at(&equeue, null, static_cast<unsigned long>(last));
    }
    EXPECT_EQ(gxio_mpipe_equeue_try_reserve_fast(&equeue, 1), GXIO_ERR_DMA_CREDITS);
    EXPECT_EQ(gxio_mpipe_equeue_is_complete(&equeue, last, 1), 0);
    now += 1'000;
    rig.at(now);
    EXPECT_EQ(gxio_mpipe_equeue_is_complete(&equeue, last, 1), 1);
  }
  EXPECT_EQ(rig.machine.sins(), 0u);
}

TEST(MpipeCalls, LimitsAlignmentsAndOrderHaveTheirErrorCodes) {
  Machine machine({1u << 20, Random(1), {}, Mac{}});
  machine.be_current();
  gxio_mpipe_context_t context;
  EXPECT_EQ(gxio_mpipe_link_instance("eth0"), GXIO_ERR_NO_DEVICE);
  EXPECT_EQ(gxio_mpipe_init(&context, 1), GXIO_ERR_NO_DEVICE);
  ASSERT_EQ(gxio_mpipe_init(&context, 0), 0);
  EXPECT_EQ(gxio_mpipe_init(&context, 0), GXIO_ERR_ALREADY_INIT);
  EXPECT_EQ(gxio_mpipe_alloc_buffer_stacks(&context, 33, 0, 0), GXIO_MPIPE_ERR_BAD_BUFFER_STACK);
  ASSERT_EQ(gxio_mpipe_alloc_buffer_stacks(&context, 32, 0, 0), 0);
  EXPECT_EQ(gxio_mpipe_alloc_buffer_stacks(&context, 1, 0, 0), GXIO_MPIPE_ERR_NO_BUFFER_STACK);
  ASSERT_EQ(gxio_mpipe_alloc_notif_rings(&context, 3, 0, 0), 0);
  EXPECT_EQ(gxio_mpipe_alloc_notif_rings(&context, 1, 0, 0), 8);  // allocated in runs of eight
  ASSERT_EQ(gxio_mpipe_alloc_edma_rings(&context, 24, 0, 0), 0);
  EXPECT_EQ(gxio_mpipe_alloc_edma_rings(&context, 1, 0, 0), GXIO_MPIPE_ERR_NO_EDMA_RING);
  // 4 buckets come from the small chunks
  EXPECT_EQ(gxio_mpipe_alloc_buckets(&context, 4, 0, 0), 4'096);
  EXPECT_EQ(gxio_mpipe_alloc_buckets(&context, 1'024, 0, 0), 0);
  EXPECT_EQ(gxio_mpipe_alloc_buckets(&context, 300, 4'000, GXIO_MPIPE_ALLOC_FIXED),
            GXIO_MPIPE_ERR_BAD_BUCKET);  // would span both kinds
  tmc_alloc_t alloc = TMC_ALLOC_INIT;
  auto* const memory = static_cast<std::byte*>(tmc_alloc_map(&alloc, 131'072));
  ASSERT_NE(memory, nullptr);
  gxio_mpipe_iqueue_t iqueue;
  EXPECT_EQ(gxio_mpipe_iqueue_init(&iqueue, &context, 0, memory, 100 * 64, 0),
            GXIO_ERR_INVAL_MEMORY_SIZE);
  EXPECT_EQ(gxio_mpipe_iqueue_init(&iqueue, &context, 0, memory + 64, 128 * 64, 0),
            GXIO_ERR_ALIGNMENT);
  EXPECT_EQ(gxio_mpipe_iqueue_init(&iqueue, &context, 5, memory, 128 * 64, 0),
            GXIO_MPIPE_ERR_BAD_NOTIF_RING);
  gxio_mpipe_equeue_t equeue;
  EXPECT_EQ(gxio_mpipe_equeue_init(&equeue, &context, 0, 4, memory, 512 * 16, 0),
            GXIO_MPIPE_ERR_BAD_CHANNEL);
  EXPECT_EQ(
      gxio_mpipe_init_buffer_stack(&context, 0, GXIO_MPIPE_BUFFER_SIZE_128, memory + 4'096, 640, 0),
      GXIO_ERR_ALIGNMENT);
  EXPECT_EQ(gxio_mpipe_register_page(&context, 0, memory, 65'536, 0),
            GXIO_MPIPE_ERR_BAD_BUFFER_STACK);
  gxio_mpipe_rules_t rules;
  gxio_mpipe_rules_init(&rules, &context);
  // No stack has been initialised, so there are no buffers for packets.
  EXPECT_EQ(gxio_mpipe_rules_begin(&rules, 0, 256, nullptr), GXIO_MPIPE_ERR_RULES_INVALID);
  ASSERT_EQ(gxio_mpipe_init_buffer_stack(&context, 0, GXIO_MPIPE_BUFFER_SIZE_128, memory, 640, 0),
            0);
  for (std::uint32_t i = 0; i < 16; ++i) {
    ASSERT_EQ(gxio_mpipe_register_page(&context, 0, memory, 65'536, 0), 0);
  }
  EXPECT_EQ(gxio_mpipe_register_page(&context, 0, memory, 65'536, 0), GXIO_ERR_IOTLB_ENTRY);
  EXPECT_EQ(gxio_mpipe_rules_begin(&rules, 0, 300, nullptr), GXIO_MPIPE_ERR_RULES_INVALID);
}

TEST(MpipeFaults, EachHappensAndIsCounted) {
  auto const with = [](Probability Errors::* which) {
    Errors errors;
    errors.*which = {Probability::certain};
    return errors;
  };
  EXPECT_EQ(Rig(small, with(&Errors::no_buffer)).arrive(tcp_frame({}, 1)), Arrived::no_buffer);
  EXPECT_EQ(Rig(small, with(&Errors::ring_full)).arrive(tcp_frame({}, 1)), Arrived::ring_full);
  for (Probability Errors::* which : {&Errors::truncated, &Errors::bad_sum}) {
    Rig rig(small, with(which));
    std::uint32_t cut_through = 0;
    for (std::uint32_t i = 0; i < 60; ++i) {
      cut_through += rig.arrive(tcp_frame({}, 10)) == Arrived::taken ? 1 : 0;
    }
    // Some are dropped in time; the descriptors of the others have the error.
    EXPECT_GT(cut_through, 10u);
    EXPECT_LT(cut_through, 50u);
    gxio_mpipe_idesc_t* idesc = nullptr;
    ASSERT_GT(gxio_mpipe_iqueue_try_peek(&rig.engine.iqueue(0), &idesc), 0);
    EXPECT_EQ(gxio_mpipe_idesc_has_error(idesc), 1u);
    EXPECT_EQ(idesc->ct, 1u);
  }
  Rig down(small);
  down.machine.set_link_up(false);
  EXPECT_EQ(down.arrive(tcp_frame({}, 1)), Arrived::lost);
  EXPECT_FALSE(down.engine.link_is_up());
}

TEST(MpipeFaults, AFlowThatIsMispredictedGoesToAnotherWorker) {
  Errors errors;
  errors.mispredicted = {500'000'000};
  Rig rig({.workers = {4}, .receive_ring = {128}, .transmit_buffers = {8}}, errors);
  for (std::uint32_t i = 0; i < 100; ++i) {
    ASSERT_EQ(rig.arrive(tcp_frame({}, 10)), Arrived::taken);
  }
  std::uint32_t rings = 0;
  for (std::uint32_t w = 0; w < 4; ++w) {
    rings += rig.machine.delivered(w) != 0 ? 1 : 0;
  }
  EXPECT_EQ(rings, 4u);
}

TEST(MpipeClassifier, SeesTagsFragmentsAndWrongSums) {
  Frame frame = tcp_frame({}, 20);
  Classified seen = classify(frame, {1});
  EXPECT_TRUE(seen.summed);
  EXPECT_EQ(seen.sum, 0xffff);
  EXPECT_EQ(seen.vlan, 0xffff);
  std::uint16_t const hash = seen.hash;
  EXPECT_EQ(classify(tcp_frame(Flow{}.back(), 7), {1}).hash, hash);  // the same for both directions
  EXPECT_NE(classify(tcp_frame({.source_port = 1'001}, 20), {1}).hash, hash);
  frame[60] ^= std::byte{1};
  EXPECT_NE(classify(frame, {1}).sum, 0xffff);
  frame[60] ^= std::byte{1};
  Frame tagged = frame;
  std::byte const tag[] = {std::byte{0x81}, std::byte{0}, std::byte{0}, std::byte{7}};
  tagged.insert(tagged.begin() + 12, std::begin(tag), std::end(tag));
  EXPECT_EQ(classify(tagged, {1}).vlan, 7);
  EXPECT_EQ(classify(tagged, {1}).l3_offset, 18);
  EXPECT_EQ(classify(tagged, {1}).hash, hash);
  frame[24] ^= std::byte{1};
  EXPECT_EQ(classify(frame, {1}).status, Classified::bad_header);
  frame[24] ^= std::byte{1};
  frame[20] = std::byte{0x20};  // more fragments follow, so only addresses are hashed
  EXPECT_FALSE(classify(frame, {1}).summed);
  EXPECT_NE(classify(frame, {1}).hash, hash);
  for (std::size_t length = 0; length < frame.size(); ++length) {
    EXPECT_FALSE(classify(std::span(frame).first(length), {1}).summed);
  }
}

}  // namespace
}  // namespace lockstep::hw::mpipe
