// Queries of the kernel's interfaces.
#include "hw/interface.hpp"

#include <gtest/gtest.h>

namespace lockstep::hw {
namespace {

TEST(Interface, TheKernelsAddressIsRefused) {
  // Every loopback interface that is up has this address.
  Trouble const trouble = refuse_kernel_address(IpAddress::v4(127, 0, 0, 1));
  if (trouble) {
    EXPECT_EQ(trouble.kind, TroubleKind::bad_input);
    EXPECT_NE(trouble.text.find(" lo,"), std::string::npos) << trouble.text;
  }
  EXPECT_FALSE(refuse_kernel_address(IpAddress::v4(203, 0, 113, 77)));
  // No interface has it, but the loopback network's local route covers it.
  if (auto const owner = kernel_owner(IpAddress::v4(127, 9, 9, 9))) {
    EXPECT_TRUE(owner->is_route);
    EXPECT_EQ(owner->first, IpAddress::v4(127, 0, 0, 0));
    EXPECT_EQ(owner->prefix_bits, 8);
    EXPECT_EQ(owner->interface, "lo");
    EXPECT_NE(refuse_kernel_address(IpAddress::v4(127, 9, 9, 9)).text.find("127.0.0.0/8 on lo"),
              std::string::npos);
  }
}

TEST(Interface, AMissingInterfaceIsNamed) {
  InterfaceFacts facts;
  Trouble const none = look_at("no-such-if0", facts);
  EXPECT_EQ(none.kind, TroubleKind::bad_input);
  EXPECT_EQ(none.text, "there is no interface no-such-if0: `ip link` lists those that are");
  for (std::string const name : {"", "1234567890123456", "a b", "a/b", ".."}) {
    EXPECT_NE(look_at(name, facts).text.find("1 to 15"), std::string::npos) << name;
  }
}

TEST(Interface, LoopbackIsKnown) {
  InterfaceFacts facts;
  Trouble const trouble = look_at("lo", facts);
  ASSERT_FALSE(trouble) << trouble.text;
  EXPECT_FALSE(facts.ethernet);
  EXPECT_GT(facts.index, 0);
  EXPECT_GT(facts.mtu.count, 1500u);
  EXPECT_EQ(facts.mac, Mac{});
}

}  // namespace
}  // namespace lockstep::hw
