// Conversion between window fields and byte counts.
#include "core/units/window.hpp"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

//= rfc9293#3.1
//= type=test
//# 9293:MUST-1 a field with its highest bit set is a large window, not a negative one
//# 9293:REC-1 a scaled window is stored in 32 bits
//# 9293:P-WIN-FIELD the field counts octets, in units of the scale
TEST(Window, TheFieldIsUnsignedAndScaled) {
  EXPECT_EQ(window_from_wire(WireWindow{0xffff}, WindowScale{0}).count, 65'535u);
  EXPECT_EQ(window_from_wire(WireWindow{0x8000}, WindowScale{0}).count, 32'768u);
  EXPECT_EQ(window_from_wire(WireWindow{0xffff}, WindowScale{14}).count, 0xffffu << 14);
  EXPECT_EQ(window_from_wire(WireWindow{0}, WindowScale{14}).count, 0u);
}

TEST(Window, TheFieldNeverExceedsTheWindow) {
  EXPECT_EQ(window_to_wire(Bytes{65'535}, WindowScale{0}).value, 65'535u);
  EXPECT_EQ(window_to_wire(Bytes{65'536}, WindowScale{0}).value, 65'535u);
  EXPECT_EQ(window_to_wire(Bytes{0xffff'ffff}, WindowScale{14}).value, 65'535u);
  EXPECT_EQ(window_to_wire(Bytes{127}, WindowScale{7}).value, 0u);
  EXPECT_EQ(window_to_wire(Bytes{128}, WindowScale{7}).value, 1u);
  for (std::uint8_t shift = 0; shift <= 14; ++shift) {
    for (std::uint32_t count : {0u, 1u, 1459u, 65'535u, 65'536u, 1u << 20, 0x3fff'ffffu}) {
      WindowScale const scale{shift};
      Bytes const offered = window_from_wire(window_to_wire(Bytes{count}, scale), scale);
      EXPECT_LE(offered.count, count);
      bool const fits = (count >> shift) <= 0xffff;
      EXPECT_EQ(fits, count - offered.count < (1u << shift));
    }
  }
}

}  // namespace
}  // namespace lockstep
