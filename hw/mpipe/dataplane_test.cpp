// Cores, homes and the dataplane: the order of calls, and their effects on the model.
#include "hw/mpipe/dataplane.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <vector>

#include "hw/mpipe/model/rig.hpp"

namespace lockstep::hw {
namespace {

using mpipe::Rig;
using mpipe::Sin;

MpipeShape shape_of(std::uint32_t workers) {
  return {.workers = {workers}, .receive_ring = {128}, .transmit_buffers = {8}, .dataplane = true};
}

// The homes of the memory of a worker's rings and transmit buffers.
struct Homes {
  int receive = 0;
  int transmit = 0;
  int buffers = 0;
};
Homes homes_of(Rig& rig, std::uint32_t worker, MpipeLink link = {}) {
  mpipe::Memory const& memory = rig.machine.memory();
  auto const popped =
      gxio_mpipe_pop_buffer_bdesc(&rig.engine.context(), rig.engine.transmit_stack(worker, link));
  return {memory.home_of(rig.engine.iqueue(worker, link).idescs),
          memory.home_of(rig.engine.equeue(worker, link).edescs),
          memory.home_of(mpipe::buffer_of(popped))};
}

TEST(MpipeDataplane, RingsAreHomedOnTheirWorkersCoreAndSharedMemoryOnAll) {
  MpipeShape shape = shape_of(3);
  shape.links = {"xgbe0", "xgbe1"};
  Rig rig(shape);
  ASSERT_TRUE(rig.trouble.none()) << rig.trouble.step;
  for (std::uint32_t worker = 0; worker < 3; ++worker) {
    int const core = static_cast<int>(worker) + 1;  // core 0 belongs to the system
    EXPECT_EQ(rig.engine.core(worker), core);
    for (std::uint32_t link = 0; link < 2; ++link) {
      Homes const homes = homes_of(rig, worker, {link});
      EXPECT_EQ(homes.receive, core);
      EXPECT_EQ(homes.transmit, core);
      EXPECT_EQ(homes.buffers, TMC_ALLOC_HOME_HASH);
    }
  }
}

TEST(MpipeDataplane, ARingThatTwoWorkersShareIsHomedOnAll) {
  Rig rig(shape_of(35));
  ASSERT_TRUE(rig.trouble.none()) << rig.trouble.step;
  Homes const last = homes_of(rig, 34);
  EXPECT_EQ(last.receive, 35);
  EXPECT_EQ(last.transmit, TMC_ALLOC_HOME_HASH);
}

TEST(MpipeDataplane, WithoutTheDataplaneEverythingIsHomedOnAll) {
  Rig rig({.workers = {2}, .receive_ring = {128}, .transmit_buffers = {8}});
  EXPECT_EQ(rig.engine.core(1), Mpipe::any_core);
  Homes const homes = homes_of(rig, 1);
  EXPECT_EQ(homes.receive, TMC_ALLOC_HOME_HASH);
  EXPECT_EQ(homes.transmit, TMC_ALLOC_HOME_HASH);
}

TEST(MpipeDataplane, MoreWorkersThanCoresFailBeforeAnythingIsOpen) {
  Rig rig(shape_of(36));
  EXPECT_STREQ(rig.trouble.step, "finding a core of the dataplane for each worker");
  EXPECT_FALSE(rig.engine.is_open());
  EXPECT_FALSE(rig.machine.initialised);
}

TEST(MpipeDataplane, AWorkerIsBoundThenItsMemoryIsLockedThenTheTicksEnd) {
  Rig rig(shape_of(2));
  for (std::uint32_t worker = 0; worker < 2; ++worker) {
    rig.machine.thread = {};
    ASSERT_TRUE(settle_on_core(rig.engine, {worker}).none());
    EXPECT_EQ(rig.machine.thread.core, rig.engine.core(worker));
    EXPECT_TRUE(rig.machine.memory_locked);
    EXPECT_EQ(rig.machine.thread.flags, 0);
    ASSERT_TRUE(enter_dataplane().none());
    EXPECT_EQ(rig.machine.thread.flags, int{DP_QUIESCE});
  }
  EXPECT_EQ(rig.machine.sins(), 0u);
}

// A burst received, a batch sent and shutdown, without any system call.
TEST(MpipeDataplane, AWorkerTurnsDrainsAndLeavesWithoutMisuse) {
  Rig rig(shape_of(1));
  ASSERT_TRUE(settle_on_core(rig.engine, {0}).none());
  MpipePort port(rig.engine, {0});
  ASSERT_TRUE(enter_dataplane().none());
  for (std::uint16_t i = 0; i < 100; ++i) {
    rig.arrive(mpipe::tcp_frame({.source_port = i}, 100));
    EXPECT_EQ(port.receive().size(), 1u);
    port.reclaim();
    auto const room = port.claim();
    ASSERT_FALSE(room.empty());
    Egress egress;
    egress.length = 60;
    port.commit(egress);
  }
  ASSERT_TRUE(rig.engine.stop_receiving().none());
  EXPECT_TRUE(port.drained());
  ASSERT_TRUE(leave_dataplane().none());
  rig.engine.close();
  EXPECT_EQ(rig.machine.thread.flags, 0);
  EXPECT_EQ(rig.wire.frames.size(), 100u);
  EXPECT_EQ(rig.machine.sins(), 0u);
}

TEST(MpipeDataplane, OnlyAThreadBoundToItsCoreEntersTheDataplane) {
  Rig rig(shape_of(1));
  EXPECT_STREQ(enter_dataplane().step, "entering the dataplane");
  ASSERT_EQ(tmc_cpus_set_my_cpu(0), 0);
  EXPECT_STREQ(enter_dataplane().step, "entering the dataplane");
  EXPECT_LT(tmc_cpus_set_my_cpu(36), 0);
  EXPECT_EQ(rig.machine.thread.flags, 0);
}

TEST(MpipeSins, EnteringTheDataplaneWithUnlockedMemoryIsDetected) {
  Rig rig(shape_of(1));
  ASSERT_EQ(tmc_cpus_set_my_cpu(1), 0);
  ASSERT_TRUE(enter_dataplane().none());
  EXPECT_EQ(rig.machine.sins(Sin::not_locked), 1u);
}

TEST(MpipeSins, ASystemCallInTheDataplaneIsDetected) {
  Rig rig(shape_of(1));
  ASSERT_TRUE(settle_on_core(rig.engine, {0}).none());
  ASSERT_TRUE(enter_dataplane().none());
  EXPECT_EQ(rig.machine.sins(Sin::system_call), 0u);
  rig.engine.close();  // releases memory
  EXPECT_GT(rig.machine.sins(Sin::system_call), 0u);
}

}  // namespace
}  // namespace lockstep::hw
