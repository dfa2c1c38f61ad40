// Law 8 for sending: a train of segments equals segments that are decided on one by one.
#include <gtest/gtest.h>

#include <array>

#include "core/stack/statistics.hpp"
#include "core/stack/testing/network_kit.hpp"

namespace lockstep::testing {
namespace {

// What one run left behind at each step: both stacks' states, and all packets.
using Prints = std::vector<std::array<std::uint64_t, 3>>;

Config config_of(Random& draw) {
  constexpr std::array<Config (*)(), 3> profiles{profile_rfc, profile_linux, profile_freebsd};
  auto const which = draw.below(5);
  Config config = which < profiles.size() ? profiles[which]() : Config{};
  config.address_count = {1};
  config.mtu = {static_cast<std::uint32_t>(draw.below(3) == 0 ? 300 : 1500)};
  config.tcp.mss = config.mtu - Bytes{40};
  config.tcp.quantum_segments = {static_cast<std::uint32_t>(1 + draw.below(9))};
  config.tcp.pacing = draw.below(6) == 0;
  config.tcp.ecn = draw.below(2) == 0 ? tcp::EcnPolicy::on : tcp::EcnPolicy::accept;
  config.tcp.timestamps = draw.below(3) == 0;
  config.tcp.hystart = draw.below(2) == 0;
  config.tcp.rate_samples = draw.below(2) == 0;
  config.tcp.accounts = draw.below(6) == 0;
  return config;
}

// Three connections from host 0 to host 1. Each side writes amounts and records of any size, reads
// now and then, and host 0 closes one connection.
Prints run(std::uint64_t seed, bool each_alone) {
  Random draw(seed);
  Network network({.delay = Duration::milliseconds(1 + draw.below(20)),
                   .loss = {static_cast<std::uint32_t>(draw.below(3) * 5'000'000)},
                   .mark = {static_cast<std::uint32_t>(draw.below(3) * 5'000'000)}},
                  seed);
  network.each_alone = each_alone;
  Config config = config_of(draw);
  for (std::uint8_t host = 0; host < 2; ++host) {
    config.addresses[0] = {IpAddress::v4(10, 0, 0, static_cast<std::uint8_t>(1 + host)), 24};
    network.add(config);
  }
  std::array<std::vector<ConnectionId>, 2> open;
  std::vector<std::byte> text(60'000);
  for (std::size_t i = 0; i < text.size(); ++i) {
    text[i] = static_cast<std::byte>(i * 7 + i / 256);
  }
  network.on_event = [&](std::size_t host, const Event& event) {
    if (event.kind == EventKind::accepted || event.kind == EventKind::connected) {
      open[host].push_back(event.id);
    }
    if (event.kind == EventKind::received && draw.below(3) != 0) {
      Stack& stack = network.stack(host);
      stack.consume(event.id, stack.unread(event.id));
    }
  };
  ListenerId listener;
  Local local;
  local.port = {80};
  EXPECT_EQ(network.stack(1).listen(local, Backlog{}, listener), Refusal::none);
  for (int i = 0; i < 3; ++i) {
    ConnectionId id;
    Open asked;
    asked.remote = {IpAddress::v4(10, 0, 0, 2), {80}};
    EXPECT_EQ(network.stack(0).connect(asked, id), Refusal::none);
  }
  std::size_t const full = config.tcp.mss.count - (config.tcp.timestamps ? 12 : 0);
  Prints prints;
  for (int step = 0; step < 24; ++step) {
    for (std::size_t host = 0; host < 2; ++host) {
      for (ConnectionId const id : open[host]) {
        Stack& stack = network.stack(host);
        auto amount = static_cast<std::size_t>(draw.below(draw.below(4) == 0 ? 60'000 : 9'000));
        // So that segments end where data was pushed.
        amount -= draw.below(2) == 0 ? amount % full : 0;
        auto const bytes = std::span<const std::byte>(text).first(amount);
        constexpr std::array<More, 4> mores{More::no, More::no, More::yes, More::record};
        stack.write(id, bytes, mores[draw.below(mores.size())]);
        if (draw.below(4) != 0) {
          stack.consume(id, stack.unread(id));
        }
        if (step == 20 && draw.below(3) == 0) {
          static_cast<void>(stack.finish(id));
        }
      }
    }
    network.run(Duration::milliseconds(1 + draw.below(60)));
    prints.push_back(
        {network.stack(0).fingerprint(), network.stack(1).fingerprint(), network.sent.value()});
  }
  EXPECT_GT(network.stack(0).statistics().tcp.bytes_sent, 20'000u);
  return prints;
}

TEST(Trains, EqualSegmentsThatAreDecidedOnOneByOne) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Prints const one_by_one = run(seed, true);
    Prints const trains = run(seed, false);
    ASSERT_EQ(one_by_one.size(), trains.size());
    for (std::size_t step = 0; step < trains.size(); ++step) {
      ASSERT_EQ(one_by_one[step], trains[step]) << "seed " << seed << ", step " << step;
    }
  }
}

}  // namespace
}  // namespace lockstep::testing
