// The table of path MTUs: contents, aging, eviction.
#include "core/internet/path_mtu.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace lockstep::internet {
namespace {

class World {
 public:
  World() {
    memory::Layout measure;
    static_cast<void>(PathMtus::lay_out(measure, config));
    memory_.resize(measure.bytes() / 64 + 1);
    memory::Layout layout(
        {reinterpret_cast<std::byte*>(memory_.data()), memory_.size() * sizeof(Line)});
    paths = PathMtus::lay_out(layout, config);
    paths.start();
  }
  PathMtuConfig config{Count{4}, Duration::seconds(600), {}};
  PathMtus paths;
  Instant now{5'000'000'000};

 private:
  struct alignas(64) Line {
    std::array<std::byte, 64> octets;
  };
  std::vector<Line> memory_;
};

constexpr IpAddress far(std::uint8_t host) { return IpAddress::v4(192, 0, 2, host); }

//= rfc1191#6.3
//= type=test
//# 1191:PMTU-9 it expires ten minutes after the last decrease
//= rfc1191#3
//= type=test
//# 1191:PMTU-4 and not before, so no larger size is tried
//= rfc8201#4
//= type=test
//# 8201:PMTU-5 the same for IPv6
TEST(PathMtu, EntriesExpire) {
  World world;
  EXPECT_FALSE(world.paths.any());
  world.paths.lower(far(1), 1400, world.now);
  world.paths.lower(far(1), 1450, world.now + Duration::seconds(300));
  EXPECT_EQ(world.paths.find(far(1), world.now + Duration::seconds(599)), 1400);
  EXPECT_EQ(world.paths.find(far(2), world.now), 0);
  EXPECT_EQ(world.paths.find(far(1), world.now + Duration::seconds(600)), 0);
  EXPECT_FALSE(world.paths.any());
}

TEST(PathMtu, TheTableIsBounded) {
  World world;
  for (std::uint8_t host = 1; host <= 5; ++host) {
    world.now = world.now + Duration::seconds(1);
    world.paths.lower(far(host), 1000, world.now);
  }
  EXPECT_EQ(world.paths.find(far(1), world.now), 0);
  EXPECT_EQ(world.paths.find(far(5), world.now), 1000);
}

// A host with a whole network of addresses fills the table, but evicts at most one entry of others
// per bucket.
TEST(PathMtu, ANetworkEvictsItsOwnEntries) {
  World world;
  auto const of_flood = [](std::uint64_t host) { return IpAddress{0x2001'0db8'0000'0001, host}; };
  IpAddress const honest{0x2001'0db8'0000'0002, 1};
  for (std::uint64_t host = 1; host <= 3; ++host) {
    world.now = world.now + Duration::seconds(1);
    world.paths.lower(of_flood(host), 1280, world.now);
  }
  world.paths.lower(honest, 1480, world.now);
  for (std::uint64_t host = 4; host <= 100; ++host) {
    world.now = world.now + Duration::seconds(1);
    world.paths.lower(of_flood(host), 1280, world.now);
    ASSERT_EQ(world.paths.find(of_flood(host), world.now), 1280);
    ASSERT_EQ(world.paths.find(honest, world.now), 1480) << host;
  }
}

//= rfc4821#7.3
//= type=test
//# 4821:PLP-10 a gain below 16 octets is not worth a probe
TEST(PathMtu, ASearchEndsWhenLittleCanBeGained) {
  World world;
  ASSERT_TRUE(world.paths.stalled(far(1), world.now, {.low = 1024, .sent = 1500}));
  ASSERT_EQ(world.paths.find(far(1), world.now), 1024);
  EXPECT_EQ(world.paths.probe_size(far(1), world.now, 1040), 1040u);
  EXPECT_EQ(world.paths.probe_size(far(1), world.now, 1039), 0u);
}

//= rfc1191#5
//= type=test
//# 1191:PMTU-7 the largest plateau below the size
TEST(PathMtu, PlateausLeadDown) {
  EXPECT_EQ(plateau_below(Bytes{1500}), 1492);
  EXPECT_EQ(plateau_below(Bytes{1492}), 1006);
  EXPECT_EQ(plateau_below(Bytes{65'535}), 32'000);
  EXPECT_EQ(plateau_below(Bytes{100}), 68);
}

}  // namespace
}  // namespace lockstep::internet
