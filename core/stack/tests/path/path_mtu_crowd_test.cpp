// More destinations with a small path MTU than the table has entries.
#include <gtest/gtest.h>

#include <map>

#include "core/stack/statistics.hpp"
#include "core/stack/testing/network_kit.hpp"

namespace lockstep::testing {
namespace {

// A server, and clients behind a link of 1,400 octets whose router reports it.
class Tunnels {
 public:
  Tunnels(bool v4, std::uint32_t clients, Count entries) : v4_(v4), net({.mtu = 1400}) {
    Config config;
    config.addresses[0] = {address(0), static_cast<std::uint8_t>(v4 ? 16 : 64)};
    config.address_count = Count{1};
    config.paths_max = entries;
    net.add(config);
    config.tcp.connections_max = config.tcp.active_max = config.tcp.syn_cache_max = Count{8};
    config.tcp.time_wait_max = Count{8};
    config.tcp.blocks_max = Count{512};
    for (std::uint32_t i = 1; i <= clients; ++i) {
      config.addresses[0].address = address(i);
      net.add(config);
    }
    net.on_event = [this](std::size_t host, const Event& event) { work(host, event); };
    ListenerId listener;
    Local local;
    local.port = {80};
    EXPECT_EQ(net.stack(0).listen(local, {.pending = Count{1000}}, listener), Refusal::none);
    for (std::uint32_t i = 1; i <= clients; ++i) {
      Open open;
      open.remote = {address(0), {80}};
      ConnectionId id;
      EXPECT_EQ(net.stack(i).connect(open, id), Refusal::none);
    }
  }
  // The server sends so many octets more to each client, or to the first `count`.
  void load(std::size_t octets, std::size_t count = 1000) {
    std::size_t n = 0;
    for (auto& [slot, state] : served) {
      if (n++ < count) {
        state.wanted += octets;
        write(state);
      }
    }
    net.run(net.now + Duration::seconds(60), [this] { return complete(); });
  }
  std::uint64_t timeouts() { return net.stack(0).statistics().tcp.timeouts; }
  bool complete() const {
    std::size_t sum = 0;
    for (auto const& [slot, state] : served) {
      sum += state.wanted;
    }
    return sum == received_;
  }

 private:
  struct Served {
    ConnectionId id;
    std::size_t wanted = 0;
    std::size_t written = 0;
  };
  IpAddress address(std::uint32_t host) const {
    return v4_ ? IpAddress::v4(10, 0, static_cast<std::uint8_t>(host / 250),
                               static_cast<std::uint8_t>(host % 250 + 1))
               : IpAddress{0x2001'0db8'0000'0000, host + 1};
  }
  void write(Served& to) {
    static std::vector<std::byte> const octets(1 << 20);
    if (to.wanted > to.written) {
      auto const more = std::span(octets).first(to.wanted - to.written);
      to.written += net.stack(0).write(to.id, more, More::no).bytes.count;
    }
  }
  void work(std::size_t host, const Event& event) {
    Stack& stack = net.stack(host);
    if (host == 0) {
      served[event.id.slot].id = event.id;
      write(served[event.id.slot]);
      return;
    }
    for (auto part = stack.readable(event.id); !part.empty(); part = stack.readable(event.id)) {
      received_ += part.size();
      stack.consume(event.id, Bytes{static_cast<std::uint32_t>(part.size())});
    }
  }
  bool v4_;
  std::size_t received_ = 0;

 public:
  Network net;
  std::map<std::uint32_t, Served> served;
};

class PathMtuCrowd : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Families, PathMtuCrowd, ::testing::Bool());

// Before: each entry evicted another one, so large packets were sent, and lost, again and again.
TEST_P(PathMtuCrowd, EachConnectionKeepsItsLimit) {
  constexpr std::uint32_t clients = 60;
  Tunnels tunnels(GetParam(), clients, Count{8});
  tunnels.net.run(Duration::seconds(1));
  ASSERT_EQ(tunnels.served.size(), clients);
  tunnels.load(100'000);
  EXPECT_TRUE(tunnels.complete());
  EXPECT_EQ(tunnels.timeouts(), 0u);
  // Only the packets of the first flights were too big.
  EXPECT_LE(tunnels.net.reported, 10u * clients);
}

//= rfc1191#3
//= type=test
//# 1191:PMTU-4 no increase within five minutes, even if the entry was evicted
//= rfc8201#4
//= type=test
//# 8201:PMTU-5 the same
TEST_P(PathMtuCrowd, TheLimitEndsAfterPathAge) {
  Tunnels tunnels(GetParam(), 2, Count{1});
  tunnels.net.run(Duration::seconds(1));
  tunnels.load(20'000);
  auto const before = tunnels.net.reported;
  EXPECT_GT(before, 0u);
  for (int i = 0; i < 4; ++i) {
    tunnels.net.run(Duration::seconds(149));
    tunnels.load(20'000);
    EXPECT_TRUE(tunnels.complete());
    EXPECT_EQ(tunnels.net.reported, before);
  }
  EXPECT_EQ(tunnels.timeouts(), 0u);
  tunnels.net.run(Duration::seconds(160));
  tunnels.load(20'000);
  EXPECT_GT(tunnels.net.reported, before);
  EXPECT_TRUE(tunnels.complete());
}

}  // namespace
}  // namespace lockstep::testing
