// The link's MTU changes while connections are open.
#include <string>

#include "core/stack/testing/sender_kit.hpp"

namespace lockstep::testing {
namespace {

Config whole_segments() {
  Config config = flow_config();
  config.tcp.timestamps = false;
  return config;
}

// The sizes of the segments that are sent now.
std::string sizes(Flow& flow) {
  std::string out;
  for (Out const& segment : flow.take()) {
    out += std::to_string(Flow::length_of(segment)) + " ";
  }
  return out;
}

//= rfc9293#3.7.1
//= type=test
//# 9293:MUST-16 segments are no larger than the link carries, now
TEST(LinkMtu, SegmentsFollowItAtOnce) {
  Flow flow(whole_segments(), {.mss = 1460});
  flow.write_octets(2920);
  EXPECT_EQ(sizes(flow), "1460 1460 ");
  flow.ack(2921);
  flow.stack.set_link_mtu(Bytes{1000});
  flow.write_octets(2880);
  EXPECT_EQ(sizes(flow), "960 960 960 ");
  flow.ack(5801);
  flow.stack.set_link_mtu(Bytes{1500});
  flow.write_octets(2920);
  EXPECT_EQ(sizes(flow), "1460 1460 ");
  // More than Config's is not used: the buffers of the driver have that size.
  flow.ack(8721);
  flow.stack.set_link_mtu(Bytes{9000});
  flow.write_octets(2920);
  EXPECT_EQ(sizes(flow), "1460 1460 ");
}

// What was in flight is retransmitted in segments that fit.
TEST(LinkMtu, ARetransmissionFits) {
  Flow flow(whole_segments(), {.mss = 1460});
  flow.write_octets(1460);
  EXPECT_EQ(sizes(flow), "1460 ");
  flow.stack.set_link_mtu(Bytes{576});
  flow.advance(Duration::seconds(3));
  std::string const again = sizes(flow);
  EXPECT_EQ(again.substr(0, 4), "536 ") << again;
}

TEST(LinkMtu, NewConnectionsOfferASmallerMss) {
  Kit kit(kit_config());
  kit.stack.set_link_mtu(Bytes{1000});
  kit.listen();
  kit.deliver({.flags = flag::syn, .window = 65'535, .mss = 1460});
  auto const answer = kit.take();
  ASSERT_EQ(answer.size(), 1u);
  EXPECT_EQ(answer[0].options.mss, 960u);
}

}  // namespace
}  // namespace lockstep::testing
