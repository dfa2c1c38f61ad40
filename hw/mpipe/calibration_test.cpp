// Measurements through loop0 for each hash of the classifier, and the steering chosen by each.
#include "hw/mpipe/calibration.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "hw/mpipe/model/rig.hpp"
#include "hw/mpipe/port.hpp"

namespace lockstep::hw {
namespace {

using mpipe::Errors;
using mpipe::Flow;
using mpipe::FlowHash;
using mpipe::Machine;
using mpipe::MachineShape;
using mpipe::NotedWire;
using mpipe::tcp_frame;
using Calibration = MpipeCalibration;

MpipeShape shape_of(std::uint32_t workers) {
  return {.workers = {workers}, .receive_ring = {128}, .transmit_buffers = {128}};
}

MachineShape machine_of(std::uint32_t workers, FlowHash hash, const Errors& errors = {}) {
  MachineShape shape;
  shape.memory_bytes =
      static_cast<std::uint32_t>(Mpipe::memory_bytes(shape_of(workers))) + (1u << 20);
  shape.random = Random(7);
  shape.errors = errors;
  shape.hash = hash;
  shape.workers = workers;
  return shape;
}

// A machine with nothing open, and the measurement on it.
struct Bench {
  Bench(std::uint32_t workers, FlowHash hash, const Errors& errors = {})
      : machine(machine_of(workers, hash, errors)), shape(shape_of(workers)) {
    machine.be_current();
    machine.attach(wire);
  }
  Calibration calibrated() {
    Calibration seen;
    MpipeTrouble const trouble = calibrate(shape, "loop0", seen);
    EXPECT_TRUE(trouble.none()) << trouble.step;
    EXPECT_EQ(seen.sent, 2 * Calibration::flows);
    EXPECT_EQ(machine.sins(), 0u);
    return seen;
  }

  Machine machine;
  NotedWire wire;
  MpipeShape shape;
};

// How many frames of 200 flows each worker receives, with the engine opened as `shape`.
std::vector<std::uint64_t> frames_of_workers(Bench& bench) {
  Mpipe engine;
  EXPECT_TRUE(engine.open(bench.shape).none());
  std::vector<std::uint64_t> frames;
  std::vector<std::unique_ptr<MpipePort>> ports;
  for (std::uint32_t w = 0; w < bench.shape.workers.value; ++w) {
    ports.push_back(std::make_unique<MpipePort>(engine, MpipePort::Worker{w}));
    frames.push_back(0);
  }
  for (std::uint16_t port = 1'000; port < 1'200; ++port) {
    Flow const flow{.source_port = port};
    bench.machine.arrive(tcp_frame(flow, 1), engine.channel());
    bench.machine.arrive(tcp_frame(flow.back(), 1), engine.channel());
    for (std::uint32_t w = 0; w < bench.shape.workers.value; ++w) {
      frames[w] += ports[w]->receive().size();
      ports[w]->reclaim();
    }
  }
  EXPECT_EQ(bench.machine.sins(), 0u);
  return frames;
}

TEST(MpipeCalibration, OurHashGivesDirectSteering) {
  for (std::uint32_t const workers : {2u, 4u, 36u}) {
    Bench bench(workers, FlowHash::ours);
    Calibration const seen = bench.calibrated();
    EXPECT_TRUE(seen.complete());
    EXPECT_EQ(seen.at_home, seen.returned);
    EXPECT_EQ(seen.as_told, seen.returned);
    EXPECT_EQ(seen.symmetric, Calibration::flows);
    EXPECT_GE(seen.workers, workers < 36 ? workers : 20u);
    EXPECT_EQ(steering_for(seen, SiblingQueues::none), MpipeSteering::direct);
    EXPECT_EQ(steering_for(seen, SiblingQueues::some), MpipeSteering::direct);
  }
}

TEST(MpipeCalibration, TheNicsHashIsSymmetricAndAdditiveButNotOurs) {
  Bench bench(4, FlowHash::nic);
  Calibration const seen = bench.calibrated();
  EXPECT_TRUE(seen.complete());
  EXPECT_LT(seen.at_home, seen.returned);
  EXPECT_EQ(seen.as_told, seen.returned);
  EXPECT_EQ(seen.symmetric, Calibration::flows);
  EXPECT_EQ(seen.additive, Calibration::squares);
  EXPECT_EQ(seen.workers, 4u);
  EXPECT_EQ(steering_for(seen, SiblingQueues::some), MpipeSteering::siblings);
  EXPECT_EQ(steering_for(seen, SiblingQueues::none), MpipeSteering::first_worker);
}

// The model's NIC of four workers: one case for each row of the README.
TEST(MpipeCalibration, MeasuresAreAsTheReadmeHasThem) {
  struct Row {
    FlowHash hash;
    std::uint32_t at_home, symmetric, additive, workers;
  };
  constexpr Row rows[] = {{FlowHash::ours, 128, 64, 13, 4},
                          {FlowHash::nic, 30, 64, 42, 4},
                          {FlowHash::one, 34, 64, 42, 1},
                          {FlowHash::lopsided, 32, 0, 42, 4}};
  for (Row const& row : rows) {
    Calibration const seen = Bench(4, row.hash).calibrated();
    EXPECT_EQ(seen.returned, 128u);
    EXPECT_EQ(seen.as_told, 128u);
    EXPECT_EQ(seen.at_home, row.at_home);
    EXPECT_EQ(seen.symmetric, row.symmetric);
    EXPECT_EQ(seen.additive, row.additive);
    EXPECT_EQ(seen.workers, row.workers);
  }
}

TEST(MpipeCalibration, OneWorkerForAllAndAsymmetricHashesAreDetected) {
  Calibration const one = Bench(4, FlowHash::one).calibrated();
  EXPECT_EQ(one.workers, 1u);
  EXPECT_EQ(one.symmetric, Calibration::flows);
  EXPECT_EQ(steering_for(one, SiblingQueues::some), MpipeSteering::siblings);
  Calibration const lopsided = Bench(4, FlowHash::lopsided).calibrated();
  EXPECT_TRUE(lopsided.complete());
  EXPECT_LT(lopsided.symmetric, Calibration::flows / 2);
  EXPECT_EQ(steering_for(lopsided, SiblingQueues::some), MpipeSteering::siblings);
}

TEST(MpipeCalibration, AHashThatTheNicDoesNotFollowIsNotTrusted) {
  Errors errors;
  errors.mispredicted = {100'000'000};
  Calibration const seen = Bench(4, FlowHash::ours, errors).calibrated();
  EXPECT_TRUE(seen.complete());
  EXPECT_LT(seen.at_home, seen.returned);
  EXPECT_LT(seen.as_told, seen.returned);
  EXPECT_EQ(steering_for(seen, SiblingQueues::none), MpipeSteering::first_worker);
}

TEST(MpipeCalibration, LostFramesDoNotCountAsAgreement) {
  Errors errors;
  errors.bad_sum = {50'000'000};
  Calibration const some = Bench(4, FlowHash::ours, errors).calibrated();
  EXPECT_GT(some.returned, 0u);
  EXPECT_FALSE(some.complete());
  EXPECT_EQ(steering_for(some, SiblingQueues::some), MpipeSteering::siblings);
  Bench down(4, FlowHash::ours);
  down.machine.set_link_up(false);
  Calibration const none = down.calibrated();
  EXPECT_EQ(none.returned, 0u);
  EXPECT_EQ(steering_for(none, SiblingQueues::none), MpipeSteering::first_worker);
}

TEST(MpipeCalibration, TheMeasurementIsRepeatableAndLeavesNothingBehind) {
  Bench bench(4, FlowHash::nic);
  Calibration const once = bench.calibrated();
  Calibration const twice = bench.calibrated();
  EXPECT_EQ(once.at_home, twice.at_home);
  EXPECT_EQ(bench.machine.buffers(), 0u);
  EXPECT_TRUE(bench.wire.frames.empty());
  Calibration seen;
  EXPECT_STREQ(calibrate(bench.shape, "loop9", seen).step, "finding the link");
  std::uint64_t all = 0;
  for (std::uint64_t const each : frames_of_workers(bench)) {
    EXPECT_GT(each, 0u);
    all += each;
  }
  EXPECT_EQ(all, 400u);
}

// Frames still in flight when the loopback was closed do not reach the next one opened.
TEST(MpipeCalibration, LateBuffersOfTheLoopbackAreForgotten) {
  Errors errors;
  errors.completion = Duration::microseconds(10);
  Bench bench(2, FlowHash::ours, errors);
  static_cast<void>(bench.calibrated());
  Mpipe engine;
  ASSERT_TRUE(engine.open(bench.shape).none());
  bench.machine.step({Instant{20'000}, Instant{20'000}});
  for (std::uint32_t worker = 0; worker < 2; ++worker) {
    EXPECT_EQ(gxio_mpipe_get_buffer_count(&engine.context(), engine.transmit_stack(worker)), 128);
  }
}

// Worker 0 gets every frame, whatever the classifier hashes.
TEST(MpipeCalibration, FirstOnlySendsAllFramesToTheFirstWorker) {
  for (FlowHash const hash : {FlowHash::ours, FlowHash::nic, FlowHash::one, FlowHash::lopsided}) {
    Bench bench(4, hash);
    bench.shape.first_only = true;
    std::vector<std::uint64_t> const frames = frames_of_workers(bench);
    EXPECT_EQ(frames, (std::vector<std::uint64_t>{400, 0, 0, 0}));
  }
}

}  // namespace
}  // namespace lockstep::hw
