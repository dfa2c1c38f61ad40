// RFC 9293 3.7.1: the MSS that we send, and the one that we obey.
#include <gtest/gtest.h>

#include "core/stack/testing/flow_kit.hpp"

namespace lockstep::testing {
namespace {

Config with_mtu(std::uint32_t mtu) {
  Config config = flow_config();
  set_mtu(config, Bytes{mtu});
  return config;
}

//= rfc9293#3.7.1
//= type=test
//# 9293:MUST-14, 9293:SHLD-5 our SYN and our SYN-ACK have an MSS option
//# 9293:P-MSS-VALUE, 9293:MUST-67 the MTU minus the fixed headers, whatever options there are
//= rfc9293#3.2
//= type=test
//# 9293:MUST-65 and no other segment has it
TEST(Mss, SentOnEverySyn) {
  for (std::uint32_t mtu : {576u, 1500u, 9000u}) {
    Kit active(with_mtu(mtu));
    active.connect();
    EXPECT_EQ(active.take().at(0).mss, mtu - 40);
    Kit passive(with_mtu(mtu));
    passive.listen();
    passive.deliver({.flags = flag::syn, .mss = 1460});
    EXPECT_EQ(passive.take().at(0).mss, mtu - 40);
    passive.deliver({.flags = flag::ack, .seq = 1, .ack = 1});
    passive.write("some data");
    passive.advance(Duration::seconds(10));
    for (Out const& out : passive.take()) {
      EXPECT_EQ(out.mss, 0);
    }
  }
}

// A SYN with only an MSS is written by separate code.
//= rfc9293#3.7.1
//= type=test
//# 9293:MUST-14 an MSS, whatever other options there are
TEST(Mss, SentAloneAndWithOtherOptions) {
  auto config_with = [](bool scale) {
    Config config = with_mtu(1500);
    config.tcp.sack = config.tcp.timestamps = config.tcp.fast_open_client = false;
    config.tcp.fast_open_server = config.tcp.user_timeout_option = false;
    config.tcp.window_scale = scale;
    return config;
  };
  for (bool scale : {false, true}) {
    Kit kit(config_with(scale));
    kit.connect();
    Out const syn = kit.take().at(0);
    EXPECT_EQ(syn.mss, 1460);
    EXPECT_EQ(syn.options.has_window_scale, scale);
  }
}

std::uint32_t longest_segment(const Config& config, std::uint16_t peer_mss) {
  Flow flow(config, {.mss = peer_mss});
  flow.write_octets(40'000);
  std::uint32_t longest = 0;
  for (Out const& out : flow.take()) {
    longest = std::max(longest, Flow::length_of(out));
  }
  return longest;
}

//= rfc9293#3.7.1
//= type=test
//# 9293:MUST-16 the smaller of the peer's MSS and what our link carries
//# 9293:P-MSS-OPTSHRINK without options on data segments all of it is data
TEST(Mss, SegmentsObeyIt) {
  EXPECT_EQ(longest_segment(with_mtu(1500), 1460), 1460u);
  EXPECT_EQ(longest_segment(with_mtu(1500), 9000), 1460u);
  EXPECT_EQ(longest_segment(with_mtu(1500), 700), 700u);
  EXPECT_EQ(longest_segment(with_mtu(576), 1460), 536u);
  EXPECT_EQ(longest_segment(with_mtu(9000), 8960), 8960u);
}

//= rfc9293#3.7.1
//= type=test
//# 9293:MUST-15 536 if the peer sends none
TEST(Mss, DefaultWithoutTheOption) {
  EXPECT_EQ(longest_segment(with_mtu(1500), 0), 536u);
  EXPECT_EQ(longest_segment(with_mtu(400), 0), 360u);
}

// Predecessor, defect 10: an MSS of 0 blocked the connection permanently, one of 1 made one-octet
// segments.
TEST(Mss, Defect10_TinyMssIsRaised) {
  for (std::uint16_t named : {std::uint16_t{1}, std::uint16_t{27}, std::uint16_t{28}}) {
    EXPECT_EQ(longest_segment(with_mtu(1500), named), 28u) << named;
  }
  Kit zero(with_mtu(1500));
  zero.listen();
  wire::Segment syn;
  syn.source = {Kit::peer_port};
  syn.destination = {Kit::device_port};
  syn.sequence = zero.peer_iss;
  syn.flags = flag::syn;
  syn.window = {65535};
  syn.options.has_mss = true;
  syn.options.mss = 0;
  zero.send_segment(syn, "");
  zero.turn();
  zero.deliver({.flags = flag::ack, .seq = 1, .ack = 1});
  zero.take();
  zero.write(octets(1, 100));
  auto const out = zero.take();
  ASSERT_FALSE(out.empty());
  EXPECT_EQ(out[0].data, octets(1, 28));
}

}  // namespace
}  // namespace lockstep::testing
