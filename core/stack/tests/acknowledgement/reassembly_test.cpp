// In-order delivery of data for any order, overlap and length (RFC 9293 3.10.7.4, step 7).
#include <gtest/gtest.h>

#include "core/stack/testing/flow_kit.hpp"
#include "core/units/random.hpp"

namespace lockstep::testing {
namespace {

std::uint32_t next_of(const Flow& flow) {
  return flow.info().receive.nxt.value - flow.peer_iss.value;
}

// Delivers this data instead of the stream's.
void put(Flow& flow, std::uint32_t from, const std::string& data) {
  flow.deliver({.flags = flag::ack, .seq = from, .ack = 1, .data = data});
}

//= rfc9293#3.10.7.4
//= type=test
//# 9293:P-SEQ-ORDER processed by sequence number; only the new part of an overlapping segment
//# 9293:P-TEXT-DELIVER, 9293:P-TEXT-RCVNXT delivered in order, and RCV.NXT advances
//# 9293:SHLD-31 out-of-order segments are queued
TEST(Reassembly, OutOfOrder) {
  Flow flow;
  put(flow, 7, "ghi");
  put(flow, 1, "abc");
  EXPECT_EQ(flow.received, "abc");
  put(flow, 2, "bcdef");
  EXPECT_EQ(flow.received, "abcdefghi");
  EXPECT_EQ(next_of(flow), 10u);
}

//= rfc9293#3.10
//= type=test
//# 9293:P-EV-OVERLAP every form of overlap: of duplicate octets the first received copy is kept
TEST(Reassembly, EveryFormOfOverlap) {
  struct Form {
    std::uint32_t from;
    std::string data;
    std::string stream;
  };
  for (Form const& form : {Form{4, "DEF", "abcdefghijklmno"},              // identical
                           Form{5, "E", "abcdefghijklmno"},                // inside
                           Form{2, "BCDE", "aBCdefghijklmno"},             // across the left end
                           Form{6, "FGH", "abcdefGHijklmno"},              // across the right end
                           Form{2, "BCDEFGH", "aBCdefGHijklmno"},          // covering
                           Form{4, "DEFG", "abcdefGhijklmno"},             // same begin, longer
                           Form{3, "CDEF", "abCdefghijklmno"},             // same end, longer
                           Form{7, "GH", "abcdefGHijklmno"},               // adjacent behind
                           Form{2, "BC", "aBCdefghijklmno"},               // adjacent before
                           Form{2, "BCDEFGHIJKLM", "aBCdefGHIJKLmno"}}) {  // over two, and beyond
    Flow flow;
    put(flow, 4, "def");
    put(flow, 13, "mno");
    put(flow, form.from, form.data);
    put(flow, 1, "abcdefghijklmno");
    EXPECT_EQ(flow.received, form.stream) << form.data;
  }
}

// Predecessor, defect 4: overlapping data advanced RCV.NXT by its whole length, and octets were
// lost.
TEST(Reassembly, Defect04_OverlapLosesNothing) {
  Flow flow;
  flow.data(1, 1000);
  flow.data(501, 1000);
  EXPECT_EQ(next_of(flow), 1501u);
  flow.data(1501, 500);
  EXPECT_EQ(flow.received, octets(1, 2000));
}

// Predecessor, defect 21: data above a gap held the driver's buffers. Here it is copied on arrival:
// the frame may be overwritten as soon as the turn is over.
TEST(Reassembly, Defect21_OutOfOrderDataHoldsNoFrame) {
  Flow flow;
  flow.auto_consume = false;
  for (std::uint32_t i = 1; i <= 20; ++i) {
    flow.data(1 + 1000 * i, 1000);
  }
  // The kit has freed every frame by now; asan would detect a use.
  flow.data(1, 1000);
  EXPECT_EQ(flow.info().receive.unread.count, 21'000u);
  EXPECT_EQ(flow.read(flow.id), octets(1, 21'000));
}

// Data that the application has not read is copied when the frames are returned, and can be read
// later.
TEST(Reassembly, LeftoversSurviveTheFrames) {
  Flow flow;
  flow.auto_consume = false;
  flow.data(1, 1000);
  flow.data(1001, 1000);
  flow.stack.consume(flow.id, Bytes{300});
  flow.turn();
  flow.data(2001, 700);
  EXPECT_EQ(flow.read(flow.id), octets(301, 2400));
}

// A FIN is accepted only in order, and never below data already received.
//= rfc9293#3.10.7.4
//= type=test
//# 9293:P-FIN in order, after the data, which can still be read
TEST(Reassembly, FinInOrder) {
  Flow flow;
  flow.deliver({.flags = flag::ack | flag::fin, .seq = 101, .ack = 1, .data = octets(101, 50)});
  EXPECT_EQ(flow.state(), State::established);
  EXPECT_FALSE(flow.notified(EventKind::peer_finished));
  flow.data(1, 100);
  EXPECT_EQ(flow.state(), State::close_wait);
  EXPECT_EQ(flow.received, octets(1, 150));
  EXPECT_EQ(next_of(flow), 152u);
}

// Inconsistent FINs and data of a peer must not make our own state inconsistent.
TEST(Reassembly, FinBelowReceivedData) {
  for (std::uint32_t above : {12u, 11u, 13u, 5u}) {
    Flow flow;
    flow.data(above, 10);
    flow.deliver({.flags = flag::ack | flag::fin, .seq = 1, .ack = 1, .data = octets(1, 10)});
    EXPECT_FALSE(flow.notified(EventKind::peer_finished)) << above;
    EXPECT_EQ(flow.state(), State::established) << above;
    flow.data(11, 30);
    EXPECT_EQ(flow.received, octets(1, 40)) << above;
  }
}

TEST(Reassembly, DataBeyondTheFin) {
  Flow flow;
  flow.deliver({.flags = flag::ack | flag::fin, .seq = 11, .ack = 1});
  flow.data(8, 10);
  flow.data(20, 10);
  flow.data(1, 30);
  EXPECT_TRUE(flow.notified(EventKind::peer_finished));
  EXPECT_EQ(flow.received, octets(1, 10));
  EXPECT_GE(flow.drops(Drop::tcp_data_after_fin), 1u);
}

// Too many ranges: refused with a named drop; nothing accepted is discarded.
TEST(Reassembly, RangesAreBounded) {
  Config config = flow_config();
  config.tcp.extents_per_connection = Count{4};
  Flow flow(config);
  for (std::uint32_t i = 1; i <= 8; ++i) {
    flow.data(1 + 100 * i, 50);
  }
  EXPECT_EQ(flow.info().receive.out_of_order.count, 200u);
  EXPECT_EQ(flow.drops(Drop::tcp_out_of_order_refused), 4u);
}

// Every second segment of a window is lost, as in the overshoot of slow start at a full queue. What
// lies in the window is kept, so only the lost half has to be retransmitted.
//= rfc9293#3.10.7.4
//= type=test
//# 9293:SHLD-31 out-of-order segments are queued
TEST(Reassembly, EverySecondSegmentIsLost) {
  Flow flow(bare_config(), {.sack = true, .stamp = 1});
  constexpr std::uint32_t losses = 150;
  for (std::uint32_t i = 0; i < losses; ++i) {
    flow.data(201 + 400 * i, 200);
  }
  EXPECT_EQ(flow.info().receive.out_of_order.count, losses * 200);
  EXPECT_EQ(flow.drops(Drop::tcp_out_of_order_refused), 0u);
  flow.take();
  for (std::uint32_t i = 0; i < losses; ++i) {
    flow.data(1 + 400 * i, 200);
  }
  EXPECT_EQ(flow.received, octets(1, losses * 400));
}

// Half of the pool is only for connections with fewer than 32 ranges.
TEST(Reassembly, ManyRangesLeaveHalfOfThePool) {
  Config config = bare_config();
  config.tcp.extents_max = Count{100};
  Flow flow(config, {.sack = true, .stamp = 1});
  for (std::uint32_t i = 0; i < 80; ++i) {
    flow.data(201 + 400 * i, 200);
  }
  EXPECT_EQ(flow.stack.pools().extents, 50u);
  config.tcp.extents_max = Count{40};
  Flow small(config, {.sack = true, .stamp = 1});
  for (std::uint32_t i = 0; i < 80; ++i) {
    small.data(201 + 400 * i, 200);
  }
  // One remote gets no more once it has more than twice of what is free.
  EXPECT_EQ(small.stack.pools().extents, 27u);
}

// Random tests against a map of octets: any overlap, two versions of each octet, near the wrap.
struct Model {
  static constexpr std::uint32_t span = 6000;
  std::string octet = std::string(span + 1, '\0');  // by relative number; 0 is not used
  std::string here = std::string(span + 1, '-');
  std::uint32_t next = 1;

  // The part of `data` from `least` up to `edge`.
  void arrive(std::uint32_t from, const std::string& data, std::uint32_t least,
              std::uint32_t edge) {
    std::uint32_t const end = std::min(from + static_cast<std::uint32_t>(data.size()), edge);
    for (std::uint32_t at = std::max(from, least); at < end && at <= span; ++at) {
      if (here[at] == '-') {
        here[at] = '+';
        octet[at] = data[at - from];
      }
    }
    while (next <= span && here[next] == '+') {
      ++next;
    }
  }
};

std::string version_of(std::uint32_t from, std::uint32_t count, std::uint32_t version) {
  return octets(from + version * 100'000, count);
}

void run_against_model(std::uint64_t seed) {
  Random draw(seed);
  Config config = flow_config();
  config.tcp.extents_per_connection = Count{4096};
  config.tcp.blocks_max = Count{1024};
  config.tcp.block_bytes = Bytes{64u << draw.below(6)};
  config.tcp.receive_buffer = Bytes{static_cast<std::uint32_t>(draw.within({800, 8000}))};
  Flow flow(config);
  flow.auto_consume = draw.below(2) == 0;
  Model model;
  auto const longest = draw.within({1, 900});
  for (int i = 0; i < 400 && next_of(flow) < Model::span; ++i) {
    auto const burst = 1 + draw.below(4);
    for (std::uint64_t k = 0; k < burst; ++k) {
      std::uint32_t const next = next_of(flow);
      auto const low = next > 1000 ? next - 1000 : 1;
      auto const from =
          static_cast<std::uint32_t>(draw.below(4) == 0 ? next : draw.within({low, next + 1500}));
      if (from > Model::span) {
        continue;
      }
      auto const count = static_cast<std::uint32_t>(
          std::min<std::uint64_t>(1 + draw.below(longest), Model::span + 1 - from));
      auto const data = version_of(from, count, static_cast<std::uint32_t>(draw.below(2)));
      std::uint32_t const edge = flow.info().receive.edge.value - flow.peer_iss.value;
      put(flow, from, data);
      // By RFC 9293's table a segment whose first and last octets are both outside the window is
      // not acceptable, even if it covers the whole window.
      bool const covers = from < next && from + count > edge;
      model.arrive(from, data, covers ? edge : next, edge);
    }
    ASSERT_EQ(next_of(flow), model.next) << "seed " << seed << " step " << i;
    if (!flow.auto_consume && draw.below(3) == 0) {
      flow.read(flow.id);
      flow.turn();
    }
  }
  flow.read(flow.id);
  ASSERT_EQ(flow.received, model.octet.substr(1, model.next - 1)) << "seed " << seed;
}

TEST(Reassembly, AgreesWithAMapOfOctets) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    run_against_model(seed);
    if (HasFatalFailure()) {
      return;
    }
  }
}

// Two bursts before the frames are returned, the first read in between: the second can be read.
TEST(Reassembly, DataAfterAReadIsReadable) {
  Config config;
  config.link = LinkType::ip;
  config.addresses[0] = {IpAddress::v4(10, 0, 0, 1), 24};
  config.address_count = Count{1};
  Kit kit(config);
  kit.auto_consume = false;
  kit.accept_connection();
  auto const first =
      kit.frame_of({.flags = flag::psh | flag::ack, .seq = 1, .ack = 1, .data = "hello"});
  auto const second =
      kit.frame_of({.flags = flag::psh | flag::ack, .seq = 6, .ack = 1, .data = "world"});
  Ingress const one{first, Checksum::unknown, kit.now};
  Ingress const two{second, Checksum::unknown, kit.now};
  kit.stack.receive(kit.now, {&one, 1});
  EXPECT_EQ(kit.read(kit.id), "hello");
  kit.stack.receive(kit.now, {&two, 1});
  EXPECT_EQ(kit.stack.unread(kit.id).count, 5u);
  EXPECT_EQ(kit.stack.readable(kit.id).size(), 5u);
  EXPECT_EQ(kit.read(kit.id), "world");
  kit.stack.settle();
}

}  // namespace
}  // namespace lockstep::testing
