// Attributes of netlink messages, whole and truncated.
#include "hw/netlink.hpp"

#include <gtest/gtest.h>

#include <array>

namespace lockstep::hw {
namespace {

TEST(Netlink, AttributesAreFoundAndTruncatedOnesAreNot) {
  std::vector<std::byte> body;
  std::array const three{std::byte{1}, std::byte{2}, std::byte{3}};
  put_attribute(body, 5, three);
  std::uint32_t const number = 77;
  put_attribute(body, 6, std::as_bytes(std::span(&number, 1)));
  ASSERT_EQ(body.size(), 16u);
  NetlinkAttributes const whole(body);
  EXPECT_EQ(whole.find(5)->size(), 3u);
  EXPECT_EQ(whole.number<std::uint32_t>(6), 77u);
  EXPECT_FALSE(whole.number<std::uint16_t>(6));
  EXPECT_FALSE(whole.find(7));
  for (std::size_t cut = 0; cut < body.size(); ++cut) {
    EXPECT_FALSE(NetlinkAttributes(std::span(body).first(cut)).find(6)) << cut;
  }
}

}  // namespace
}  // namespace lockstep::hw
