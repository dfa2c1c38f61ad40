// What peers can hold permanently leaves space for all others.
#include <gtest/gtest.h>

#include "core/stack/testing/flow_kit.hpp"

namespace lockstep::testing {
namespace {

// Opens another connection and sends octets above a gap that is never filled, one per block.
void open_and_hold(Flow& flow, std::uint16_t port, std::uint32_t block_bytes) {
  wire::Segment s;
  s.source = {port};
  s.destination = {Kit::device_port};
  s.flags = flag::syn;
  s.window = {65535};
  flow.send_segment(s, "");
  flow.turn();
  s.sequence = {1};
  s.acknowledgment = flow.take().at(0).absolute.next();
  s.flags = flag::ack;
  for (std::uint32_t at = block_bytes; at < 65'535; at += block_bytes) {
    s.sequence = {at};
    flow.send_segment(s, "x");
    flow.turn();
  }
  flow.take();
}

// Data above gaps must not use up the store: otherwise windows could never open again, and nothing
// could be written, for as long as the peers wish.
TEST(Greed, DataAboveGapsLeavesRoom) {
  Config config = flow_config();
  config.tcp.blocks_max = Count{64};
  config.tcp.reserve_blocks = Count{4};
  Flow flow(config);
  ConnectionId const honest = flow.id;
  Sequence const iss = flow.device_iss;
  for (std::uint16_t port = 6000; port < 6008; ++port) {
    open_and_hold(flow, port, config.tcp.block_bytes.count);
  }
  EXPECT_GT(flow.drops(Drop::tcp_out_of_order_refused), 100u);
  flow.id = honest;
  flow.device_iss = iss;
  for (std::uint32_t at = 1; at < 200'000; at += 1000) {
    ASSERT_GE(flow.info().receive.wnd.count, 1000u) << at;
    flow.data(at, 1000);
  }
  EXPECT_EQ(flow.received.size(), 200'000u);
  EXPECT_EQ(flow.stack.write(honest, Kit::bytes_of("still alive")).bytes.count, 11u);
}

}  // namespace
}  // namespace lockstep::testing
