// Stack::reconfigure(): other settings for connections that are open.
#include <string>

#include "core/stack/testing/sender_kit.hpp"

namespace lockstep::testing {
namespace {

Config usual_config() { return test_keys(bare_config()); }

std::vector<std::byte> echo_request(std::size_t octets) {
  std::vector<std::byte> packet(28 + octets);
  std::vector<std::byte> const body(octets, std::byte{7});
  wire::IcmpMessage message;
  message.type = wire::IcmpType::echo_request;
  message.body = body;
  Bytes const length = wire::write(message, std::span(packet).subspan(20));
  wire::Ipv4Header ip;
  ip.source = IpAddress::v4(10, 0, 0, 2);
  ip.destination = IpAddress::v4(10, 0, 0, 1);
  ip.protocol = wire::IpProtocol::icmp;
  ip.time_to_live = 64;
  static_cast<void>(wire::write(ip, length, packet));
  return packet;
}

TEST(Reconfigure, AReplyOfTheFormerMtuLeaves) {
  Kit kit(usual_config());
  std::vector<std::byte> const packet = echo_request(1400);
  Ingress const in{packet, Checksum::unknown, kit.now};
  kit.stack.receive(kit.now, {&in, 1});
  kit.stack.settle();
  Config config = kit.stack.config();
  set_mtu(config, Bytes{1280});
  kit.stack.reconfigure(config);
  std::vector<std::byte> room(2000);
  EXPECT_EQ(kit.stack.transmit(kit.now, room).length, 1428u);
  EXPECT_EQ(kit.stack.link_mtu(), Bytes{1280});
}

// RFC 7323 5.3, R1: the peer drops what is older.
TEST(Reconfigure, TimestampsDoNotGoBack) {
  Flow flow(usual_config(), bare_peer());
  flow.window = 65'535;
  flow.write_octets(10);
  std::uint32_t const before = flow.take().at(0).options.timestamp_value;
  flow.ack(11);
  Config config = flow.stack.config();
  config.tcp.timestamp_tick = Duration::milliseconds(10);
  flow.stack.reconfigure(config);
  flow.write_octets(10);
  EXPECT_EQ(flow.take().at(0).options.timestamp_value, before);
}

//= rfc7323#2.3
//= type=test
//# 7323:TS-35 the shift is the one that our SYN told
TEST(Reconfigure, TheWindowScaleIsThatOfTheSyn) {
  for (bool const cached : {false, true}) {
    Config begun = usual_config();
    begun.tcp.syn_cache_after = Count{cached ? 0u : 100u};
    Kit kit(begun);
    kit.listen();
    wire::Options options;
    options.has_window_scale = true;
    options.window_scale = {7};
    kit.deliver({.flags = flag::syn, .mss = 1460, .options = options});
    std::uint8_t const told = kit.take().at(0).options.window_scale.shift;
    ASSERT_NE(told, 0);
    Config config = kit.stack.config();
    config.tcp.receive_buffer = config.tcp.receive_buffer_max = Bytes{65'535};
    kit.stack.reconfigure(config);
    kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1});
    EXPECT_EQ(kit.info().options.receive_scale.shift, told) << cached;
  }
}

TEST(Reconfigure, MarksOfSegmentsInFlightAreReturned) {
  Config begun = usual_config();
  begun.tcp.marks_max = Count{32};
  Flow flow(begun, bare_peer());
  Config config = flow.stack.config();
  for (int i = 0; i != 8; ++i) {
    config.tcp.hystart = true;
    flow.stack.reconfigure(config);
    std::uint32_t const at = flow.written;
    flow.write_octets(14'000);
    flow.take();
    config.tcp.hystart = false;
    flow.stack.reconfigure(config);
    flow.advance(Duration::milliseconds(50));
    flow.ack(at + 14'001);
    flow.advance(Duration::milliseconds(500));
  }
  // ... as check_invariants(), called by each turn, finds, too.
  config.tcp.hystart = true;
  flow.stack.reconfigure(config);
  std::uint32_t const at = flow.written;
  flow.write_octets(14'000);
  flow.take();
  flow.advance(Duration::milliseconds(50));
  flow.ack(at + 1449);
  EXPECT_TRUE(flow.info().rate.valid);
}

}  // namespace
}  // namespace lockstep::testing
