// Exploration.
#include <gtest/gtest.h>

#include "core/seam/flow_kit.hpp"
#include "core/wire/arp.hpp"
#include "core/wire/ethernet.hpp"

namespace lockstep::testing {
namespace {

// Moves the ISS of the only connection as if 2^32 - ahead octets had been sent since.
void age(Flow& flow, std::uint32_t ahead) {
  auto const info = flow.info();
  std::vector<std::byte> bytes(flow.stack.snapshot_bytes());
  flow.stack.snapshot(bytes);
  std::array<std::uint32_t, 5> const known{info.send.una.value, info.send.nxt.value,
                                           info.send.wl1.value, info.send.wl2.value,
                                           info.send.iss.value};
  std::uint32_t const iss = info.send.nxt.value + ahead;
  int found = 0;
  for (std::size_t i = 0; i + sizeof known <= bytes.size(); i += 4) {
    if (std::memcmp(bytes.data() + i, known.data(), sizeof known) == 0) {
      std::memcpy(bytes.data() + i + 16, &iss, 4);
      ++found;
    }
  }
  ASSERT_EQ(found, 1);
  ASSERT_EQ(flow.stack.restore(bytes), Refusal::none);
}

TEST(Review, D1StreamBeyondTheCircle) {
  Flow flow;
  age(flow, 2000);
  flow.write_octets(4000);
  EXPECT_EQ(flow.segments(), "1+1000 1001+1000 2001+1000 3001+1000");
  flow.ack(2001);
  flow.write_octets(500);
  EXPECT_EQ(flow.segments(), "");
  flow.ack(4001);
  EXPECT_EQ(flow.segments(), "4001+500");
}
TEST(Review, D1b) {
  Flow flow;
  age(flow, 2000);
  flow.write_octets(2000);
  EXPECT_EQ(flow.segments(), "1+1000 1001+1000");
  flow.ack(2001);
  EXPECT_EQ(flow.segments(), "");
  flow.write_octets(2000);
  EXPECT_EQ(flow.segments(), "2001+1000 3001+1000");
  flow.ack(4001);
  EXPECT_EQ(flow.info().send.una, flow.info().send.nxt);
}

std::vector<std::byte> ip_packet(Kit& kit, std::uint8_t protocol, std::vector<std::byte> body) {
  std::vector<std::byte> packet(20 + body.size());
  wire::Ipv4Header ip;
  ip.source = kit.peer;
  ip.destination = kit.device;
  ip.protocol = static_cast<wire::IpProtocol>(protocol);
  ip.time_to_live = 64;
  static_cast<void>(wire::write(ip, Bytes{static_cast<std::uint32_t>(body.size())}, packet));
  std::memcpy(packet.data() + 20, body.data(), body.size());
  return packet;
}

std::vector<std::uint32_t> raw_turn(Kit& kit, std::vector<std::byte> packet) {
  Ingress in{packet, Checksum::unknown, kit.now};
  kit.stack.receive(kit.now, std::span(&in, 1));
  kit.stack.settle();
  std::vector<std::byte> room(70000);
  std::vector<std::uint32_t> lengths;
  while (kit.stack.wants_transmit()) {
    Egress const out = kit.stack.transmit(kit.now, room);
    if (out.length == 0) break;
    lengths.push_back(out.length);
  }
  return lengths;
}

TEST(Review, D2RepliesKeepToTheMtu) {
  Config config = kit_config();
  set_mtu(config, Bytes{128});
  Kit kit(config);
  for (auto n : raw_turn(kit, ip_packet(kit, 17, std::vector<std::byte>(108)))) {
    EXPECT_LE(n, 128u);
  }
  std::vector<std::byte> echo(1000);
  wire::IcmpMessage m;
  std::vector<std::byte> data(992);
  m.type = wire::IcmpType::echo_request;
  m.body = data;
  static_cast<void>(wire::write(m, echo));
  for (auto n : raw_turn(kit, ip_packet(kit, 1, echo))) {
    EXPECT_LE(n, 128u);
  }
}

TEST(Review, D3UpdateBehindDuplicate) {
  Config config = flow_config();
  config.tcp.receive_buffer = Bytes{2000};
  Flow flow(config);
  flow.auto_consume = true;
  flow.send({.flags = flag::ack, .seq = 1, .ack = 1, .text = octets(1, 1000)});
  flow.send({.flags = flag::ack, .seq = 1001, .ack = 1, .text = octets(1001, 1000)});
  flow.send({.flags = flag::ack, .seq = 1, .ack = 1, .text = octets(1, 1000)});
  flow.turn();
  std::string s;
  for (auto const& o : flow.take()) s += line(o) + " win " + std::to_string(o.window) + "; ";
  EXPECT_EQ(s, "A 1(0) ack 2001 win 0; A 1(0) ack 2001 win 0; A 1(0) ack 2001 win 2000; ");
  EXPECT_EQ(flow.info().receive.wnd.count, 2000u);
}

TEST(Review, D4ResetOfASynWithText) {
  Kit kit;
  kit.listen();
  kit.deliver({.flags = flag::syn, .text = "hello", .mss = 1460});
  EXPECT_EQ(kit.sent(), "SA 0(0) ack 1");
  kit.deliver({.flags = flag::rst, .seq = 1});
  EXPECT_EQ(kit.state(), State::closed);
}
TEST(Review, D4bAckOfASynWithText) {
  Kit kit;
  kit.listen();
  kit.deliver({.flags = flag::syn, .text = "hello", .mss = 1460});
  EXPECT_EQ(kit.sent(), "SA 0(0) ack 1");
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1});
  EXPECT_EQ(kit.state(), State::established);
}

TEST(Review, D5RefusedCloseCanBeRepeated) {
  Config config = kit_config();
  config.tcp.active_max = Count{1};
  Kit kit(config);
  kit.accept_connection();
  ConnectionId const first = kit.id;
  wire::Segment s;
  s.source = {6000}; s.destination = {80}; s.sequence = {100}; s.flags = flag::syn; s.window = {65535};
  kit.send_segment(s, "");
  kit.turn();
  auto out = kit.take();
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(kit.stack.close(first), Refusal::no_room);
  s.sequence = {101}; s.flags = flag::ack; s.acknowledgment = out[0].absolute.next();
  kit.send_segment(s, "");
  kit.turn();
  EXPECT_EQ(kit.stack.close(first), Refusal::none);
  kit.turn();
  EXPECT_NE(kit.stack.inspect(first).state, State::established);
}

TEST(Review, D6KeepAliveWithoutRoom) {
  Config config = kit_config();
  config.tcp.active_max = Count{1};
  config.tcp.keepalive = true;
  Kit kit(config);
  kit.accept_connection();
  ConnectionId const first = kit.id;
  kit.auto_consume = false;
  wire::Segment s;
  s.source = {6000}; s.destination = {80}; s.sequence = {100}; s.flags = flag::syn; s.window = {65535};
  kit.send_segment(s, "");
  kit.turn();
  auto out = kit.take();
  s.sequence = {101}; s.flags = flag::ack; s.acknowledgment = out.at(0).absolute.next();
  kit.send_segment(s, "x");
  kit.turn();
  EXPECT_EQ(kit.stack.set(kit.id, {SettingKind::keepalive, 0}), Refusal::none);
  kit.sent();
  kit.advance(Duration::seconds(20000));
  EXPECT_EQ(kit.sent(), "");
  EXPECT_TRUE(kit.stack.inspect(first).exists && !kit.stack.inspect(first).detached);
}

TEST(Review, D6bKeepAliveBesideText) {
  Config config = kit_config();
  config.tcp.keepalive = true;
  Kit kit(config);
  kit.accept_connection();
  while (kit.stack.deadline() < kit.now + Duration::seconds(7200)) {
    kit.now = later(kit.now, kit.stack.deadline());
    if (kit.now.ns >= Duration::seconds(8200).ns) break;
    kit.turn();
  }
  kit.now = kit.stack.deadline();
  static_cast<void>(kit.stack.write(kit.id, Kit::bytes_of("text")));
  kit.turn();
  EXPECT_EQ(kit.sent(), "PA 1(4) ack 1");
}

TEST(Review, D7GrownBuffer) {
  Config config = flow_config();
  config.tcp.receive_buffer = Bytes{2000};
  Flow flow(config);
  flow.auto_consume = false;
  flow.text(1, 1000);
  flow.text(1001, 1000);
  flow.take();
  EXPECT_EQ(flow.info().receive.wnd.count, 0u);
  EXPECT_EQ(flow.stack.set(flow.id, {SettingKind::receive_buffer, 10000}), Refusal::none);
  flow.turn();
  auto out = flow.take();
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].window, 8000u);
}

TEST(Review, D9Snapshot) {
  Flow flow;
  std::vector<std::byte> bytes(flow.stack.snapshot_bytes());
  flow.stack.snapshot(bytes);
  Config other = flow_config();
  other.tcp.extents_max = Count{other.tcp.extents_max.value - 1};
  Flow less(other);
  EXPECT_EQ(less.stack.restore(bytes), Refusal::bad_snapshot);
}

TEST(Review, D9bRepliesAreSeen) {
  Kit a;
  Kit b;
  for (Kit* kit : {&a, &b}) {
    kit->send({.flags = flag::syn, .seq = kit == &a ? 1u : 2u});
    std::vector<std::byte> f = kit->arriving().back();
    kit->arriving().clear();
    Ingress in{f, Checksum::unknown, kit->now};
    kit->stack.receive(kit->now, std::span(&in, 1));
    kit->stack.settle();
  }
  EXPECT_NE(a.stack.fingerprint(), b.stack.fingerprint());
}

TEST(Review, D10Quantum) {
  Config config = flow_config();
  config.tcp.quantum_segments = Count{300};
  EXPECT_FALSE(fault_of(config).empty());
}

TEST(Review, D15ShrinkBeforeTheAnswer) {
  Kit kit;
  kit.connect();
  EXPECT_EQ(kit.take().at(0).window, 65535);
  EXPECT_EQ(kit.stack.set(kit.id, {SettingKind::receive_buffer, 1000}), Refusal::none);
  kit.deliver({.flags = flag::syn | flag::ack, .ack = 1, .mss = 1460});
  auto out = kit.take();
  EXPECT_GE(out.at(0).window, 65535);
}

}  // namespace
}  // namespace lockstep::testing
