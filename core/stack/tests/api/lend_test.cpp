// Lending: bytes of bound regions are sent without copying, with one checksum pass, in order with
// writes.
#include <gtest/gtest.h>

#include "core/stack/testing/flow_kit.hpp"
#include "core/units/random.hpp"
#include "core/wire/checksum.hpp"

namespace lockstep::testing {
namespace {

std::string random_octets(Random& draw, std::size_t count) {
  std::string out(count, '\0');
  for (char& octet : out) {
    octet = static_cast<char>(draw.below(256));
  }
  return out;
}

// All data sent, in order of sequence numbers; the kit has verified every checksum.
std::string stream_of(Flow& flow, std::uint32_t length) {
  std::string stream;
  for (int turns = 0; stream.size() < length && turns < 10'000; ++turns) {
    for (Out const& out : flow.take()) {
      if (out.seq == stream.size() + 1) {
        stream += out.data;
      }
    }
    flow.ack(static_cast<std::uint32_t>(stream.size() + 1));
    flow.advance(Duration::milliseconds(1));
  }
  return stream;
}

//= rfc9293#3.9.1.2
//= type=test
//# 9293:P-SEND-FIFO writes and loans are sent in the order of the calls
// Predecessor, defect 11: a chunk across two segments was skipped, and stale bytes were sent.
TEST(Lend, Defect11_ChunksAcrossSegments) {
  Random draw(11);
  std::string const content = random_octets(draw, 10'000);
  for (std::uint16_t mss : {std::uint16_t{28}, std::uint16_t{537}, std::uint16_t{1000}}) {
    Flow flow(flow_config(), {.mss = mss});
    flow.stack.bind(RegionId{0}, Kit::bytes_of(content));
    std::string expected;
    for (std::uint32_t i = 0; i < 12; ++i) {
      std::uint32_t const length = 1 + 133 * i;
      Taken const lent = flow.stack.lend(flow.id, {RegionId{0}, 17 * i, length});
      ASSERT_EQ(lent.bytes.count, length);
      expected += content.substr(17 * i, length);
      std::string const written = "-" + std::to_string(i) + "-";
      ASSERT_EQ(flow.stack.write(flow.id, Kit::bytes_of(written)).bytes.count, written.size());
      expected += written;
    }
    flow.turn();
    EXPECT_EQ(stream_of(flow, static_cast<std::uint32_t>(expected.size())), expected) << mss;
  }
}

// With a table of prefix sums, for any begin and end.
TEST(Lend, ChecksumTables) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Random draw(seed);
    std::string const content = random_octets(draw, 5000 + draw.below(3000));
    std::uint32_t const stride = 2u << draw.below(8);
    auto const size = static_cast<std::uint32_t>(content.size());
    std::vector<std::uint16_t> entries(wire::checksum_table_entries(size, stride));
    auto const table = wire::build_checksum_table(Kit::bytes_of(content), entries, stride);
    Flow flow(flow_config(), {.mss = static_cast<std::uint16_t>(draw.within({28, 1400}))});
    flow.stack.bind(RegionId{3}, Kit::bytes_of(content), table);
    std::string expected;
    for (int i = 0; i < 8; ++i) {
      auto const offset = static_cast<std::uint32_t>(draw.below(size));
      auto const length = static_cast<std::uint32_t>(1 + draw.below(size - offset));
      ASSERT_EQ(flow.stack.lend(flow.id, {RegionId{3}, offset, length}).bytes.count, length);
      expected += content.substr(offset, length);
    }
    flow.turn();
    EXPECT_EQ(stream_of(flow, static_cast<std::uint32_t>(expected.size())), expected) << seed;
  }
}

// A retransmission reads the region again, from any octet.
TEST(Lend, RetransmittedFromTheRegion) {
  Random draw(5);
  std::string const content = random_octets(draw, 4000);
  Flow flow;
  flow.stack.bind(RegionId{0}, Kit::bytes_of(content));
  ASSERT_EQ(flow.stack.lend(flow.id, {RegionId{0}, 0, 4000}).bytes.count, 4000u);
  flow.turn();
  flow.take();
  flow.ack(334);
  flow.time_out();
  auto const out = flow.take();
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].seq, 334u);
  EXPECT_EQ(out[0].data, content.substr(333, 1000));
}

// The loan ends when `acknowledged` reports it: from then on the region may change.
TEST(Lend, EndsAtAcknowledged) {
  std::string content(3000, 'x');
  Flow flow;
  flow.stack.bind(RegionId{0}, Kit::bytes_of(content));
  ASSERT_EQ(flow.stack.lend(flow.id, {RegionId{0}, 0, 3000}).bytes.count, 3000u);
  flow.turn();
  flow.take();
  flow.ack(2001);
  std::uint32_t reported = 0;
  for (Event const& event : flow.events) {
    reported += event.kind == EventKind::acknowledged ? event.bytes.count : 0;
  }
  EXPECT_EQ(reported, 2000u);
  content.replace(0, 2000, 2000, 'y');
  flow.time_out();
  EXPECT_EQ(flow.take().at(0).data, std::string(1000, 'x'));
}

TEST(Lend, OutsideOfARegionIsRefused) {
  std::string const content(100, 'x');
  Flow flow;
  flow.stack.bind(RegionId{0}, Kit::bytes_of(content));
  for (Payload payload :
       {Payload{RegionId{0}, 101, 0}, Payload{RegionId{0}, 50, 51}, Payload{RegionId{1}, 0, 1},
        Payload{RegionId{999}, 0, 1}, Payload{RegionId{0}, ~std::uint64_t{0}, 2}}) {
    Taken const taken = flow.stack.lend(flow.id, payload);
    EXPECT_EQ(taken.refusal, Refusal::bad_region);
    EXPECT_TRUE(taken.bytes.empty());
  }
}

// Partial acceptance is normal: as much as the queue has space for.
TEST(Lend, AcceptsWhatFits) {
  Config config = flow_config();
  config.tcp.send_buffer = Bytes{1000};
  std::string const content(3000, 'x');
  Flow flow(config);
  flow.stack.bind(RegionId{0}, Kit::bytes_of(content));
  EXPECT_EQ(flow.stack.lend(flow.id, {RegionId{0}, 0, 3000}).bytes.count, 1000u);
  Taken const more = flow.stack.lend(flow.id, {RegionId{0}, 1000, 10});
  EXPECT_EQ(more.refusal, Refusal::no_room);
  EXPECT_EQ(flow.stack.writable(flow.id).count, 0u);
}

}  // namespace
}  // namespace lockstep::testing
