// The counters of a client are consistent at every moment.
#include "tools/lib/load/client.hpp"
#include "core/stack/testing/test_keys.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace lockstep::load {
namespace {

struct Line {
  alignas(64) std::array<std::byte, 64> bytes;
};

TEST(Client, AConnectingUserIsNotYetActive) {
  Config config;
  config.link = LinkType::ip;
  config.addresses[0] = {IpAddress::v4(10, 0, 0, 1), 24};
  config.address_count = Count{1};
  std::vector<Line> memory(Stack::arena_bytes(config) / sizeof(Line) + 1);
  Stack stack(test_keys(config), std::as_writable_bytes(std::span(memory)));
  http::Site site;
  site.complete();
  LoadPlan plan;
  plan.protocol = Protocol::echo;
  plan.targets = {{{IpAddress::v4(10, 0, 0, 2), Port{7}}, "10.0.0.2"}};
  plan.connections = 3;
  Client client(plan, site, config.tcp.connections_max);
  client.start(stack);
  Instant now = Instant{} + Duration::seconds(1);
  stack.receive(now, {});
  stack.expire(now);
  client.run(stack, now);
  Gauges const calling = client.gauges();
  EXPECT_EQ(calling.connecting, 3u);
  EXPECT_EQ(calling.open, 0u);
  EXPECT_EQ(calling.active, 0u);
  // No server answers: the users give up, and each request is counted.
  now = now + plan.timeout;
  stack.settle();
  stack.receive(now, {});
  stack.expire(now);
  client.run(stack, now);
  EXPECT_EQ(client.gauges().connecting, 0u);
  EXPECT_EQ(client.gauges().active, 0u);
  EXPECT_EQ(client.counters().faults[static_cast<std::uint32_t>(Fault::no_connect)], 3u);
}

}  // namespace
}  // namespace lockstep::load
