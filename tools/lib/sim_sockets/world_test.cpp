// Sockets on hosts of a simulated world: alone, beside its models, and deterministic.
#include "tools/lib/sim_sockets/world.h"

#include <fstream>

#include "sim/kernel/kernel.hpp"
#include "sim/kernel/snapshot.hpp"
#include "sim/worlds/build.hpp"
#include "tools/lib/sim_sockets/simulated.hpp"
#include "tools/lib/sockets/sockets_kit.hpp"

namespace lockstep::tools::testing {
namespace {

constexpr std::uint64_t millisecond = 1'000'000;

constexpr const char* two_hosts = R"(
name = "two"
[[host]]
name = "a"
address = "10.0.0.1/24"
config = { announcements = 0 }
[[host]]
name = "b"
address = "10.0.0.2/24"
config = { announcements = 0 }
clock_origin = "5s"
clock_skew_ppb = 100000
[[link]]
name = "ab"
from = "a"
to = "b"
rate = "10Mbit/s"
delay = "5ms"
)";

constexpr const char* busy = R"(
[[app]]
name = "upload"
model = "bulk"
from = "a"
to = "b"
bytes = "200KiB"
[[fault]]
name = "loss"
kind = "loss"
link = "ab"
probability = "2%"
)";

std::string file_of(const std::string& text) {
  std::string const path = ::testing::TempDir() + "sockets_world.toml";
  std::ofstream(path) << text;
  return path;
}

struct Opened {
  explicit Opened(const std::string& text, std::uint64_t seed = 1)
      : world(lockstep_world_open(file_of(text).c_str(), seed, why, sizeof why)) {}
  ~Opened() { lockstep_world_free(world); }

  char why[200] = {};
  lockstep_world* world;
};

int listening(lockstep_sockets* s) {
  sockaddr_in const name = name4(0, 80);
  int const fd = lockstep_socket(s, AF_INET, SOCK_STREAM, 0);
  EXPECT_EQ(lockstep_bind(s, fd, reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
  EXPECT_EQ(lockstep_listen(s, fd, 5), 0);
  return fd;
}

int calling(lockstep_sockets* s) {
  sockaddr_in const name = name4(2, 80);
  int const fd = lockstep_socket(s, AF_INET, SOCK_STREAM, 0);
  EXPECT_EQ(lockstep_connect(s, fd, reinterpret_cast<const sockaddr*>(&name), sizeof name), -1);
  EXPECT_EQ(errno, EINPROGRESS);
  return fd;
}

TEST(World, ARoundTripTakesTheLinksDelay) {
  Opened const it(two_hosts);
  ASSERT_NE(it.world, nullptr) << it.why;
  lockstep_sockets* const a = lockstep_world_host(it.world, "a");
  lockstep_sockets* const b = lockstep_world_host(it.world, "b");
  EXPECT_EQ(lockstep_world_host(it.world, "c"), nullptr);
  EXPECT_EQ(lockstep_world_host(it.world, "a"), a);
  int const listener = listening(b);
  lockstep_world_run(it.world, 3 * millisecond);  // nothing is due
  EXPECT_EQ(lockstep_world_now(it.world), 3 * millisecond);
  EXPECT_EQ(lockstep_now(a), 3 * millisecond);
  int const fd = calling(a);
  // An ARP exchange, then SYN and SYN-ACK, 5 ms each way plus transmission time.
  lockstep_world_run(it.world, 20 * millisecond);
  pollfd entry{fd, POLLOUT, 0};
  EXPECT_EQ(lockstep_poll(a, &entry, 1), 0);
  lockstep_world_run(it.world, 1 * millisecond);
  EXPECT_EQ(lockstep_poll(a, &entry, 1), 1);
  EXPECT_EQ(lockstep_send(a, fd, "hello", 5, 0), 5);
  lockstep_world_run(it.world, 10 * millisecond);
  int const accepted = lockstep_accept(b, listener, nullptr, nullptr);
  ASSERT_GE(accepted, 0);
  char text[16];
  EXPECT_EQ(lockstep_recv(b, accepted, text, sizeof text, 0), 5);
  // The other host's clock has its own origin and runs fast.
  EXPECT_GT(lockstep_now(b), 5'000'000'000u + 34 * millisecond);
}

std::uint64_t talk(std::uint64_t seed) {
  Opened const it(std::string(two_hosts) + busy, seed);
  EXPECT_NE(it.world, nullptr) << it.why;
  lockstep_sockets* const a = lockstep_world_host(it.world, "a");
  lockstep_sockets* const b = lockstep_world_host(it.world, "b");
  int const listener = listening(b);
  int const fd = calling(a);
  std::string const text(100'000, 'x');
  std::size_t sent = 0, received = 0;
  int accepted = -1;
  char into[8192];
  for (int i = 0; i < 60'000 && received < text.size(); ++i) {
    lockstep_world_run(it.world, millisecond);
    ssize_t const took = lockstep_send(a, fd, text.data() + sent, text.size() - sent, 0);
    sent += took > 0 ? static_cast<std::size_t>(took) : 0;
    accepted = accepted < 0 ? lockstep_accept(b, listener, nullptr, nullptr) : accepted;
    ssize_t const got = lockstep_recv(b, accepted, into, sizeof into, 0);
    received += got > 0 ? static_cast<std::size_t>(got) : 0;
  }
  EXPECT_EQ(received, text.size());
  EXPECT_EQ(lockstep_close(a, fd), 0);
  EXPECT_EQ(lockstep_close(b, accepted), 0);
  EXPECT_EQ(lockstep_close(b, listener), 0);
  lockstep_world_run(it.world, 5'000 * millisecond);
  return lockstep_world_fingerprint(it.world);
}

TEST(World, TheSameSeedGivesTheSameRunBesideAModelAndWithLoss) {
  std::uint64_t const first = talk(7);
  EXPECT_EQ(talk(7), first);
  EXPECT_NE(talk(8), first);
}

TEST(World, AFunctionIsCalledInTurnsAndWhenRequested) {
  Opened const it(two_hosts);
  ASSERT_NE(it.world, nullptr) << it.why;
  std::vector<std::uint64_t> at;
  lockstep_on_turn(
      lockstep_world_host(it.world, "a"),
      [](lockstep_sockets* s, void* user) {
        static_cast<std::vector<std::uint64_t>*>(user)->push_back(lockstep_now(s) / millisecond);
        lockstep_wake_at(s, lockstep_now(s) + 30 * millisecond);
      },
      &at);
  lockstep_world_run(it.world, 100 * millisecond);
  EXPECT_EQ(at, (std::vector<std::uint64_t>{0, 30, 60, 90, 100}));
}

TEST(World, WhatIsWrongWithTheFileIsOneLine) {
  Opened const it("name = \"x\"\n[[host]]\nname = \"a\"\nadress = \"10.0.0.1/24\"\n");
  EXPECT_EQ(it.world, nullptr);
  EXPECT_NE(std::string(it.why).find("sockets_world.toml:"), std::string::npos) << it.why;
  char why[8];
  EXPECT_EQ(lockstep_world_open("/nowhere.toml", 1, why, sizeof why), nullptr);
  EXPECT_EQ(std::string(why).size(), 7u);
  EXPECT_EQ(lockstep_world_open("/nowhere.toml", 1, nullptr, 0), nullptr);
}

TEST(WorldDeathTest, AWorldWithAProgramTakesNoSnapshot) {
  sim::Kernel kernel(sim::two_hosts({}), 1);
  SimulatedSockets::join(kernel, sim::HostIndex{0});
  EXPECT_DEATH(static_cast<void>(kernel.snapshot()), "");
}

TEST(World, AKernelRunsUntilTheProgramHasClosedEverything) {
  sim::Kernel kernel(sim::two_hosts({}), 1);
  auto& program = SimulatedSockets::join(kernel, sim::HostIndex{0});
  int const fd = lockstep_socket(program.sockets().c(), AF_INET, SOCK_STREAM, 0);
  EXPECT_FALSE(kernel.done());
  EXPECT_EQ(lockstep_close(program.sockets().c(), fd), 0);
  EXPECT_TRUE(kernel.done());
  EXPECT_EQ(kernel.run(), sim::Ending::completed);
}

}  // namespace
}  // namespace lockstep::tools::testing
