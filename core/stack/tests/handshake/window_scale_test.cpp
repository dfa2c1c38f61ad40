// RFC 7323 section 2: window scaling needs both SYNs, and no advertised window is retracted.
#include <gtest/gtest.h>

#include "core/stack/testing/flow_kit.hpp"

namespace lockstep::testing {
namespace {

constexpr std::uint32_t mebibyte = 1u << 20;

// A receive buffer of 1 MiB, which 16 bits express in units of 32 octets.
Config scaling_config() {
  Config config = flow_config();
  config.tcp.window_scale = true;
  config.tcp.receive_buffer = Bytes{mebibyte};
  config.tcp.blocks_max = Count{2048};
  return config;
}

wire::Options scale_of(std::uint8_t shift) {
  wire::Options options;
  options.has_window_scale = true;
  options.window_scale = {shift};
  return options;
}

// The peer opens with its own scale. Ours is 5.
void open_scaled(Kit& kit, std::uint8_t shift, std::uint16_t window = 1000) {
  kit.listen();
  kit.deliver({.flags = flag::syn, .window = window, .mss = 1000, .options = scale_of(shift)});
  ASSERT_EQ(kit.sent(), "SA 0(0) ack 1");
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1, .window = window});
  ASSERT_EQ(kit.state(), State::established);
}

//= rfc7323#2.2
//= type=test
//# 7323:TS-34 even if our own shift is zero
//# 7323:TS-33 a SYN-ACK has it only if the SYN had it
//= rfc7323#2.3
//= type=test
//# 7323:TS-3 and then always
TEST(WindowScale, IsOfferedOnSynsAlone) {
  Config small = scaling_config();
  small.tcp.receive_buffer = Bytes{65'535};
  for (auto const& [config, shift] : {std::pair{scaling_config(), 5}, std::pair{small, 0}}) {
    Kit active(config);
    active.connect();
    auto const syn = active.take().at(0);
    EXPECT_TRUE(syn.options.has_window_scale);
    EXPECT_EQ(syn.options.window_scale.shift, shift);
    Kit passive(config);
    passive.listen();
    passive.deliver({.flags = flag::syn, .mss = 1000, .options = scale_of(3)});
    auto const answer = passive.take().at(0);
    EXPECT_TRUE(answer.options.has_window_scale);
    EXPECT_EQ(answer.options.window_scale.shift, shift);
    passive.deliver({.flags = flag::ack, .seq = 1, .ack = 1});
    passive.write("data");
    EXPECT_FALSE(passive.take().at(0).options.has_window_scale);
    Kit unasked(config);
    unasked.listen();
    unasked.deliver({.flags = flag::syn, .mss = 1000});
    EXPECT_FALSE(unasked.take().at(0).options.has_window_scale);
  }
}

TEST(WindowScale, CanBeSwitchedOff) {
  Kit off(flow_config());
  off.connect();
  EXPECT_FALSE(off.take().at(0).options.has_window_scale);
  Kit passive(flow_config());
  passive.listen();
  passive.deliver({.flags = flag::syn, .mss = 1000, .options = scale_of(3)});
  EXPECT_FALSE(passive.take().at(0).options.has_window_scale);
  passive.deliver({.flags = flag::ack, .seq = 1, .ack = 1, .window = 1000});
  EXPECT_EQ(passive.info().send.wnd.count, 1000u);
  EXPECT_FALSE(passive.info().options.window_scale);
}

// The shift cannot change later, so it must suit the maximum size of the buffer.
TEST(WindowScale, SuitsABufferThatMayGrow) {
  Config config = flow_config();
  config.tcp.window_scale = true;
  config.tcp.receive_buffer = Bytes{65'535};
  for (auto const& [most, shift] : {std::pair{0u, 0}, std::pair{65'535u, 0}, std::pair{65'536u, 1},
                                    std::pair{mebibyte, 5}, std::pair{6 * mebibyte, 7}}) {
    config.tcp.receive_buffer_max = Bytes{most};
    Kit kit(config);
    kit.connect();
    EXPECT_EQ(kit.take().at(0).options.window_scale.shift, shift) << most;
  }
}

TEST(WindowScale, AFixedShiftIsTakenAsItIs) {
  Config config = scaling_config();
  config.tcp.window_shift_automatic = false;
  config.tcp.window_shift = 9;
  Kit kit(config);
  kit.connect();
  EXPECT_EQ(kit.take().at(0).options.window_scale.shift, 9);
}

//= rfc7323#2.2
//= type=test
//# 7323:TS-2 windows of SYN and SYN-ACK are not scaled, in either direction
//= rfc7323#2.3
//= type=test
//# 7323:TS-4 all others are, by the shift of their sender
//# 7323:TS-35 which was in its SYN
TEST(WindowScale, ShiftsAllWindowsButThoseOfSyns) {
  Kit kit(scaling_config());
  kit.listen();
  kit.deliver({.flags = flag::syn, .window = 1000, .mss = 1000, .options = scale_of(7)});
  EXPECT_EQ(kit.take().at(0).window, 65'535);
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1, .window = 1000});
  EXPECT_EQ(kit.info().send.wnd.count, 128'000u);
  kit.deliver({.flags = flag::ack | flag::psh,
               .seq = 1,
               .ack = 1,
               .data = std::string(1001, 'x'),
               .window = 2000});
  EXPECT_EQ(kit.info().send.wnd.count, 256'000u);
  kit.advance(Duration::seconds(1));
  Out const ack = kit.take().at(0);
  // 1 MiB is 32,768 units; the buffer is empty again, and the window ends at a whole unit.
  EXPECT_EQ(ack.window, mebibyte / 32);
  EXPECT_EQ(kit.info().receive.wnd.count, mebibyte);
}

//= rfc7323#2.2
//= type=test
//# 7323:TS-1 if the SYN-ACK lacks it, our windows are not scaled either
//# 7323:TS-24 and one on a later segment changes nothing
TEST(WindowScale, NeedsBothSyns) {
  Kit kit(scaling_config());
  kit.connect();
  kit.sent();
  kit.deliver({.flags = flag::syn | flag::ack, .ack = 1, .window = 1000, .mss = 1000});
  EXPECT_EQ(kit.take().at(0).window, 65'535);
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1, .window = 1000, .options = scale_of(7)});
  EXPECT_EQ(kit.info().send.wnd.count, 1000u);
  EXPECT_EQ(kit.info().options.receive_scale.shift, 0);
  EXPECT_EQ(kit.info().receive.wnd.count, 65'535u);
}

//= rfc7323#2.3
//= type=test
//# 7323:TS-5 a shift of 14 is the maximum: windows of up to 2^30
TEST(WindowScale, ReachesAlmostAGibibyte) {
  Kit kit(scaling_config());
  open_scaled(kit, 14, 65'535);
  EXPECT_EQ(kit.info().send.wnd.count, 65'535u << 14);
  EXPECT_EQ(kit.info().options.send_scale.shift, 14);
}

TEST(WindowScale, FillsAPeersLargeWindow) {
  Config config = scaling_config();
  config.tcp.send_buffer = Bytes{600'000};
  config.tcp.initial_window = tcp::InitialWindow::rfc6928;
  Kit kit(config);
  open_scaled(kit, 8, 2000);
  EXPECT_EQ(kit.stack.write(kit.id, Kit::bytes_of(octets(1, 500'000)), More::no).bytes.count,
            500'000u);
  std::uint32_t sent = 1;
  for (int round = 0; round < 12; ++round) {
    kit.turn();
    for (Out const& out : kit.take()) {
      sent = std::max(sent, out.seq + Flow::length_of(out));
      kit.deliver({.flags = flag::ack, .seq = 1, .ack = sent, .window = 2000});
    }
  }
  EXPECT_EQ(sent, 500'001u);
  EXPECT_EQ(kit.info().send.una, kit.info().send.nxt);
}

TEST(WindowScale, HoldsInASimultaneousOpen) {
  Kit kit(scaling_config());
  kit.connect();
  kit.sent();
  kit.deliver({.flags = flag::syn, .window = 1000, .mss = 1000, .options = scale_of(2)});
  EXPECT_TRUE(kit.take().at(0).options.has_window_scale);
  // Its SYN-ACK has a SYN, so its window is not scaled.
  kit.deliver({.flags = flag::syn | flag::ack,
               .ack = 1,
               .window = 1000,
               .mss = 1000,
               .options = scale_of(2)});
  EXPECT_EQ(kit.state(), State::established);
  EXPECT_EQ(kit.info().send.wnd.count, 1000u);
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1, .window = 1000});
  EXPECT_EQ(kit.info().send.wnd.count, 4000u);
}

// The right edge that a segment advertises, relative to the peer's ISS.
std::uint32_t told_edge(const Out& out, std::uint32_t unit) { return out.ack + out.window * unit; }

//= rfc7323#2.4
//= type=test
//# 7323:TS-7 the highest edge is kept exactly
// Segments of odd lengths: the remaining window is not a multiple of 32 octets.
TEST(WindowScale, AdvertisedEdgeNeverMovesLeft) {
  Kit kit(scaling_config());
  open_scaled(kit, 0, 65'535);
  kit.auto_consume = false;
  std::uint32_t edge = 0;
  std::uint32_t next = 1;
  for (std::uint32_t length = 1; length < 900; length += 7) {
    kit.deliver(
        {.flags = flag::ack | flag::psh, .seq = next, .ack = 1, .data = std::string(length, 'x')});
    next += length;
    kit.advance(Duration::milliseconds(300));
    for (Out const& out : kit.take()) {
      EXPECT_EQ(out.ack, next);
      EXPECT_GE(told_edge(out, 32), edge) << length;
      edge = told_edge(out, 32);
    }
    // The advertised edge is the stored one: it can be expressed exactly.
    EXPECT_EQ(kit.info().receive.wnd.count % 32, 0u) << length;
  }
  EXPECT_LE(edge, mebibyte + mebibyte / 16 + 32);
}

//= rfc7323#2.4
//= type=test
//# 7323:TS-6 everything inside an advertised window is accepted
// One unit beyond the buffer the edge stays, and the field has to be rounded down.
TEST(WindowScale, ExceedsTheBufferByOneUnitAtMost) {
  Config config = scaling_config();
  config.tcp.receive_buffer = Bytes{4096};
  config.tcp.window_shift_automatic = false;
  config.tcp.window_shift = 10;
  Kit kit(config);
  open_scaled(kit, 0, 65'535);
  kit.auto_consume = false;
  std::uint32_t next = 1;
  std::uint32_t window = 1;
  while (window != 0) {
    kit.deliver({.flags = flag::ack | flag::psh, .seq = next, .ack = 1, .data = "x"});
    ++next;
    kit.advance(Duration::milliseconds(300));
    window = kit.take().at(0).window;
    ASSERT_LE(next, 4096u + 1024u);
  }
  // Zero is advertised, but data below the highest edge is still accepted.
  std::uint32_t const before = kit.info().receive.wnd.count;
  EXPECT_EQ(before, 1023u);
  kit.deliver(
      {.flags = flag::ack | flag::psh, .seq = next, .ack = 1, .data = std::string(before, 'y')});
  EXPECT_EQ(kit.info().receive.unread.count, 4096u + 1024u);
  EXPECT_EQ(kit.info().receive.wnd.count, 0u);
  kit.sent();
  // Reading opens it again, and the peer is notified.
  kit.read(kit.id);
  kit.turn();
  EXPECT_EQ(kit.take().at(0).window, 4u);
}

// A window that only looks closed is advertised again after the application reads.
TEST(WindowScale, AHiddenWindowIsAdvertisedAfterReading) {
  Config config = scaling_config();
  config.tcp.receive_buffer = Bytes{100};
  config.tcp.window_shift_automatic = false;
  config.tcp.window_shift = 10;
  Kit kit(config);
  open_scaled(kit, 0, 65'535);
  kit.auto_consume = false;
  std::uint32_t next = 1;
  for (int i = 0; i < 2000 && (i == 0 || kit.take().at(0).window != 0); ++i) {
    kit.deliver({.flags = flag::ack | flag::psh, .seq = next, .ack = 1, .data = "x"});
    ++next;
    kit.advance(Duration::milliseconds(300));
  }
  ASSERT_LT(next, 1900u);
  kit.sent();
  kit.read(kit.id);
  kit.turn();
  EXPECT_EQ(kit.take().at(0).window, 1u);
}

//= rfc7323#2.4
//= type=test
//# 7323:TS-36, 7323:TS-37 a shrunk window never prevents the first retransmission
//# 7323:TS-38 it prevents later ones only if they are beyond the rounding of the scale
//# 7323:TS-8 and no new data is sent beyond it
TEST(WindowScale, RetransmitsBeyondARoundedWindow) {
  Kit kit(scaling_config());
  open_scaled(kit, 10, 4);
  EXPECT_EQ(kit.stack.write(kit.id, Kit::bytes_of(octets(1, 20'000)), More::no).bytes.count,
            20'000u);
  kit.turn();
  ASSERT_EQ(kit.info().send.nxt.since(kit.info().send.una).count, 4000u);
  kit.sent();
  // 3,500 octets are in flight, and the window shrinks to 2,048.
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 501, .window = 2});
  EXPECT_EQ(kit.sent(), "");
  EXPECT_EQ(kit.info().send.wnd.count, 2048u);
  kit.advance(kit.info().retransmit_due.since(kit.now));
  std::uint32_t acked = 501;
  std::string all;
  for (int i = 0; i < 3; ++i) {
    for (Out const& out : kit.take()) {
      all += line(out) + "; ";
      acked = out.seq + Flow::length_of(out);
    }
    // Each is acknowledged without growth of the window.
    kit.deliver({.flags = flag::ack, .seq = 1, .ack = acked, .window = 1});
  }
  EXPECT_EQ(acked, 4001u) << all;
}

TEST(WindowScale, TimeWaitAdvertisesAScaledWindow) {
  Kit kit(scaling_config());
  open_scaled(kit, 0, 65'535);
  ASSERT_EQ(kit.stack.close(kit.id), Refusal::none);
  kit.turn();
  kit.deliver({.flags = flag::fin | flag::ack, .seq = 1, .ack = 2});
  ASSERT_EQ(kit.state(), State::time_wait);
  Out const first = kit.take().back();
  kit.deliver({.flags = flag::fin | flag::ack, .seq = 1, .ack = 2});
  Out const again = kit.take().at(0);
  EXPECT_EQ(again.window, first.window);
  EXPECT_GT(again.window * 32u, 65'535u);
}

}  // namespace
}  // namespace lockstep::testing
