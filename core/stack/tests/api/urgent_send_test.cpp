// RFC 9293 3.8.5: urgent data in both directions.
#include <gtest/gtest.h>

#include "core/stack/testing/flow_kit.hpp"

namespace lockstep::testing {
namespace {

//= rfc9293#3.8.5
//= type=test
//# 9293:MUST-30 urgent data is supported
//# 9293:MUST-62, 9293:P-SEND-URGSIG the pointer is the octet after the urgent data
//= rfc9293#3.10.2
//= type=test
//# 9293:P-SEND-URG SND.UP is the end of the data queued so far, and the segment has URG
TEST(UrgentSend, PointerBehindTheUrgentData) {
  Flow flow;
  flow.ack_with_window(1, 0);
  flow.write_octets(3);
  EXPECT_EQ(flow.stack.urgent(flow.id), Refusal::none);
  flow.ack_with_window(1, 5000);
  auto const out = flow.take();
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(line(out[0]), "PAU 1(3) ack 1");
  EXPECT_EQ(out[0].urgent, 3);
  EXPECT_TRUE(flow.info().send.urgent);
  flow.ack(4);
  EXPECT_FALSE(flow.info().send.urgent);
}

//= rfc9293#3.8.5
//= type=test
//# 9293:P-URG-DATA without queued data nothing is urgent
TEST(UrgentSend, NeedsAnOctet) {
  Flow flow;
  EXPECT_EQ(flow.stack.urgent(flow.id), Refusal::not_urgent);
  flow.turn();
  EXPECT_EQ(flow.sent(), "");
}

// Data that has left already has no URG, and nothing would tell the peer.
//= rfc9293#3.10.2
//= type=test
//# 9293:P-SEND-URG the pointer is in a segment that follows, with the urgent data
TEST(UrgentSend, NeedsAnOctetThatWasNotSent) {
  Flow flow;
  flow.write_octets(3);
  EXPECT_EQ(flow.segments(), "1+3");
  EXPECT_EQ(flow.stack.urgent(flow.id), Refusal::not_urgent);
  EXPECT_FALSE(flow.info().send.urgent);
  flow.write_octets(4);
  EXPECT_EQ(flow.stack.urgent(flow.id), Refusal::none);
  flow.ack(4);
  EXPECT_EQ(flow.sent(), "PAU 4(4) ack 1");
}

//= rfc9293#3.8.5
//= type=test
//# 9293:MUST-31 urgent data of any length: each segment before its end has URG
TEST(UrgentSend, LongerThanThePointer) {
  Flow flow;
  flow.write_octets(200'000);
  EXPECT_EQ(flow.stack.urgent(flow.id), Refusal::none);
  flow.take();
  flow.write_octets(500);
  std::uint32_t const end = 200'001;
  std::uint32_t next = 4001;
  while (next < 200'501) {
    flow.ack(next);
    for (Out const& out : flow.take()) {
      next = std::max(next, out.seq + Flow::length_of(out));
      ASSERT_EQ(out.flags.urg(), out.seq < end) << out.seq;
      if (out.flags.urg()) {
        ASSERT_EQ(out.urgent, std::min(end - out.seq, 0xffffu)) << out.seq;
      }
    }
  }
}

//= rfc9293#3.8.5
//= type=test
//# 9293:P-URG-NORECEDE SND.UP only advances
TEST(UrgentSend, PointerMovesForward) {
  Flow flow;
  flow.ack_with_window(1, 0);
  flow.write_octets(10);
  EXPECT_EQ(flow.stack.urgent(flow.id), Refusal::none);
  Sequence const first = flow.info().send.up;
  flow.write_octets(10);
  EXPECT_EQ(flow.info().send.up, first);
  EXPECT_EQ(flow.stack.urgent(flow.id), Refusal::none);
  EXPECT_EQ(flow.info().send.up, first + Bytes{10});
}

// A retransmission has URG like the first transmission.
TEST(UrgentSend, RetransmissionIsUrgentToo) {
  Flow flow;
  flow.ack_with_window(1, 0);
  flow.write_octets(3);
  EXPECT_EQ(flow.stack.urgent(flow.id), Refusal::none);
  flow.ack_with_window(1, 5000);
  flow.take();
  flow.time_out();
  auto const out = flow.take();
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(line(out[0]), "PAU 1(3) ack 1");
  EXPECT_EQ(out[0].urgent, 3);
}

std::vector<std::uint32_t> told_urgent(const Kit& kit) {
  std::vector<std::uint32_t> out;
  for (Event const& event : kit.events) {
    if (event.kind == EventKind::urgent) {
      out.push_back(event.bytes.count);
    }
  }
  return out;
}

In urgent_data(std::uint32_t from, std::uint32_t count, std::uint16_t pointer) {
  return {.flags = flag::ack | flag::urg,
          .seq = from,
          .ack = 1,
          .data = octets(from, count),
          .urgent = pointer};
}

//= rfc9293#3.8.5
//= type=test
//# 9293:MUST-32 reported on entering urgent mode and on each advance of the pointer
//# 9293:MUST-33 with the octets left up to its end
//# 9293:P-URG-MODE urgent mode lasts until they are read
//= rfc9293#3.10.7.4
//= type=test
//# 9293:P-URG-EST, 9293:P-URG-NOREPEAT an equal pointer is not reported again
TEST(UrgentReceive, ReportedOnEachAdvance) {
  Flow flow;
  flow.auto_consume = false;
  flow.deliver(urgent_data(1, 10, 100));
  EXPECT_EQ(told_urgent(flow), (std::vector<std::uint32_t>{100}));
  flow.deliver(urgent_data(11, 10, 90));
  EXPECT_EQ(told_urgent(flow), (std::vector<std::uint32_t>{100}));
  EXPECT_EQ(flow.read(flow.id), octets(1, 20));
  flow.deliver(urgent_data(21, 10, 100));
  EXPECT_EQ(told_urgent(flow), (std::vector<std::uint32_t>{100, 100}));
  EXPECT_TRUE(flow.info().receive.urgent);
  flow.data(31, 89);
  flow.read(flow.id);
  EXPECT_TRUE(flow.info().receive.urgent);
  flow.data(120, 1);
  flow.read(flow.id);
  EXPECT_FALSE(flow.info().receive.urgent);
}

//= rfc9293#3.8.5
//= type=test
//# 9293:P-URG-MODE a pointer beyond the FIN is limited to it: urgent mode ends with the stream
TEST(UrgentReceive, NothingIsUrgentBehindTheFin) {
  for (bool const at_once : {true, false}) {
    Flow flow;
    flow.auto_consume = at_once;
    flow.deliver(urgent_data(1, 10, 100));
    flow.deliver({.flags = flag::fin | flag::ack, .seq = 11, .ack = 1});
    EXPECT_EQ(flow.info().receive.urgent, !at_once);
    EXPECT_EQ(flow.read(flow.id), at_once ? "" : octets(1, 10));
    EXPECT_FALSE(flow.info().receive.urgent);
    EXPECT_EQ(flow.stack.pools().active, 0u) << "it is as idle as any";
  }
}

//= rfc9293#3.8.5
//= type=test
//# 9293:P-URG-NORECEDE old or invalid pointers do no harm
TEST(UrgentReceive, OldPointers) {
  Flow flow;
  flow.data(1, 100);
  flow.deliver(urgent_data(101, 10, 0));
  EXPECT_EQ(told_urgent(flow), (std::vector<std::uint32_t>{}));
  flow.deliver(urgent_data(111, 10, 1000));
  flow.deliver(urgent_data(121, 10, 5));
  EXPECT_EQ(told_urgent(flow).size(), 1u);
  EXPECT_EQ(flow.info().receive.up.value - flow.peer_iss.value, 1111u);
}

}  // namespace
}  // namespace lockstep::testing
