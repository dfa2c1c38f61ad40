// Shares of the store: reading and writing leave space to each other, and one connection to all.
#include <gtest/gtest.h>

#include "core/stack/testing/flow_kit.hpp"

namespace lockstep::testing {
namespace {

Config share_config() {
  Config config = flow_config();
  config.tcp.blocks_max = Count{64};
  config.tcp.block_bytes = Bytes{1024};
  config.tcp.reserve_blocks = Count{2};
  config.tcp.receive_buffer = Bytes{65535};
  return config;
}

// The peer sends as much as it may, one window at a time; returns what was accepted.
std::uint32_t fill(Flow& flow) {
  std::uint32_t next = 1;
  for (int i = 0; i < 200; ++i) {
    std::uint32_t const room = flow.info().receive.wnd.count;
    flow.data(next, std::min(room, 1000u));
    next = 1 + flow.info().receive.nxt.since(flow.peer_iss.next()).count;
  }
  return next - 1;
}

// An application that does not read: its peer fills half of the receive share of the store; then
// the edge stays, nothing is lost, and there is space to write.
TEST(StoreShare, UnreadDataLeavesSpaceToWrite) {
  Config config = share_config();
  config.tcp.blocks_max = Count{16};
  Flow flow(config);
  flow.auto_consume = false;
  std::uint32_t const taken = fill(flow);
  EXPECT_GE(taken, 5'000u);
  EXPECT_LE(taken, 12u * 1024);
  std::string const data(1024, 'w');
  EXPECT_EQ(flow.stack.write(flow.id, Kit::bytes_of(data)).bytes.count, 1024u);
  flow.turn();
  // Reading opens the window again, and no byte was lost.
  flow.auto_consume = true;
  flow.read(flow.id);
  EXPECT_EQ(flow.received, octets(1, taken));
  flow.turn();
  EXPECT_GE(flow.info().receive.wnd.count, 1000u);
}

// One that does not read does not starve another.
TEST(StoreShare, OneConnectionUsesNoMoreThanHalf) {
  Config config = share_config();
  config.tcp.blocks_max = Count{256};
  config.tcp.receive_buffer = Bytes{1 << 20};
  Flow flow(config);
  flow.auto_consume = false;
  std::uint32_t const taken = fill(flow);
  // 256 blocks: 64 are for writing, and a third of the rest for connections that hold none. So 128.
  EXPECT_GE(taken, 60u * 1024);
  EXPECT_LE(taken, 64u * 1024);
  EXPECT_EQ(flow.drops(Drop::tcp_store_full), 0u);
}

//= rfc9293#3.8.6
//= type=test
//# 9293:SHLD-14 the edge stays, but never moves back
TEST(StoreShare, TheEdgeNeverMovesBack) {
  Config config = share_config();
  config.tcp.blocks_max = Count{16};
  Flow flow(config);
  flow.auto_consume = false;
  Sequence edge = flow.info().receive.edge;
  for (std::uint32_t next = 1; next < 20'000; next += 500) {
    flow.data(next, 500);
    EXPECT_TRUE(flow.info().receive.edge.at_or_after(edge));
    edge = flow.info().receive.edge;
  }
}

// A host that opens connections, requests much on each and never opens its window.
class SlowReaders : public Kit {
 public:
  explicit SlowReaders(const Config& config = bare_config()) : Kit(config) { listen(); }
  // Opens another connection; returns what the application could write to it.
  std::uint32_t open(std::uint16_t port, std::uint16_t offered, const std::string& data) {
    said(port, flag::syn, {}, offered);
    said(port, flag::ack, take().at(0).absolute.next(), offered);
    return stack.write(id, bytes_of(data)).bytes.count;
  }
  // A thousand connections leave the store a block for each other one.
  void fill_store() {
    for (std::uint16_t i = 0; i < 1000; ++i) {
      open(static_cast<std::uint16_t>(1000 + i), 0, much);
      turn();
      static_cast<void>(take());
    }
  }
  // The data octets of the segments sent since the last call.
  std::uint32_t octets_sent() {
    std::uint32_t sent = 0;
    for (Out const& out : take()) {
      sent += Flow::length_of(out);
    }
    return sent;
  }
  void said(std::uint16_t port, Flags flags, Sequence ack, std::uint16_t offered) {
    wire::Segment s;
    s.source = {port};
    s.destination = {device_port};
    s.sequence = peer_iss + Bytes{flags.syn() ? 0u : 1u};
    s.acknowledgment = ack;
    s.flags = flags;
    s.window = {offered};
    send_segment(s, "");
    turn();
  }

  std::string const much = std::string(131'072, 'x');
};

// However many peers keep their windows closed, a connection with nothing in flight can send.
TEST(StoreShare, SlowReadersLeaveABlockToEachOther) {
  SlowReaders kit;
  std::string const much(131'072, 'x');
  std::string const little(1000, 'y');
  std::uint32_t least = 131'072;
  for (std::uint16_t i = 0; i < 1000; ++i) {
    least = std::min(least, kit.open(static_cast<std::uint16_t>(1000 + i), 0, much));
    kit.turn();
    static_cast<void>(kit.take());
  }
  EXPECT_EQ(least, 2048u);
  EXPECT_EQ(kit.open(9000, 65535, little), 1000u);
  // The same block has space for more; beyond it data in flight has to be acknowledged first.
  EXPECT_EQ(kit.stack.write(kit.id, Kit::bytes_of(much)).bytes.count, 1048u);
  Taken const refused = kit.stack.write(kit.id, Kit::bytes_of(little));
  EXPECT_EQ(refused.refusal, Refusal::no_room);
  kit.events.clear();
  kit.turn();
  EXPECT_FALSE(kit.notified(EventKind::room)) << "it would be refused again";
  while (!kit.info().send.queued.empty()) {
    kit.events.clear();
    kit.said(9000, flag::ack, kit.info().send.nxt, 65535);
    ASSERT_TRUE(kit.notified(EventKind::acknowledged));
  }
  EXPECT_EQ(kit.stack.write(kit.id, Kit::bytes_of(little)).bytes.count, 1000u);
}

// A full block is not a multiple of the segment size. While the store gives no more, nothing can be
// added to the rest, so it does not wait for an ACK that the peer delays.
//= rfc9293#3.7.4
//= type=test
//# 9293:P-NAGLE waits for more data only while there can be more
TEST(StoreShare, NagleDoesNotWaitForDataThatTheStoreRefuses) {
  SlowReaders kit;
  kit.fill_store();
  ASSERT_EQ(kit.open(9000, 65535, kit.much), 2048u);
  kit.turn();
  EXPECT_EQ(kit.octets_sent(), 2048u);
}

// The same where the application has announced more, which is refused.
TEST(StoreShare, DataThatTheStoreRefusesIsNotAwaited) {
  SlowReaders kit;
  kit.fill_store();
  kit.open(9000, 65535, "");
  static_cast<void>(kit.take());
  ASSERT_EQ(kit.stack.write(kit.id, Kit::bytes_of(kit.much).first(2048), More::yes).bytes.count,
            2048u);
  kit.turn();
  EXPECT_EQ(kit.octets_sent(), 2048u);
}

// Loans take a piece each, however short they are. A connection with nothing queued has one left.
TEST(StoreShare, LoansToClosedWindowsLeaveAPieceToOthers) {
  SlowReaders kit;
  static std::vector<std::byte> const region(1 << 16);
  kit.stack.bind(RegionId{0}, region);
  std::uint32_t const pieces = bare_config().tcp.pieces_max.value;
  auto const lend = [&](std::uint64_t at) {
    return kit.stack.lend(kit.id, {RegionId{0}, at, 100}, More::no);
  };
  for (std::uint16_t i = 0; i < 8; ++i) {
    ASSERT_EQ(kit.open(static_cast<std::uint16_t>(1000 + i), 0, "x"), 1u);
    for (std::uint64_t at = 0; !lend(at).bytes.empty(); at = (at + 300) % 60'000) {
    }
    kit.turn();
    static_cast<void>(kit.take());
  }
  EXPECT_GT(kit.stack.pools().pieces, pieces / 2);
  EXPECT_LE(kit.stack.pools().pieces, pieces - 1000) << "1,024 connections have one each";
  EXPECT_EQ(kit.open(9000, 65535, "hello"), 5u);
  // A second piece has to wait until data is acknowledged.
  kit.events.clear();
  EXPECT_EQ(lend(0).refusal, Refusal::no_room);
  kit.turn();
  EXPECT_FALSE(kit.notified(EventKind::room)) << "it would be refused again";
  kit.said(9000, flag::ack, kit.info().send.nxt, 65535);
  EXPECT_TRUE(kit.notified(EventKind::acknowledged));
  EXPECT_EQ(lend(0).bytes.count, 100u);
}

// Connections whose application does not read hold all that they may of the store. One whose
// application reads at once still receives.
TEST(StoreShare, UnreadDataLeavesABlockToOthers) {
  SlowReaders kit;
  kit.auto_consume = false;
  std::string const segment(1460, 'x');
  auto const upload = [&](std::uint16_t port, int segments) {
    kit.open(port, 65535, "");
    Sequence const ack = kit.info().send.nxt;
    std::uint32_t accepted = 0;
    for (int i = 0; i < segments; ++i) {
      Sequence const before = kit.info().receive.nxt;
      wire::Segment s;
      s.source = {port};
      s.destination = {Kit::device_port};
      s.sequence = before;
      s.acknowledgment = ack;
      s.flags = flag::ack | flag::psh;
      s.window = {65535};
      kit.send_segment(s, segment);
      kit.turn();
      accepted += kit.info().receive.nxt.since(before).count;
      static_cast<void>(kit.take());
    }
    return accepted;
  };
  for (std::uint16_t i = 0; i < 200; ++i) {
    EXPECT_GE(upload(static_cast<std::uint16_t>(1000 + i), 44), 1460u) << i;
  }
  kit.on_event = [&](const Event& event) {
    if (event.kind == EventKind::received) {
      kit.read(event.id);
    }
  };
  EXPECT_EQ(upload(9000, 400), 400u * 1460);
}

// Dynamic right-sizing: the buffer grows to twice the data of a round trip, and no further.
TEST(Autotune, TheReceiveBufferFollowsTheFlow) {
  for (bool const grows : {false, true}) {
    Config config = flow_config();
    config.tcp.receive_buffer = Bytes{4000};
    config.tcp.receive_buffer_max = Bytes{grows ? 30'000u : 0u};
    Flow flow(config, {.round_trip = Duration::milliseconds(100)});
    std::uint32_t next = 1;
    for (int trip = 0; trip < 12; ++trip) {
      for (std::uint32_t left = flow.info().receive.wnd.count; left >= 1000; left -= 1000) {
        flow.data(next, 1000);
        next += 1000;
      }
      flow.advance(Duration::milliseconds(100));
    }
    EXPECT_EQ(flow.received.size(), next - 1);
    EXPECT_GE(flow.info().receive.wnd.count, grows ? 25'000u : 3'000u);
    EXPECT_LE(flow.info().receive.wnd.count, grows ? 30'000u : 4'000u);
  }
}

// A size set by the application does not grow, and a slow flow needs no growth.
TEST(Autotune, NotBeyondNeedOrAFixedSize) {
  for (bool const set : {false, true}) {
    Config config = flow_config();
    config.tcp.receive_buffer = Bytes{4000};
    config.tcp.receive_buffer_max = Bytes{30'000};
    Flow flow(config, {.round_trip = Duration::milliseconds(100)});
    if (set) {
      ASSERT_EQ(flow.stack.set(flow.id, {SettingKind::receive_buffer, 5000}), Refusal::none);
    }
    std::uint32_t next = 1;
    for (int trip = 0; trip < 12; ++trip) {
      std::uint32_t const burst = set ? flow.info().receive.wnd.count : 1000;
      for (std::uint32_t left = burst; left >= 1000; left -= 1000) {
        flow.data(next, 1000);
        next += 1000;
      }
      flow.advance(Duration::milliseconds(100));
    }
    EXPECT_LE(flow.info().receive.wnd.count, set ? 5000u : 4000u);
  }
}

// The path has become longer than it was during the handshake. A receiver without data of its own
// has no other RTT sample; the echoes of its timestamps show it.
TEST(Autotune, FollowsAPathThatBecomesLonger) {
  Config config = bare_config();
  config.tcp.receive_buffer = Bytes{8000};
  Flow flow(config, {.round_trip = Duration::milliseconds(10), .sack = true, .stamp = 1});
  std::uint32_t next = 1;
  for (int trip = 0; trip < 20; ++trip) {
    for (std::uint32_t left = flow.info().receive.wnd.count; left >= 1000; left -= 1000) {
      flow.data(next, 1000);
      next += 1000;
    }
    flow.advance(Duration::milliseconds(400));
    flow.stamp += 400;
  }
  EXPECT_GE(flow.info().receive.wnd.count, 60'000u);
}

// An application that reads once a second is slow, but its path is not long.
TEST(Autotune, NotForASlowReader) {
  Config config = bare_config();
  config.tcp.receive_buffer = Bytes{8000};
  Flow flow(config, {.round_trip = Duration::milliseconds(10), .sack = true, .stamp = 1});
  flow.auto_consume = false;
  std::uint32_t next = 1;
  for (int i = 0; i < 20; ++i) {
    for (std::uint32_t left = flow.info().receive.wnd.count; left >= 1000; left -= 1000) {
      flow.data(next, 1000);
      next += 1000;
    }
    flow.advance(Duration::seconds(1));
    flow.stamp += 1010;
    flow.read(flow.id);
    flow.advance(Duration::milliseconds(10));
  }
  EXPECT_EQ(flow.info().receive.wnd.count, 8000u);
}

// One connection may queue half of what may be written, and the next one half of the rest.
TEST(Autotune, SendBuffersLeaveSpaceToEachOther) {
  Config config = bare_config();
  config.tcp.connections_max = config.tcp.active_max = Count{8};
  config.tcp.blocks_max = Count{128};
  config.tcp.block_bytes = Bytes{128};
  config.tcp.send_buffer = Bytes{1000};
  config.tcp.send_buffer_max = Bytes{1 << 20};
  SlowReaders kit(config);
  constexpr std::uint32_t store = (128 - 32 - 8) * 128;  // without what is kept
  std::string const much(131'072, 'x');
  EXPECT_EQ(kit.open(1000, 65535, much), store / 2);
  EXPECT_EQ(kit.stack.write(kit.id, Kit::bytes_of(much)).bytes.count, 0u);
  kit.turn();
  static_cast<void>(kit.take());
  EXPECT_EQ(kit.open(1001, 65535, much), store / 4);
}

// The send buffer holds two congestion windows, up to its limit.
TEST(Autotune, TheSendBufferFollowsTheCongestionWindow) {
  Config config = flow_config();
  config.tcp.send_buffer = Bytes{4000};
  config.tcp.send_buffer_max = Bytes{20'000};
  Flow flow(config);
  std::uint32_t const first = flow.cwnd();
  EXPECT_EQ(flow.stack.writable(flow.id).count, std::max(4000u, 2 * first));
  std::uint32_t number = 1;
  for (int i = 0; i < 20; ++i) {
    std::uint32_t const room = flow.stack.writable(flow.id).count;
    EXPECT_LE(room, 20'000u);
    flow.write_octets(room);
    flow.take();
    number += flow.flight();
    flow.ack(number);
  }
  EXPECT_EQ(flow.stack.writable(flow.id).count + flow.info().send.queued.count, 20'000u);
  ASSERT_EQ(flow.stack.set(flow.id, {SettingKind::send_buffer, 3000}), Refusal::none);
  EXPECT_LE(flow.stack.writable(flow.id).count, 3000u);
}

}  // namespace
}  // namespace lockstep::testing
