// TCP headers and options: one invalid segment per check.
#include "core/wire/tcp.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/units/random.hpp"

namespace lockstep::wire {
namespace {

using Octets = std::vector<std::byte>;

Octets octets_of(std::initializer_list<int> values) {
  Octets octets;
  for (int value : values) {
    octets.push_back(static_cast<std::byte>(value));
  }
  return octets;
}

// A segment with these octets as its options, padded with end marks to a whole word.
Octets segment_with(Octets options) {
  options.resize((options.size() + 3) / 4 * 4);
  Segment segment;
  segment.source = {1};
  segment.destination = {2};
  Octets octets(20);
  write(segment, octets);
  octets[12] = static_cast<std::byte>((20 + options.size()) / 4 << 4);
  octets.insert(octets.end(), options.begin(), options.end());
  return octets;
}

Drop drop_of(const Octets& octets) {
  Segment segment;
  return parse(octets, segment);
}

Options random_options(Random& random) {
  Options options;
  std::uint64_t const drawn = random.next();
  options.has_mss = (drawn & 1) != 0;
  options.mss = options.has_mss ? static_cast<std::uint16_t>(drawn >> 8) : std::uint16_t{0};
  options.has_window_scale = (drawn & 2) != 0;
  options.window_scale.shift =
      options.has_window_scale ? static_cast<std::uint8_t>(random.below(15)) : std::uint8_t{0};
  options.has_sack_permitted = (drawn & 4) != 0;
  options.has_timestamps = (drawn & 8) != 0;
  if (options.has_timestamps) {
    options.timestamp_value = static_cast<std::uint32_t>(random.next());
    options.timestamp_echo = static_cast<std::uint32_t>(random.next());
  }
  options.has_user_timeout = (drawn & 16) != 0;
  options.user_timeout =
      options.has_user_timeout ? static_cast<std::uint16_t>(random.next()) : std::uint16_t{0};
  options.has_fast_open = (drawn & 96) == 96;
  options.cookie_bytes = options.has_fast_open && (drawn & 128) != 0 ? 4 : 0;
  for (std::size_t i = 0; i < options.cookie_bytes; ++i) {
    options.cookie[i] = static_cast<std::uint8_t>(random.next());
  }
  std::uint32_t const room = tcp_options_bytes_max - options_bytes(options).count;
  if ((drawn & 16) != 0 && room >= 12) {
    options.sack_count =
        static_cast<std::uint8_t>(random.within({1, std::min<std::uint32_t>((room - 4) / 8, 4)}));
  }
  for (std::size_t i = 0; i < options.sack_count; ++i) {
    options.sack[i] = {{static_cast<std::uint32_t>(random.next())},
                       {static_cast<std::uint32_t>(random.next())}};
  }
  return options;
}

//= rfc9293#3.1
//= type=test
//# 9293:P-DOFF the data offset gives the position of the payload after the options
//# 9293:MUST-5 options are parsed in any segment, with SYN or without
TEST(Tcp, WhatIsWrittenIsReadBack) {
  Random random(1);
  for (int round = 0; round < 5'000; ++round) {
    Segment segment;
    segment.source = {static_cast<std::uint16_t>(random.within({1, 65535}))};
    segment.destination = {static_cast<std::uint16_t>(random.within({1, 65535}))};
    segment.sequence = {static_cast<std::uint32_t>(random.next())};
    segment.acknowledgment = {static_cast<std::uint32_t>(random.next())};
    segment.flags = {static_cast<std::uint8_t>(random.next())};
    segment.window = {static_cast<std::uint16_t>(random.next())};
    segment.urgent = static_cast<std::uint16_t>(random.next());
    segment.options = random_options(random);
    std::size_t const payload = random.below(100);
    Octets octets(header_bytes(segment).count + payload, std::byte{0x5a});
    ASSERT_EQ(write(segment, octets), header_bytes(segment));
    Segment read;
    ASSERT_EQ(parse(octets, read), Drop::none);
    ASSERT_EQ(read.source, segment.source);
    ASSERT_EQ(read.destination, segment.destination);
    ASSERT_EQ(read.sequence, segment.sequence);
    ASSERT_EQ(read.acknowledgment, segment.acknowledgment);
    ASSERT_EQ(read.flags, segment.flags);
    ASSERT_EQ(read.window, segment.window);
    ASSERT_EQ(read.urgent, segment.urgent);
    ASSERT_EQ(read.options, segment.options);
    ASSERT_EQ(read.payload.size(), payload);
    ASSERT_EQ(std::ranges::count(read.payload, std::byte{0x5a}),
              static_cast<std::ptrdiff_t>(payload));
  }
}

//= rfc9293#3.1
//= type=test
//# 9293:MUST-1 a window of 65,535 is large, not negative
TEST(Tcp, FieldsAreInTheirPlaces) {
  Segment segment;
  segment.source = {0x0102};
  segment.destination = {0x0304};
  segment.sequence = {0x0506'0708};
  segment.acknowledgment = {0x090a'0b0c};
  segment.flags = flag::syn | flag::ack;
  segment.window = {0xffff};
  segment.urgent = 0x1314;
  Octets octets(20);
  write(segment, octets);
  EXPECT_EQ(octets, octets_of({1,  2,  3,    4,    5,    6,    7, 8, 9,    10,
                               11, 12, 0x50, 0x12, 0xff, 0xff, 0, 0, 0x13, 0x14}));
  Segment read;
  ASSERT_EQ(parse(octets, read), Drop::none);
  EXPECT_EQ(window_from_wire(read.window, WindowScale{}).count, 65'535u);
}

//= rfc9293#3.1
//= type=test
//# 9293:P-RSRVD the reserved bits are sent as zero and ignored on receipt
TEST(Tcp, ReservedBitsAreIgnored) {
  Octets octets = segment_with({});
  EXPECT_EQ(octets[12] & std::byte{0x0f}, std::byte{0});
  octets[12] |= std::byte{0x0f};
  EXPECT_EQ(drop_of(octets), Drop::none);
}

//= rfc9293#3.4
//= type=test
//# 9293:P-SEGLEN data octets, and one each for SYN and FIN
TEST(Tcp, SegmentLengthCountsSynAndFin) {
  Octets const data(5);
  Segment segment;
  segment.sequence = {0xffff'ffff};
  segment.payload = data;
  EXPECT_EQ(segment.length().count, 5u);
  segment.flags = flag::syn | flag::ack | flag::rst | flag::urg;
  EXPECT_EQ(segment.length().count, 6u);
  segment.flags |= flag::fin;
  EXPECT_EQ(segment.length().count, 7u);
  EXPECT_EQ(segment.end().value, 6u);
}

TEST(Tcp, NineteenOctetsAreTooShort) {
  Octets octets = segment_with({});
  EXPECT_EQ(drop_of(octets), Drop::none);
  octets.pop_back();
  EXPECT_EQ(drop_of(octets), Drop::tcp_too_short);
  EXPECT_EQ(drop_of({}), Drop::tcp_too_short);
}

//= rfc9293#3.1
//= type=test
//# 9293:P-DOFF fewer than five words, or more than the segment has, are invalid
TEST(Tcp, ADataOffsetUnderFiveOrBeyondTheSegmentIsDropped) {
  for (int words = 0; words < 16; ++words) {
    Octets octets = segment_with(octets_of({1, 1, 1, 1}));
    octets[12] = static_cast<std::byte>(words << 4);
    EXPECT_EQ(drop_of(octets), words == 5 || words == 6 ? Drop::none : Drop::tcp_data_offset)
        << words;
  }
}

TEST(Tcp, APortOfZeroIsDropped) {
  Octets octets = segment_with({});
  octets[1] = std::byte{0};
  EXPECT_EQ(drop_of(octets), Drop::tcp_port_zero);
  octets = segment_with({});
  octets[3] = std::byte{0};
  EXPECT_EQ(drop_of(octets), Drop::tcp_port_zero);
}

Options options_of(const Octets& octets) {
  Segment segment;
  EXPECT_EQ(parse(octets, segment), Drop::none);
  return segment.options;
}

//= rfc9293#3.1
//= type=test
//# 9293:MUST-4 end of list, NOP and MSS
//= rfc9293#3.2
//= type=test
//# 9293:P-MSS-FORMAT kind 2, length 4, value
TEST(TcpOptions, MssIsKind2Length4) {
  Options const options = options_of(segment_with(octets_of({2, 4, 0x05, 0xb4})));
  EXPECT_TRUE(options.has_mss);
  EXPECT_EQ(options.mss, 1460);
  Octets octets(4);
  write(options, octets);
  EXPECT_EQ(octets, octets_of({2, 4, 0x05, 0xb4}));
}

TEST(TcpOptions, AnMssAloneIsWrittenAsWithOthers) {
  Options options;
  options.has_mss = true;
  options.mss = 0x1234;
  Octets general(4, std::byte{0xee});
  Octets alone = general;
  EXPECT_EQ(write(options, general), Bytes{4});
  EXPECT_EQ(write_mss(options.mss, alone), Bytes{4});
  EXPECT_EQ(alone, general);
}

//= rfc9293#3.2
//= type=test
//# 9293:MUST-64 an option may begin at any octet
//= rfc9293#3.1
//= type=test
//# 9293:P-OPT-FORMAT at any octet; its length includes kind, length and data
TEST(TcpOptions, AnyAlignmentIsRead) {
  for (int nops = 0; nops < 4; ++nops) {
    Octets octets(static_cast<std::size_t>(nops), std::byte{1});
    Octets const mss = octets_of({2, 4, 0x02, 0x18});
    octets.insert(octets.end(), mss.begin(), mss.end());
    EXPECT_EQ(options_of(segment_with(octets)).mss, 536);
  }
}

//= rfc9293#3.1
//= type=test
//# 9293:MUST-6, 9293:MUST-68 an unknown kind is skipped by its length, the rest is parsed
TEST(TcpOptions, AnUnknownKindIsSkipped) {
  Options const options =
      options_of(segment_with(octets_of({254, 5, 2, 4, 9, 99, 2, 2, 4, 0x05, 0xb4})));
  EXPECT_EQ(options.mss, 1460);
  Options expected;
  expected.has_mss = true;
  expected.mss = 1460;
  EXPECT_EQ(options, expected);
}

//= rfc9293#3.2
//= type=test
//# 9293:P-EOL nothing after the end mark is an option
TEST(TcpOptions, TheEndMarkEndsTheList) {
  EXPECT_TRUE(options_of(segment_with(octets_of({1, 0, 2, 4, 0x05, 0xb4, 2, 0}))).empty());
}

//= rfc9293#3.1
//= type=test
//# 9293:MUST-7 0, 1, beyond the header, and a wrong length for a known kind
TEST(TcpOptions, Defect10_AnInvalidLengthOnlyDropsTheSegment) {
  for (Octets const& options :
       {octets_of({2, 0, 0, 0}), octets_of({2, 1, 0, 0}), octets_of({2, 5, 0, 0}),
        octets_of({254, 0, 0, 0}), octets_of({254, 1, 0, 0}), octets_of({254, 255, 0, 0}),
        octets_of({1, 1, 1, 2}), octets_of({1, 1, 1, 254}), octets_of({2, 3, 0, 1}),
        octets_of({1, 1, 2, 4}), octets_of({3, 2, 1, 1}), octets_of({3, 4, 1, 1}),
        octets_of({4, 3, 1, 1}), octets_of({8, 4, 0, 0}), octets_of({5, 2, 1, 1}),
        octets_of({5, 9, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1})}) {
    EXPECT_EQ(drop_of(segment_with(options)), Drop::tcp_option_malformed);
  }
  // Five blocks do not fit into a header, so no other test would detect them.
  Octets five_blocks = octets_of({5, 42});
  five_blocks.resize(42);
  Options options;
  EXPECT_EQ(parse(five_blocks, options), Drop::tcp_option_malformed);
}

// What a lenient reader keeps: all but the malformed option and, if its length leads nowhere, what
// follows it.
TEST(TcpOptions, ALenientReaderKeepsWhatIsWhole) {
  struct Row {
    Octets octets;
    std::uint16_t mss;
    bool sack_permitted;
  };
  for (Row const& row : {Row{octets_of({2, 4, 1, 2, 4, 2, 1, 1}), 0x102, true},
                         Row{octets_of({2, 4, 1, 2, 254, 0, 4, 2}), 0x102, false},
                         Row{octets_of({2, 4, 1, 2, 4, 3, 9, 1}), 0x102, false},
                         Row{octets_of({2, 3, 9, 4, 2, 1, 1, 1}), 0, true},
                         Row{octets_of({2, 4, 1, 2, 0, 1, 4, 2}), 0x102, false},
                         Row{octets_of({4, 2, 1, 1, 1, 1, 2, 4}), 0, true},
                         Row{octets_of({4, 2, 1, 1, 1, 1, 1, 2}), 0, true}}) {
    Options options;
    parse_leniently(row.octets, options);
    EXPECT_EQ(options.mss, row.mss);
    EXPECT_EQ(options.has_mss, row.mss != 0);
    EXPECT_EQ(options.has_sack_permitted, row.sack_permitted);
  }
}

//= rfc7413#4.1.1
//= type=test
//# 7413:TFO-3 kind 34, empty or 4 to 16 octets and even; anything else is ignored
//= rfc5482#3.3
//= type=test
//# 5482:UTO-8 kind 28, length 4
TEST(TcpOptions, WrongLengthsOfOptionalKindsAreIgnored) {
  for (std::uint32_t bytes = 0; bytes <= 20; ++bytes) {
    Octets octets(2 + bytes, std::byte{7});
    octets[0] = std::byte{34};
    octets[1] = static_cast<std::byte>(2 + bytes);
    Options const options = options_of(segment_with(octets));
    bool const cookie = bytes % 2 == 0 && bytes >= 4 && bytes <= 16;
    EXPECT_EQ(options.has_fast_open, bytes == 0 || cookie) << bytes;
    EXPECT_EQ(options.cookie_bytes, cookie ? bytes : 0) << bytes;
    octets[0] = std::byte{28};
    EXPECT_EQ(options_of(segment_with(octets)).has_user_timeout, bytes == 2) << bytes;
  }
  EXPECT_EQ(options_of(segment_with(octets_of({28, 4, 0x81, 0x02}))).user_timeout, 0x8102);
}

TEST(TcpOptions, Defect10_NoHeaderAndNoOptionIsReadBeyondTheSegment) {
  // Each segment in a buffer of exactly its size, so that a sanitizer detects any excess access.
  Random random(10);
  for (int round = 0; round < 40'000; ++round) {
    std::size_t const size = random.below(64);
    std::vector<std::byte> octets(size);
    octets.shrink_to_fit();
    for (std::byte& octet : octets) {
      octet = static_cast<std::byte>(random.below(round % 2 == 0 ? 256 : 10));
    }
    if (size >= 20) {
      octets[1] |= std::byte{1};
      octets[3] |= std::byte{1};
      octets[12] = static_cast<std::byte>(random.below(16) << 4);
    }
    Segment segment;
    if (parse(octets, segment) == Drop::none) {
      ASSERT_LE(segment.payload.size() + 20, size);
      ASSERT_LE(segment.options.sack_count, sack_blocks_max);
      ASSERT_LE(segment.options.window_scale.shift, 14);
    }
  }
}

//= rfc7323#2.3
//= type=test
//# 7323:TS-5 a shift above 14 is used as 14
TEST(TcpOptions, AWindowScaleAbove14Is14) {
  EXPECT_EQ(options_of(segment_with(octets_of({3, 3, 14}))).window_scale.shift, 14);
  EXPECT_EQ(options_of(segment_with(octets_of({3, 3, 15}))).window_scale.shift, 14);
  EXPECT_EQ(options_of(segment_with(octets_of({3, 3, 255}))).window_scale.shift, 14);
}

//= rfc2018#3
//= type=test
//# 2018:SACK-13 left edge first, right edge one past the last octet
TEST(TcpOptions, SackBlocksAreRead) {
  Options const options = options_of(segment_with(
      octets_of({1, 1, 5, 18, 0, 0, 0, 1, 0, 0, 0, 9, 255, 255, 255, 255, 0, 0, 0, 3})));
  ASSERT_EQ(options.sack_count, 2);
  EXPECT_EQ(options.sack[0], (SackBlock{{1}, {9}}));
  EXPECT_EQ(options.sack[1], (SackBlock{{0xffff'ffff}, {3}}));
}

// Found by tcp_fuzz: blocks of the first option remained behind those of the second.
TEST(TcpOptions, OfTwoSackOptionsTheLastCounts) {
  std::array<std::byte, 28> bytes{};
  bytes[0] = std::byte{5};
  bytes[1] = std::byte{18};
  bytes[17] = std::byte{9};
  bytes[18] = std::byte{5};
  bytes[19] = std::byte{10};
  bytes[27] = std::byte{7};
  Options options;
  ASSERT_EQ(parse(bytes, options), Drop::none);
  EXPECT_EQ(options.sack_count, 1);
  EXPECT_EQ(options.sack[0], (SackBlock{{0}, {7}}));
  EXPECT_EQ(options.sack[1], SackBlock{});
}

//= rfc9293#3.1
//= type=test
//# 9293:MUST-69 all octets after an end mark are zero
TEST(TcpOptions, WhatIsWrittenFillsWholeWordsAndNeedsNoPadding) {
  Random random(3);
  for (int round = 0; round < 2'000; ++round) {
    Options const options = random_options(random);
    Octets octets(tcp_options_bytes_max, std::byte{0xee});
    Bytes const written = write(options, octets);
    ASSERT_EQ(written, options_bytes(options));
    ASSERT_EQ(written.count % 4, 0u);
    ASSERT_TRUE(std::ranges::all_of(std::span(octets).subspan(written.count),
                                    [](std::byte b) { return b == std::byte{0xee}; }));
    std::size_t at = 0;
    bool ended = false;
    while (at < written.count) {
      std::byte const kind = octets[at];
      ended = ended || kind == std::byte{0};
      ASSERT_TRUE(!ended || kind == std::byte{0});
      at += kind <= std::byte{1} ? 1 : std::to_integer<std::size_t>(octets[at + 1]);
    }
    ASSERT_EQ(at, written.count);
  }
}

// As tcpdump shows a SYN of Linux 6 and of FreeBSD 14.
TEST(TcpOptions, FollowTheOrderOfTheProfilesSystem) {
  Options options;
  options.has_mss = options.has_window_scale = true;
  options.has_sack_permitted = options.has_timestamps = true;
  options.mss = 1460;
  options.window_scale = {7};
  options.timestamp_value = 0x01020304;
  Octets octets(20);
  EXPECT_EQ(write(options, octets, OptionOrder::like_linux).count, 20u);
  EXPECT_EQ(octets, octets_of({2, 4, 0x05, 0xb4, 4, 2, 8, 10, 1, 2, 3, 4, 0, 0, 0, 0, 1, 3, 3, 7}));
  EXPECT_EQ(write(options, octets, OptionOrder::like_freebsd).count, 20u);
  EXPECT_EQ(octets, octets_of({2, 4, 0x05, 0xb4, 1, 3, 3, 7, 4, 2, 8, 10, 1, 2, 3, 4, 0, 0, 0, 0}));
  // FreeBSD ends the list where Linux puts NOPs before an option.
  options.has_timestamps = options.has_window_scale = false;
  options.timestamp_value = 0;
  options.window_scale = {};
  octets.resize(8);
  EXPECT_EQ(write(options, octets, OptionOrder::like_linux).count, 8u);
  EXPECT_EQ(octets, octets_of({2, 4, 0x05, 0xb4, 1, 1, 4, 2}));
  EXPECT_EQ(write(options, octets, OptionOrder::like_freebsd).count, 8u);
  EXPECT_EQ(octets, octets_of({2, 4, 0x05, 0xb4, 4, 2, 0, 0}));
  options.has_fast_open = options.has_timestamps = true;
  octets.resize(20);
  EXPECT_EQ(write(options, octets, OptionOrder::like_freebsd).count, 20u);
  EXPECT_EQ(octets,
            octets_of({2, 4, 0x05, 0xb4, 4, 2, 8, 10, 0, 0, 0, 0, 0, 0, 0, 0, 34, 2, 0, 0}));
}

PseudoHeader pseudo_of(const Octets& octets) {
  return {IpAddress::v4(10, 0, 0, 1), IpAddress::v4(10, 0, 0, 2), 6,
          Bytes{static_cast<std::uint32_t>(octets.size())}};
}

//= rfc9293#3.1
//= type=test
//# 9293:MUST-2 writing header and checksum at once gives the same octets
TEST(TcpChecksum, WrittenWholeOrInTwoSteps) {
  for (std::uint32_t options : {0u, 4u, 40u}) {
    for (std::size_t payload : {0u, 1u, 64u}) {
      Header header;
      header.source = {40'000};
      header.destination = {80};
      header.sequence = {0xffff'fff0};
      header.acknowledgment = {0x8000'0001};
      header.flags = flag::ack | flag::urg;
      header.window = {0xfffe};
      header.urgent = 7;
      Octets steps(tcp_header_bytes + options + payload, std::byte{0xee});
      Octets whole = steps;
      Bytes const length = write(header, Bytes{options}, steps);
      Partial const data = sum(std::span(steps).subspan(length.count));
      write_checksum(steps, length, pseudo_of(steps), data);
      write_whole(header, Bytes{options}, pseudo_of(whole), data, whole);
      EXPECT_EQ(whole, steps) << options << ' ' << payload;
    }
  }
}

//= rfc9293#3.1
//= type=test
//# 9293:MUST-2 the sender's checksum covers pseudo-header, header, options and data
//# 9293:MUST-3 the receiver detects every changed bit
TEST(TcpChecksum, EveryBitErrorIsDetected) {
  for (std::size_t payload : {0u, 1u, 2u, 33u, 100u}) {
    Segment segment;
    segment.source = {40'000};
    segment.destination = {80};
    segment.flags = flag::ack;
    segment.options.has_mss = true;
    segment.options.mss = 1460;
    Octets data(payload, std::byte{0xfe});
    Octets octets(24 + payload, std::byte{0xee});  // previous content does not matter
    Bytes const header = write(segment, octets);
    Partial const data_sum = copy_and_sum(std::span(octets).subspan(header.count), data);
    write_checksum(octets, header, pseudo_of(octets), data_sum);
    ASSERT_TRUE(checksum_verifies(pseudo_of(octets), octets));
    for (std::size_t bit = 0; bit < octets.size() * 8; ++bit) {
      Octets bad = octets;
      bad[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
      ASSERT_FALSE(checksum_verifies(pseudo_of(bad), bad)) << bit;
    }
    PseudoHeader other = pseudo_of(octets);
    other.destination = IpAddress::v4(10, 0, 0, 3);
    EXPECT_FALSE(checksum_verifies(other, octets));
    other = pseudo_of(octets);
    other.protocol = 17;
    EXPECT_FALSE(checksum_verifies(other, octets));
  }
}

TEST(TcpFlags, JoinAndPart) {
  Flags const both = flag::syn | flag::ack;
  EXPECT_TRUE(both.syn() && both.ack() && !both.fin() && !both.rst());
  EXPECT_TRUE(both.any_of(flag::ack | flag::fin));
  EXPECT_FALSE(both.all_of(flag::ack | flag::fin));
  EXPECT_TRUE(both.all_of(both));
  EXPECT_EQ(both.without(flag::syn), flag::ack);
  EXPECT_TRUE(flag::urg.urg() && flag::psh.psh() && flag::ece.ece() && flag::cwr.cwr());
}

}  // namespace
}  // namespace lockstep::wire
