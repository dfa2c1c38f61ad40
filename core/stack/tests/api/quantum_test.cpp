// Connections with much to send take turns, one quantum of segments each.
#include <gtest/gtest.h>

#include "core/stack/testing/test_kit.hpp"

namespace lockstep::testing {
namespace {

ConnectionId established_with(Kit& kit, std::uint16_t port) {
  Open open;
  open.local = {kit.device, {Kit::device_port}};
  open.remote = {kit.peer, {port}};
  ConnectionId id;
  EXPECT_EQ(kit.stack.connect(open, id), Refusal::none);
  kit.turn();
  wire::Segment answer;
  answer.source = {port};
  answer.destination = {Kit::device_port};
  answer.flags = flag::syn | flag::ack;
  answer.acknowledgment = kit.stack.inspect(id).send.nxt;
  answer.window = {65535};
  answer.options.has_mss = true;
  answer.options.mss = 100;
  kit.send_segment(answer, "");
  kit.turn();
  return id;
}

TEST(Quantum, SegmentsOfTwoConnections) {
  Config config = kit_config();
  config.tcp.quantum_segments = Count{2};
  config.tcp.initial_window = tcp::InitialWindow::rfc6928;
  Kit kit(config);
  for (std::uint16_t port : {std::uint16_t{6000}, std::uint16_t{6001}}) {
    established_with(kit, port);
  }
  kit.take();
  std::string const data(1000, 'x');
  for (Event const& event : std::vector<Event>(kit.events)) {
    ASSERT_EQ(kit.stack.write(event.id, Kit::bytes_of(data)).bytes.count, 1000u);
  }
  kit.turn();
  std::string order;
  for (Out const& out : kit.take()) {
    order += out.tuple.remote.port.value == 6000 ? 'a' : 'b';
  }
  EXPECT_EQ(order, "aabbaabbaabbaabbaabb");
}

// At most what its octet-sized counter can hold.
TEST(Quantum, IsBounded) {
  Config config = kit_config();
  config.tcp.quantum_segments = Count{255};
  EXPECT_EQ(fault_of(config), "");
  config.tcp.quantum_segments = Count{256};
  EXPECT_EQ(fault_of(config), "quantum_segments");
}

}  // namespace
}  // namespace lockstep::testing
