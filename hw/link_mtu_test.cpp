// The MTU of an interface, from the kernel.
#include "hw/link_mtu.hpp"

#include <gtest/gtest.h>

namespace lockstep::hw {
namespace {

TEST(LinkMtu, IsTheKernels) {
  // The loopback's MTU is 65,536 unless somebody changed it; more than 65,535 counts as that.
  LinkMtu mtu("lo", Bytes{1500});
  EXPECT_GT(mtu.look(Instant{} + Duration::seconds(1)).count, 1500u);
}

TEST(LinkMtu, StaysWithoutAnInterface) {
  LinkMtu none("", Bytes{1400});
  EXPECT_EQ(none.look(Instant{} + Duration::seconds(1)).count, 1400u);
  LinkMtu gone("no-such-if", Bytes{1300});
  EXPECT_EQ(gone.look(Instant{} + Duration::seconds(1)).count, 1300u);
}

}  // namespace
}  // namespace lockstep::hw
