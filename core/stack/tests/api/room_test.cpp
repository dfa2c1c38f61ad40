// Back-pressure: an application whose call was refused is notified when resources are free.
#include <gtest/gtest.h>

#include "core/stack/testing/test_kit.hpp"

namespace lockstep::testing {
namespace {

constexpr std::uint16_t other_port = 4321;

// Two connections of the same stack: `id` of the kit, and another one with the same peer.
struct Two {
  explicit Two(const Config& config) : kit(config) {
    kit.accept_connection();
    first = kit.id;
    wire::Segment syn;
    syn.source = {other_port};
    syn.destination = kit.tuple().local.port;
    syn.sequence = kit.peer_iss;
    syn.flags = flag::syn;
    syn.window = {65535};
    kit.send_segment(syn, "");
    kit.turn();
    syn.sequence = kit.peer_iss.next();
    syn.acknowledgment = kit.device_iss.next();
    syn.flags = flag::ack;
    kit.send_segment(syn, "");
    kit.turn();
    second = kit.id;
    static_cast<void>(kit.take());
    kit.events.clear();
  }
  // The peer's end of the other connection acknowledges all before `number`, perhaps with data.
  void second_acks(std::uint32_t number, const std::string& data = "") {
    wire::Segment s;
    s.source = {other_port};
    s.destination = kit.tuple().local.port;
    s.sequence = kit.peer_iss.next();
    s.acknowledgment = kit.device_iss + Bytes{number};
    s.flags = flag::ack;
    s.window = {65535};
    kit.send_segment(s, data);
    kit.turn();
  }
  std::uint32_t told_room(ConnectionId id) const {
    std::uint32_t count = 0;
    for (Event const& event : kit.events) {
      count += event.kind == EventKind::room && event.id == id ? 1 : 0;
    }
    return count;
  }

  Kit kit;
  ConnectionId first;
  ConnectionId second;
};

Config small_store() {
  Config config = kit_config();
  config.tcp.blocks_max = Count{8};
  config.tcp.block_bytes = Bytes{256};
  config.tcp.reserve_blocks = Count{1};
  config.tcp.receive_buffer = Bytes{256};
  return config;
}

// Six of the eight blocks can be used for writing.
//= rfc9293#3.10.2
//= type=test
//# 9293:P-SEND-NORES insufficient resources
TEST(Room, AWriteRefusedForBlocksIsNotifiedOnce) {
  Two two(small_store());
  std::string const data(6 * 256, 'x');
  EXPECT_EQ(two.kit.stack.write(two.second, Kit::bytes_of(data)).bytes.count, data.size());
  two.kit.turn();
  Taken const refused = two.kit.stack.write(two.first, Kit::bytes_of("y"));
  EXPECT_EQ(refused.refusal, Refusal::no_room);
  EXPECT_TRUE(refused.bytes.empty());
  for (int i = 0; i < 3; ++i) {
    two.kit.turn();
  }
  EXPECT_EQ(two.told_room(two.first), 0u);
  EXPECT_GT(two.kit.stack.deadline(), two.kit.now);
  two.second_acks(1 + 256);
  EXPECT_EQ(two.told_room(two.first), 1u);
  EXPECT_EQ(two.told_room(two.second), 0u);
  EXPECT_EQ(two.kit.stack.write(two.first, Kit::bytes_of("y")).bytes.count, 1u);
  two.second_acks(1 + 512);
  EXPECT_EQ(two.told_room(two.first), 1u);
}

// A full send buffer is not a pool: `acknowledged` reports the space.
TEST(Room, AFullSendBufferIsNotAPool) {
  Config config = kit_config();
  config.tcp.send_buffer = Bytes{10};
  Kit kit(config);
  kit.accept_connection();
  kit.write("0123456789");
  EXPECT_EQ(kit.stack.write(kit.id, Kit::bytes_of("x")).refusal, Refusal::no_room);
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 11});
  EXPECT_TRUE(kit.notified(EventKind::acknowledged));
  EXPECT_FALSE(kit.notified(EventKind::room));
}

TEST(Room, ALoanRefusedForPieces) {
  Config config = kit_config();
  config.tcp.pieces_max = Count{1};
  Two two(config);
  std::string const data = "0123456789";
  two.kit.stack.bind(RegionId{0}, Kit::bytes_of(data));
  EXPECT_EQ(two.kit.stack.lend(two.second, {RegionId{0}, 0, 10}).bytes.count, 10u);
  two.kit.turn();
  EXPECT_EQ(two.kit.stack.lend(two.first, {RegionId{0}, 0, 10}).refusal, Refusal::no_room);
  EXPECT_EQ(two.kit.stack.write(two.first, Kit::bytes_of("x")).refusal, Refusal::no_room);
  two.kit.turn();
  EXPECT_EQ(two.told_room(two.first), 0u);
  two.second_acks(11);
  EXPECT_EQ(two.told_room(two.first), 1u);
}

// A close without a free active part is refused and remembered.
//= rfc9293#3.10.4
//= type=test
//# 9293:P-CLOSE-QUEUED a refused close can be repeated
TEST(Room, FinishAndCloseRefusedForActiveParts) {
  for (bool const closes : {false, true}) {
    Config config = kit_config();
    config.tcp.active_max = Count{1};
    Two two(config);
    auto const part = [&] {
      return closes ? two.kit.stack.close(two.first) : two.kit.stack.finish(two.first);
    };
    EXPECT_EQ(two.kit.stack.write(two.second, Kit::bytes_of("x")).bytes.count, 1u);
    two.kit.turn();
    EXPECT_EQ(part(), Refusal::no_room);
    two.kit.turn();
    EXPECT_EQ(two.told_room(two.first), 0u);
    two.second_acks(2);
    EXPECT_EQ(two.told_room(two.first), 1u);
    static_cast<void>(two.kit.take());
    EXPECT_EQ(part(), Refusal::none);
    two.kit.turn();
    auto const out = two.kit.take();
    ASSERT_EQ(out.size(), 1u);
    EXPECT_TRUE(out[0].flags.fin());
    EXPECT_NE(out[0].tuple.remote.port.value, other_port);
  }
}

// A refused write holds nothing that others wait for.
TEST(Room, ARefusedWriteKeepsNoActivePart) {
  Config config = small_store();
  config.tcp.active_max = Count{2};
  Two two(config);
  std::string const data(6 * 256, 'x');
  EXPECT_EQ(two.kit.stack.write(two.second, Kit::bytes_of(data)).bytes.count, data.size());
  EXPECT_EQ(two.kit.stack.write(two.first, Kit::bytes_of("y")).refusal, Refusal::no_room);
  Open open;
  open.remote = {two.kit.peer, {99}};
  ConnectionId third;
  EXPECT_EQ(two.kit.stack.connect(open, third), Refusal::none);
}

// A waiting connection that ends gets `closed` and no other event.
TEST(Room, ClosedConnectionsStopWaiting) {
  Config config = kit_config();
  config.tcp.active_max = Count{1};
  Two two(config);
  EXPECT_EQ(two.kit.stack.write(two.second, Kit::bytes_of("x")).bytes.count, 1u);
  two.kit.turn();
  EXPECT_EQ(two.kit.stack.finish(two.first), Refusal::no_room);
  two.kit.stack.abort(two.first);
  two.kit.turn();
  two.second_acks(2);
  EXPECT_EQ(two.told_room(two.first), 0u);
  EXPECT_TRUE(two.kit.notified(EventKind::closed, Cause::aborted));
}

// Resources freed by the application's own calls are reported next turn, which is due at once.
TEST(Room, MadeByTheApplicationItself) {
  Config config = kit_config();
  config.tcp.active_max = Count{1};
  Two two(config);
  EXPECT_EQ(two.kit.stack.write(two.second, Kit::bytes_of("x")).bytes.count, 1u);
  two.kit.turn();
  EXPECT_EQ(two.kit.stack.finish(two.first), Refusal::no_room);
  two.kit.stack.abort(two.second);
  EXPECT_LE(two.kit.stack.deadline(), two.kit.now);
  two.kit.turn();
  two.kit.turn();
  EXPECT_EQ(two.told_room(two.first), 1u);
}

// In the order of the refusals, as many as there are resources for.
TEST(Room, OneActivePartNotifiesOneConnection) {
  Config config = kit_config();
  config.tcp.active_max = Count{1};
  Two two(config);
  EXPECT_EQ(two.kit.stack.write(two.second, Kit::bytes_of("x")).bytes.count, 1u);
  two.kit.turn();
  ASSERT_EQ(two.kit.stack.finish(two.first), Refusal::no_room);
  ASSERT_EQ(two.kit.stack.finish(two.first), Refusal::no_room);
  two.second_acks(2);
  EXPECT_EQ(two.told_room(two.first), 1u);
  EXPECT_EQ(two.told_room(two.second), 0u);
}

}  // namespace
}  // namespace lockstep::testing
