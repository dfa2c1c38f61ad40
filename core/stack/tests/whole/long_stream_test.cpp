// A connection that has sent more than the sequence space behaves like any other.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/stack/testing/flow_kit.hpp"

namespace lockstep::testing {
namespace {

// Sends `count` octets in segments of almost 64 KiB, each acknowledged before the next is written.
void send_acknowledged(Flow& flow, std::uint64_t count) {
  while (count != 0) {
    auto const length = static_cast<std::uint32_t>(std::min<std::uint64_t>(count, 65'000));
    ASSERT_EQ(flow.stack.lend(flow.id, {RegionId{0}, 0, length}).bytes.count, length);
    flow.turn();
    ASSERT_EQ(flow.take().size(), 1u);
    flow.ack(flow.acked + length);
    count -= length;
  }
}

// After 4 GiB SND.UNA equals the ISS again: there is no SYN to be acknowledged or sent.
//= rfc9293#3.4
//= type=test
//# 9293:P-SEQ-MOD sequence arithmetic is modulo 2^32, so a stream can be arbitrarily long
TEST(LongStream, MeetsItsIssAgain) {
  Config config = flow_config();
  set_mtu(config, Bytes{65'535});
  Flow flow(config, {.mss = 65'495});
  std::string const content(65'000, 'x');
  flow.stack.bind(RegionId{0}, Kit::bytes_of(content));
  ASSERT_NO_FATAL_FAILURE(send_acknowledged(flow, 0xffff'ffff));
  ASSERT_EQ(flow.info().send.una, flow.info().send.iss);
  flow.advance(Duration::seconds(10));
  EXPECT_EQ(flow.sent(), "");
  flow.write("abc");
  EXPECT_EQ(flow.sent(), "PA 0(3) ack 1");
  flow.time_out();
  EXPECT_EQ(flow.sent(), "PA 0(3) ack 1");
  flow.ack(3);
  EXPECT_EQ(flow.info().send.una, flow.info().send.nxt);
  EXPECT_EQ(flow.stack.finish(flow.id), Refusal::none);
  flow.turn();
  EXPECT_EQ(flow.sent(), "FA 3(0) ack 1");
}

}  // namespace
}  // namespace lockstep::testing
