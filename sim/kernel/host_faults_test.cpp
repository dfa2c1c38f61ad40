// Hosts that stall, poll slowly, run out of descriptors or transmit room, or have odd clocks.
#include <gtest/gtest.h>

#include "sim/kernel/kernel.hpp"
#include "sim/worlds/build.hpp"

namespace lockstep::sim {
namespace {

World small_world() {
  LaneSpec lane;
  lane.rate_bits_per_second = 10'000'000;
  lane.delay = Duration::milliseconds(1);
  World world = two_hosts(lane);
  world.apps = {app_of("bulk", 200'000)};
  return world;
}

// When the only connection of a run ended for its opener.
Instant completed(const World& world) {
  Kernel kernel(world, 1);
  EXPECT_EQ(kernel.run(), Ending::completed);
  FlowEnd const& end = kernel.ledger().flows()[0].end(Side::opener);
  EXPECT_EQ(end.cause, Cause::finished);
  EXPECT_EQ(kernel.ledger().flows()[0].end(Side::acceptor).read, 200'000u);
  return end.ended;
}

class TurnTimes final : public Observer {
 public:
  void turned(const Kernel& kernel, HostIndex host, Outcome) override {
    if (host.value == 1) {
      times.push_back(kernel.now());
    }
  }
  std::vector<Instant> times;
};

TEST(Stall, AHostTakesNoTurnsWhileActive) {
  World world = small_world();
  Active const nap{
      Instant{Duration::milliseconds(50).ns}, Instant{Duration::milliseconds(90).ns}, {}, {}};
  world.host_faults = {{"nap", {1}, nap, Stall{}}};
  TurnTimes seen;
  Kernel kernel(world, 1);
  kernel.observe(seen);
  ASSERT_EQ(kernel.run(), Ending::completed);
  bool before = false;
  bool at_the_end = false;
  for (Instant at : seen.times) {
    EXPECT_FALSE(nap.at(at)) << at.ns;
    before = before || at < nap.from;
    at_the_end = at_the_end || at == nap.until;
  }
  EXPECT_TRUE(before && at_the_end);
}

TEST(RingFull, NothingIsSentWhileActive) {
  World world = small_world();
  Active const full{
      Instant{Duration::milliseconds(40).ns}, Instant{Duration::milliseconds(80).ns}, {}, {}};
  world.host_faults = {{"full", {0}, full, RingFull{}}};
  class Sent final : public Observer {
   public:
    explicit Sent(const Active& active) : active_(active) {}
    void sent(const Kernel& kernel, const FrameNote& note) override {
      during += note.node.index == 0 && active_.at(kernel.now()) ? 1 : 0;
      at_end += note.node.index == 0 && kernel.now() == active_.until ? 1 : 0;
    }
    std::uint32_t during = 0;
    std::uint32_t at_end = 0;

   private:
    Active active_;
  } sent(full);
  Kernel kernel(world, 1);
  kernel.observe(sent);
  ASSERT_EQ(kernel.run(), Ending::completed);
  EXPECT_EQ(sent.during, 0u);
  EXPECT_GT(sent.at_end, 0u);
  EXPECT_GT(kernel.host({0}).state().blocked_turns, 0u);
}

TEST(TransmitRing, OfOneFrameStillTransfersAllData) {
  World world = small_world();
  world.hosts[0].transmit_ring = 1;
  world.hosts[1].transmit_ring = 1;
  Kernel kernel(world, 1);
  ASSERT_EQ(kernel.run(), Ending::completed);
  EXPECT_EQ(kernel.bus().lane({0}).counters().queue_packets_most, 1u);
  EXPECT_EQ(kernel.ledger().flows()[0].end(Side::acceptor).read, 200'000u);
}

TEST(ReceiveRing, DropsWhatDoesNotFitWithAReason) {
  World world = small_world();
  world.hosts[1].receive_ring = 2;
  world.hosts[1].poll = Duration::milliseconds(20);
  Kernel kernel(world, 1);
  ASSERT_EQ(kernel.run(), Ending::completed);
  auto const& drops = kernel.bus().lane({0}).counters().drops;
  EXPECT_GT(drops[static_cast<std::uint32_t>(LinkDrop::receive_ring_full)], 0u);
  EXPECT_TRUE(kernel.ledger().flows()[0].end(Side::acceptor).intact);
}

TEST(Poll, TurnsKeepTheMinimumInterval) {
  World world = small_world();
  world.hosts[1].poll = Duration::milliseconds(3);
  TurnTimes seen;
  Kernel kernel(world, 1);
  kernel.observe(seen);
  ASSERT_EQ(kernel.run(), Ending::completed);
  ASSERT_GT(seen.times.size(), 10u);
  for (std::size_t i = 1; i < seen.times.size(); ++i) {
    EXPECT_GE(seen.times[i].since(seen.times[i - 1]), Duration::milliseconds(3));
  }
}

TEST(Clock, OriginsAndSkewsDoNotMatterToTheData) {
  World world = small_world();
  Instant const plain = completed(world);
  world.hosts[0].clock.origin = Duration{Duration::ns_max - Duration::seconds(600).ns};
  EXPECT_EQ(completed(world), plain);
  world.hosts[1].clock.skew_ppb = 300'000;
  EXPECT_GT(completed(world).ns, 0u);
}

TEST(IpLink, CarriesBarePackets) {
  World world = small_world();
  for (HostSpec& host : world.hosts) {
    host.config.link = LinkType::ip;
  }
  EXPECT_GT(completed(world).ns, 0u);
}

}  // namespace
}  // namespace lockstep::sim
