// Timestamps and SACK blocks can be read, rewritten and removed; an edit changes nothing else.
#include "conformance/replay/options.hpp"

#include <gtest/gtest.h>

#include "conformance/replay/conversation.hpp"
#include "conformance/replay/edit.hpp"
#include "conformance/replay/packet.hpp"
#include "tools/base/capture/octets.hpp"

namespace lockstep::conformance {
namespace {

using tools::Segment;

/// NOP, NOP, timestamps 1000 and 2000, NOP, NOP, blocks 10-20 and 30-40.
Segment both() {
  Segment segment;
  auto& out = segment.options;
  tools::put_long(out, 0x0101'080a);
  tools::put_long(out, 1000);
  tools::put_long(out, 2000);
  tools::put_long(out, 0x0101'0512);
  for (std::uint32_t const edge : {10u, 20u, 30u, 40u}) {
    tools::put_long(out, edge);
  }
  return segment;
}

TEST(Options, AreRead) {
  Segment const segment = both();
  ASSERT_TRUE(stamps_of(segment));
  EXPECT_EQ(stamps_of(segment)->value, 1000u);
  EXPECT_EQ(stamps_of(segment)->echo, 2000u);
  auto const blocks = blocks_of(segment);
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[1].left, 30u);
  EXPECT_EQ(blocks[1].right, 40u);
  EXPECT_FALSE(stamps_of(Segment{}));
  EXPECT_TRUE(blocks_of(Segment{}).empty());
}

TEST(Options, BlocksAreReplacedByAsManyOrFewer) {
  Segment segment = both();
  set_blocks(segment, {{7, 8}, {9, 11}});
  ASSERT_EQ(blocks_of(segment).size(), 2u);
  EXPECT_EQ(blocks_of(segment)[0].left, 7u);
  EXPECT_EQ(blocks_of(segment)[1].right, 11u);
  std::size_t const size = segment.options.size();
  set_blocks(segment, {{1, 2}});
  ASSERT_EQ(blocks_of(segment).size(), 1u);
  EXPECT_EQ(blocks_of(segment)[0].right, 2u);
  set_blocks(segment, {});
  EXPECT_TRUE(blocks_of(segment).empty());
  EXPECT_TRUE(stamps_of(segment));
  EXPECT_EQ(segment.options.size(), size);  // the removed option is now padding
}

TEST(Options, RemovingOneLeavesTheOthers) {
  Segment segment = both();
  remove_option(segment, option_kind::timestamps);
  EXPECT_FALSE(stamps_of(segment));
  EXPECT_EQ(blocks_of(segment).size(), 2u);
  remove_option(segment, option_kind::sack_permitted);
  EXPECT_EQ(blocks_of(segment).size(), 2u);
}

TEST(Options, TellADuplicateFromAGap) {
  EXPECT_FALSE(reports_duplicate(10, {}));
  EXPECT_TRUE(reports_duplicate(10, {{5, 10}}));
  EXPECT_FALSE(reports_duplicate(10, {{15, 20}}));
  EXPECT_TRUE(reports_duplicate(10, {{15, 20}, {12, 30}}));
  EXPECT_FALSE(reports_duplicate(10, {{15, 20}, {30, 40}}));
  EXPECT_TRUE(reports_duplicate(3, {{0xffff'fff0, 2}}));  // across 2^32
}

/// The second segment of a conversation, edited.
Segment edited_segment(Field field, std::int64_t add, std::optional<std::int64_t> value) {
  Conversation conversation;
  conversation.handshake();
  conversation.device(20, "A", {1, 1, 0});
  conversation.last().options = both().options;
  Scenario scenario;
  scenario.device = conversation.device_side();
  Edit edit;
  edit.kind = Edit::Kind::change;
  edit.packet = 4;
  edit.field = field;
  edit.add = add;
  edit.value = value;
  return edited(conversation.flow(), scenario, edit).segments.back();
}

TEST(Options, EditsChangeOneOfThem) {
  EXPECT_EQ(stamps_of(edited_segment(Field::echo, 5, {}))->echo, 2005u);
  EXPECT_EQ(stamps_of(edited_segment(Field::stamp, -5, {}))->value, 995u);
  EXPECT_FALSE(stamps_of(edited_segment(Field::stamp, 0, 0)));
  Segment const moved = edited_segment(Field::sack, 100, {});
  EXPECT_EQ(blocks_of(moved)[0].left, 110u);
  EXPECT_EQ(blocks_of(moved)[0].right, 120u);
  EXPECT_EQ(blocks_of(moved)[1].left, 30u);
  EXPECT_TRUE(blocks_of(edited_segment(Field::sack, 0, 0)).empty());
  EXPECT_EQ(edited_segment(Field::ecn, 0, 3).traffic_class, 3);
}

/// An ICMP message that is played can be read back unchanged, for IPv4 and IPv6.
TEST(Options, MessagesOfBothFamiliesQuoteWhatIsPlayed) {
  for (bool const six : {false, true}) {
    IpAddress const near = six ? IpAddress{0x2001'0db8'0000'0000, 1} : IpAddress::v4(10, 0, 0, 1);
    IpAddress const far = six ? IpAddress{0x2001'0db8'0000'0000, 2} : IpAddress::v4(10, 0, 0, 2);
    tools::IcmpError error;
    error.sender = far;
    error.message.resize(8 + (six ? 40u : 20u) + 8);
    error.message[0] = six ? std::byte{2} : std::byte{3};
    error.message[1] = six ? std::byte{0} : std::byte{4};
    error.message[8] = six ? std::byte{0x60} : std::byte{0x45};
    error.message[8 + (six ? 6 : 9)] = std::byte{6};
    tools::CapturedFrame frame;
    frame.bytes = packet_of(error, {near, Port{80}}, {far, Port{40000}}, 0x1234'5678);
    frame.original_bytes = static_cast<std::uint32_t>(frame.bytes.size());
    tools::Decoded const decoded = tools::decode(frame, tools::LinkLayer::raw_ip);
    ASSERT_EQ(decoded.kind, tools::FrameKind::icmp_error) << six;
    EXPECT_EQ(decoded.icmp.quoted_source, (Endpoint{near, Port{80}}));
    EXPECT_EQ(decoded.icmp.quoted_destination, (Endpoint{far, Port{40000}}));
    EXPECT_EQ(decoded.icmp.quoted_sequence, 0x1234'5678u);
    EXPECT_EQ(decoded.icmp.sender, far);
  }
}

// A message that ends within the headers that it quotes is not played.
TEST(Options, MessagesThatAreTooShortAreNotPlayed) {
  for (bool const six : {false, true}) {
    IpAddress const near = six ? IpAddress{0x2001'0db8'0000'0000, 1} : IpAddress::v4(10, 0, 0, 1);
    tools::IcmpError error;
    error.sender = near;
    std::size_t const least = 8 + (six ? 40u : 20u) + 8;
    for (std::size_t size = 0; size <= least + 48; ++size) {
      error.message.assign(size, std::byte{0x6f});  // 60 octets of IPv4 header
      bool const played = !packet_of(error, {near, Port{80}}, {near, Port{81}}, 1).empty();
      EXPECT_EQ(played, size >= (six ? least : 8u + 60 + 8)) << size;
    }
  }
}

}  // namespace
}  // namespace lockstep::conformance
