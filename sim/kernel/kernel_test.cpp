// Whole runs: data through loss, the same fingerprint twice, and from a snapshot.
#include "sim/kernel/kernel.hpp"

#include <gtest/gtest.h>

#include "sim/kernel/snapshot.hpp"
#include "sim/worlds/build.hpp"

namespace lockstep::sim {
namespace {

constexpr std::uint64_t megabyte = 1'048'576;

LaneSpec hundred_megabits() {
  LaneSpec lane;
  lane.rate_bits_per_second = 100'000'000;
  lane.delay = Duration::milliseconds(5);
  return lane;
}

World lossy_world() {
  World world = two_hosts(hundred_megabits());
  world.apps = {app_of("bulk", megabyte)};
  world.lane_faults = {fault_of_link("lossy", Loss{{20'000'000}})};
  return world;
}

void expect_whole(const Kernel& kernel, std::uint64_t bytes) {
  ASSERT_EQ(kernel.ledger().flows().size(), 1u);
  Flow const& flow = kernel.ledger().flows().front();
  FlowEnd const& reader = flow.end(Side::acceptor);
  EXPECT_EQ(reader.read, bytes);
  EXPECT_TRUE(reader.intact);
  EXPECT_EQ(reader.cause, Cause::finished);
  EXPECT_EQ(flow.end(Side::opener).cause, Cause::finished);
}

TEST(Kernel, AMegabytePassesThroughLoss) {
  Kernel kernel(lossy_world(), 1);
  EXPECT_EQ(kernel.run(), Ending::completed);
  expect_whole(kernel, megabyte);
  Lane const& forward = kernel.bus().lane({0});
  EXPECT_GT(forward.counters().drops[static_cast<std::uint32_t>(LinkDrop::lost)], 0u);
  EXPECT_GT(kernel.ledger().flows()[0].end(Side::opener).last.retransmissions, 0u);
}

TEST(Kernel, TheSameSeedIsTheSameRun) {
  Kernel once(lossy_world(), 7);
  Kernel twice(lossy_world(), 7);
  Kernel another(lossy_world(), 8);
  once.run();
  twice.run();
  another.run();
  EXPECT_EQ(once.fingerprint(), twice.fingerprint());
  EXPECT_EQ(once.steps(), twice.steps());
  EXPECT_NE(once.fingerprint(), another.fingerprint());
}

TEST(Kernel, ARunFromASnapshotEndsTheSame) {
  Kernel whole(lossy_world(), 3);
  ASSERT_EQ(whole.run(), Ending::completed);
  Kernel cut(lossy_world(), 3);
  for (std::uint64_t i = 0; i < whole.steps() / 2; ++i) {
    ASSERT_TRUE(cut.step());
  }
  auto const kept = cut.snapshot();
  ASSERT_EQ(cut.run(), Ending::completed);
  EXPECT_EQ(cut.fingerprint(), whole.fingerprint());
  // Restores the middle of the run in the same kernel, and in one that did not run to it.
  cut.restore(*kept);
  EXPECT_NE(cut.fingerprint(), whole.fingerprint());
  ASSERT_EQ(cut.run(), Ending::completed);
  EXPECT_EQ(cut.fingerprint(), whole.fingerprint());
  Kernel fresh(lossy_world(), 3);
  fresh.restore(*kept);
  ASSERT_EQ(fresh.run(), Ending::completed);
  EXPECT_EQ(fresh.fingerprint(), whole.fingerprint());
  expect_whole(fresh, megabyte);
}

TEST(Kernel, NoFrameIsLostByTheBus) {
  Kernel kernel(lossy_world(), 5);
  while (!kernel.done()) {
    ASSERT_TRUE(kernel.step());
    if (kernel.steps() % 64 == 0) {
      ASSERT_EQ(kernel.frames_accounted(), kernel.bus().frames().in_use());
    }
  }
  for (std::uint32_t i = 0; i < kernel.bus().lane_count(); ++i) {
    LaneCounters const& lane = kernel.bus().lane({i}).counters();
    std::uint64_t dropped = 0;
    for (std::uint64_t each : lane.drops) {
      dropped += each;
    }
    EXPECT_LE(lane.frames_delivered + dropped, lane.frames_offered + lane.duplicated);
  }
}

// A model that only records events and owns no connection.
class Bystander final : public Model {
 public:
  void on_event(Desk&, const Event& event) override { kinds.push_back(event.kind); }
  void run(Desk&) override {}
  void turned(Desk&, bool) override {}
  Instant deadline() const override { return Instant::never(); }
  bool done() const override { return true; }
  std::unique_ptr<Model> clone() const override { return std::make_unique<Bystander>(*this); }

  std::vector<EventKind> kinds;
};

TEST(Kernel, ACallBetweenTwoStepsTakesEffectAfterWake) {
  Kernel kernel(two_hosts(hundred_megabits()), 1);
  Instant const later = Instant{0} + Duration::seconds(3);
  kernel.advance_to(later);
  EXPECT_EQ(kernel.now(), later);
  Host& client = kernel.host({0});
  client.models().push_back(std::make_unique<Bystander>());
  client.set_otherwise({0});
  Open open;
  open.remote = {kernel.host({1}).spec().config.addresses[0].address, Port{9}};
  ConnectionId id;
  ASSERT_EQ(client.stack().connect(open, id), Refusal::none);
  EXPECT_TRUE(kernel.next_at().is_never());
  kernel.wake({NodeKind::host, 0});
  EXPECT_EQ(kernel.next_at(), later);
  kernel.advance_to(later + Duration::seconds(1));
  // The port has no listener and no model owns the connection.
  EXPECT_EQ(static_cast<Bystander&>(*client.models()[0]).kinds, std::vector{EventKind::closed});
}

}  // namespace
}  // namespace lockstep::sim
