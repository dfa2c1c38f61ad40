// The classifier's rules: channel, destination address, VLAN, priority, room, and atomic
// replacement.
#include <gtest/gtest.h>

#include <memory>
#include <set>

#include "hw/mpipe/kit.hpp"
#include "hw/mpipe/model/rig.hpp"

namespace lockstep::hw::mpipe {
namespace {

using Octets6 = gxio_mpipe_rules_dmac_t;
constexpr Octets6 first_mac{{2, 0, 0, 0, 0, 1}};
constexpr Octets6 second_mac{{2, 0, 0, 0, 0, 2}};
constexpr Octets6 broadcast{{255, 255, 255, 255, 255, 255}};

Frame frame_to(const Octets6& mac, std::size_t payload_bytes = 10) {
  Frame frame = tcp_frame({}, payload_bytes);
  std::memcpy(frame.data(), mac.octets, 6);
  return frame;
}

// Inserts a tag of this VLAN after the addresses; the class of service is not part of it.
Frame tagged(Frame frame, std::uint16_t vlan, std::uint16_t type = 0x8100) {
  std::byte tag[4];
  wire::store16(tag, type);
  wire::store16(tag + 2, static_cast<std::uint16_t>(vlan | 0x6000));
  frame.insert(frame.begin() + 12, std::begin(tag), std::end(tag));
  return frame;
}

// Four rings, each with 256 buckets of its own, so that the ring identifies the rule that matched.
class MpipeRules : public testing::Test {
 protected:
  MpipeRules()
      : rig({.workers = {4}, .receive_ring = {128}, .transmit_buffers = {8}}),
        rules(std::make_unique<gxio_mpipe_rules_t>()) {
    int const groups = gxio_mpipe_alloc_notif_groups(&rig.engine.context(), 4, 0, 0);
    for (unsigned ring = 0; ring < 4; ++ring) {
      EXPECT_EQ(gxio_mpipe_init_notif_group_and_buckets(
                    &rig.engine.context(), static_cast<unsigned>(groups) + ring,
                    rig.engine.first_ring() + ring, 1, 256 * ring, 256,
                    GXIO_MPIPE_BUCKET_STATIC_FLOW_AFFINITY),
                0);
    }
    gxio_mpipe_rules_init(rules.get(), &rig.engine.context());
  }
  int begin(unsigned ring) { return gxio_mpipe_rules_begin(rules.get(), 256 * ring, 256, nullptr); }
  int commit() { return gxio_mpipe_rules_commit(rules.get()); }
  // The ring of a frame; 4: none.
  unsigned ring_of(const Frame& frame) {
    if (rig.arrive(frame) != Arrived::taken) {
      return 4;
    }
    return rig.machine.last_ring() - rig.engine.first_ring();
  }

  Rig rig;
  std::unique_ptr<gxio_mpipe_rules_t> rules;
};

TEST_F(MpipeRules, ARuleWithADestinationMatchesOnlyThatOne) {
  ASSERT_EQ(begin(1), 0);
  ASSERT_EQ(gxio_mpipe_rules_add_dmac(rules.get(), first_mac), 0);
  ASSERT_EQ(begin(2), 0);
  ASSERT_EQ(gxio_mpipe_rules_add_dmac(rules.get(), second_mac), 0);
  ASSERT_EQ(gxio_mpipe_rules_add_dmac(rules.get(), broadcast), 0);
  ASSERT_EQ(commit(), 0);
  EXPECT_EQ(ring_of(frame_to(first_mac)), 1u);
  EXPECT_EQ(ring_of(frame_to(second_mac)), 2u);
  EXPECT_EQ(ring_of(frame_to(broadcast)), 2u);
  EXPECT_EQ(ring_of(frame_to({{2, 0, 0, 0, 0, 3}})), 4u);
  EXPECT_EQ(rig.machine.stats().ingress_drops, 1u);
}

TEST_F(MpipeRules, ARuleWithAVlanMatchesItsTagOnly) {
  ASSERT_EQ(begin(1), 0);
  ASSERT_EQ(gxio_mpipe_rules_add_vlan(rules.get(), 7), 0);
  ASSERT_EQ(gxio_mpipe_rules_add_vlan(rules.get(), 8), 0);
  ASSERT_EQ(commit(), 0);
  EXPECT_EQ(ring_of(tagged(frame_to(first_mac), 7)), 1u);
  EXPECT_EQ(ring_of(tagged(frame_to(first_mac), 8, 0x88a8)), 1u);
  EXPECT_EQ(ring_of(tagged(frame_to(first_mac), 9)), 4u);
  EXPECT_EQ(ring_of(frame_to(first_mac)), 4u);
  // With two tags the outer one counts.
  EXPECT_EQ(ring_of(tagged(tagged(frame_to(first_mac), 9), 7, 0x88a8)), 1u);
  EXPECT_EQ(ring_of(tagged(tagged(frame_to(first_mac), 7), 9, 0x88a8)), 4u);
}

TEST_F(MpipeRules, AllConditionsOfARuleMustMatch) {
  ASSERT_EQ(begin(1), 0);
  ASSERT_EQ(gxio_mpipe_rules_add_channel(rules.get(), rig.engine.channel()), 0);
  ASSERT_EQ(gxio_mpipe_rules_add_dmac(rules.get(), first_mac), 0);
  ASSERT_EQ(gxio_mpipe_rules_add_vlan(rules.get(), 7), 0);
  ASSERT_EQ(begin(2), 0);
  ASSERT_EQ(gxio_mpipe_rules_add_channel(rules.get(), rig.engine.channel() + 1), 0);
  ASSERT_EQ(commit(), 0);
  EXPECT_EQ(ring_of(tagged(frame_to(first_mac), 7)), 1u);
  EXPECT_EQ(ring_of(tagged(frame_to(second_mac), 7)), 4u);
  EXPECT_EQ(ring_of(frame_to(first_mac)), 4u);
  EXPECT_EQ(gxio_mpipe_rules_add_channel(rules.get(), 32), GXIO_MPIPE_ERR_RULES_INVALID);
}

TEST_F(MpipeRules, TheLowestPriorityMatchesFirstThenTheFirstRule) {
  constexpr int priorities[] = {5, -1, 3, -1};
  for (unsigned ring = 0; ring < 4; ++ring) {
    ASSERT_EQ(begin(ring), 0);
    ASSERT_EQ(gxio_mpipe_rules_set_priority(rules.get(), priorities[ring]), 0);
    if (ring == 1) {
      ASSERT_EQ(gxio_mpipe_rules_add_dmac(rules.get(), second_mac), 0);
    }
  }
  ASSERT_EQ(begin(2), 0);
  ASSERT_EQ(gxio_mpipe_rules_set_priority(rules.get(), -1), 0);
  ASSERT_EQ(commit(), 0);
  EXPECT_EQ(ring_of(frame_to(second_mac)), 1u);
  EXPECT_EQ(ring_of(frame_to(first_mac)), 3u);
}

// Steering without a hash: each worker has an address of its own.
TEST_F(MpipeRules, AnAddressForEachWorkerSteersEveryFlowOfIt) {
  for (unsigned ring = 0; ring < 4; ++ring) {
    ASSERT_EQ(begin(ring), 0);
    ASSERT_EQ(
        gxio_mpipe_rules_add_dmac(rules.get(), {{2, 0, 0, 0, 1, static_cast<std::uint8_t>(ring)}}),
        0);
  }
  ASSERT_EQ(commit(), 0);
  for (std::uint16_t port = 0; port < 100; ++port) {
    Frame frame = tcp_frame({.source_port = port}, 1);
    unsigned const ring = port % 4u;
    std::byte const mac[] = {std::byte{2}, std::byte{0}, std::byte{0},
                             std::byte{0}, std::byte{1}, static_cast<std::byte>(ring)};
    std::memcpy(frame.data(), mac, 6);
    EXPECT_EQ(ring_of(frame), ring);
  }
}

TEST_F(MpipeRules, AFrameLargerThanItsCapacityIsDropped) {
  ASSERT_EQ(begin(1), 0);
  ASSERT_EQ(gxio_mpipe_rules_set_capacity(rules.get(), 200), 0);
  ASSERT_EQ(gxio_mpipe_rules_set_headroom(rules.get(), 20), 0);
  ASSERT_EQ(gxio_mpipe_rules_set_tailroom(rules.get(), 30), 0);
  ASSERT_EQ(commit(), 0);
  EXPECT_EQ(ring_of(frame_to(first_mac, 96)), 1u);  // with 54 octets of headers, 200 in all
  EXPECT_EQ(ring_of(frame_to(first_mac, 97)), 4u);
  gxio_mpipe_idesc_t* idesc = nullptr;
  ASSERT_EQ(gxio_mpipe_iqueue_try_peek(&rig.engine.iqueue(1), &idesc), 1);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(gxio_mpipe_idesc_get_va(idesc)) % 128, 20u);
}

TEST_F(MpipeRules, AListReplacesTheLastAndAnEmptyOneMatchesNothing) {
  ASSERT_EQ(begin(1), 0);
  ASSERT_EQ(commit(), 0);
  EXPECT_EQ(ring_of(frame_to(first_mac)), 1u);
  gxio_mpipe_rules_init(rules.get(), &rig.engine.context());
  ASSERT_EQ(begin(2), 0);
  EXPECT_EQ(ring_of(frame_to(first_mac)), 1u);  // only effective after the commit
  ASSERT_EQ(commit(), 0);
  EXPECT_EQ(ring_of(frame_to(first_mac)), 2u);
  gxio_mpipe_rules_init(rules.get(), &rig.engine.context());
  ASSERT_EQ(commit(), 0);
  EXPECT_EQ(ring_of(frame_to(first_mac)), 4u);
}

TEST_F(MpipeRules, LimitsHaveErrorCodesAndAnErrorPersistsUntilTheCommit) {
  EXPECT_EQ(gxio_mpipe_rules_add_dmac(rules.get(), first_mac), GXIO_MPIPE_ERR_RULES_EMPTY);
  EXPECT_EQ(commit(), GXIO_MPIPE_ERR_RULES_EMPTY);
  gxio_mpipe_rules_init(rules.get(), &rig.engine.context());
  for (unsigned i = 0; i < gxio_mpipe_model_rules_max; ++i) {
    ASSERT_EQ(begin(1), 0);
  }
  for (unsigned i = 0; i < gxio_mpipe_model_rule_items_max; ++i) {
    ASSERT_EQ(gxio_mpipe_rules_add_dmac(rules.get(), first_mac), 0);
    ASSERT_EQ(gxio_mpipe_rules_add_vlan(rules.get(), 7), 0);
  }
  EXPECT_EQ(commit(), 0);
  EXPECT_EQ(gxio_mpipe_rules_add_vlan(rules.get(), 7), GXIO_MPIPE_ERR_RULES_FULL);
  EXPECT_EQ(gxio_mpipe_rules_add_dmac(rules.get(), first_mac), GXIO_MPIPE_ERR_RULES_FULL);
  EXPECT_EQ(begin(1), GXIO_MPIPE_ERR_RULES_FULL);
  EXPECT_EQ(commit(), GXIO_MPIPE_ERR_RULES_FULL);
  EXPECT_EQ(ring_of(frame_to(first_mac)), 1u);  // the previous commit stays effective
  gxio_mpipe_rules_init(rules.get(), &rig.engine.context());
  ASSERT_EQ(gxio_mpipe_rules_begin(rules.get(), 2'048, 256, nullptr), 0);
  EXPECT_EQ(commit(), GXIO_MPIPE_ERR_BAD_BUCKET);  // buckets that were never initialised
}

}  // namespace
}  // namespace lockstep::hw::mpipe
