// The counts of clients against a map, also where their places collide.
#include "tools/lib/http/clients.hpp"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "core/units/random.hpp"

namespace lockstep::http {
namespace {

TEST(Clients, CountLikeAMap) {
  constexpr std::uint32_t connections = 64;
  ClientCounts counts(connections);
  counts.set_key({1, 2});
  std::map<std::uint32_t, std::uint32_t> expected;
  std::vector<std::uint32_t> open;
  Random random(7);
  for (int i = 0; i < 20'000; ++i) {
    bool const opens = open.size() < connections && (open.empty() || random.next() % 2 == 0);
    if (opens) {
      auto const client = static_cast<std::uint32_t>(random.next() % 90);
      open.push_back(client);
      ASSERT_EQ(counts.add(IpAddress::from(Ipv4{client})), ++expected[client]);
    } else {
      std::size_t const at = random.next() % open.size();
      --expected[open[at]];
      counts.remove(IpAddress::from(Ipv4{open[at]}));
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }
}

TEST(Clients, AnIpv6NetworkIsOneClient) {
  ClientCounts counts(8);
  EXPECT_EQ(counts.add({5, 1}), 1u);
  EXPECT_EQ(counts.add({5, 2}), 2u);
  EXPECT_EQ(counts.add({6, 1}), 1u);
  counts.remove({5, 9});
  EXPECT_EQ(counts.add({5, 1}), 2u);
  EXPECT_EQ(counts.add(IpAddress::v4(10, 0, 0, 1)), 1u);
  EXPECT_EQ(counts.add(IpAddress::v4(10, 0, 0, 2)), 1u);
}

}  // namespace
}  // namespace lockstep::http
