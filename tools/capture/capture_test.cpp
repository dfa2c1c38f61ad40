// What the reader makes of good, broken and foreign files, and of thousands of mutations.
#include "tools/capture/capture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "core/units/random.hpp"
#include "tools/capture/decode.hpp"
#include "tools/capture/octets.hpp"
#include "tools/capture/pcapng_writer.hpp"
#include "tools/cli/failure.hpp"
#include "tools/output/draft_file.hpp"

namespace lockstep::tools {
namespace {

using ::testing::HasSubstr;

std::string path() { return ::testing::TempDir() + "capture_test.pcap"; }

void write(std::string_view bytes) { std::ofstream(path(), std::ios::binary) << bytes; }

std::string sample() {
  std::ifstream file(std::string(LOCKSTEP_SOURCE_DIR) +
                         "/pcaps/rfc9293-3.5-three-way-handshake-passive/capture.pcapng",
                     std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::size_t read_all() {
  CaptureReader reader(path());
  CapturedFrame frame;
  std::size_t count = 0;
  while (reader.next(frame)) {
    decode(frame, reader.link());
    ++count;
  }
  return count;
}

/// The one line that a file gets.
std::string complaint(std::string_view bytes) {
  write(bytes);
  try {
    read_all();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::bad_input);
    std::string const what = failure.what();
    EXPECT_EQ(what.find('\n'), std::string::npos) << what;
    EXPECT_THAT(what, HasSubstr("expected"));
    EXPECT_THAT(what, HasSubstr("capture_test.pcap"));
    return what;
  }
  return "no complaint";
}

/// A little-endian pcap header of a link type.
std::string pcap_header(char link) {
  std::string out = "\xd4\xc3\xb2\xa1";
  out += std::string("\x02\0\x04\0\0\0\0\0\0\0\0\0\xff\xff\0\0", 16);
  return out + link + std::string(3, '\0');
}

TEST(Reader, ReadsAWholeCapture) {
  write(sample());
  EXPECT_EQ(read_all(), 5u);
}

TEST(Reader, RefusesWhatIsNoCaptureInOneLine) {
  EXPECT_THAT(complaint(""), HasSubstr("is empty"));
  EXPECT_THAT(complaint("\x1f\x8b\x08\x00"), HasSubstr("gunzip"));
  EXPECT_THAT(complaint("\x28\xb5\x2f\xfd\x00"), HasSubstr("unzstd"));
  EXPECT_THAT(complaint("hello"), HasSubstr("not a capture"));
  EXPECT_THAT(complaint(pcap_header(105)), HasSubstr("link type"));
  EXPECT_THAT(complaint(pcap_header(1).substr(0, 10)), HasSubstr("header is broken"));
}

TEST(Reader, NamesThePacketAtWhichAFileBreaksOff) {
  std::string const whole = sample();
  EXPECT_THAT(complaint(whole.substr(0, whole.size() - 5)), HasSubstr("packet 5"));
}

TEST(Reader, RefusesMissingFilesAndFolders) {
  EXPECT_THROW(CaptureReader{"/nowhere/at/all.pcap"}, Failure);
  EXPECT_THROW(CaptureReader{std::string(::testing::TempDir())}, Failure);
}

TEST(Reader, SurvivesMutatedCaptures) {
  std::string const whole = sample();
  Random random(7);
  for (int round = 0; round < 1500; ++round) {
    std::string bytes = whole;
    std::uint64_t const changes = 1 + random.below(4);
    for (std::uint64_t i = 0; i < changes; ++i) {
      bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
    }
    if (random.below(4) == 0) {
      bytes.resize(random.below(bytes.size()));
    }
    write(bytes);
    try {
      read_all();
    } catch (const Failure& failure) {
      EXPECT_EQ(std::string(failure.what()).find('\n'), std::string::npos);
    }
  }
}

CapturedFrame frame_of(std::vector<std::byte> bytes) {
  CapturedFrame out;
  out.original_bytes = static_cast<std::uint32_t>(bytes.size());
  out.bytes = std::move(bytes);
  return out;
}

/// An IPv4 packet with a bare TCP header, its checksum right.
std::vector<std::byte> bare_tcp() {
  std::vector<std::byte> out;
  for (unsigned word : {0x4500u, 40u, 0u, 0x4000u, 0x4006u, 0u, 0x0a00u, 1u, 0x0a00u, 2u}) {
    put_word(out, word);
  }
  for (unsigned word : {80u, 40000u, 0u, 7u, 0u, 9u, 0x5010u, 512u, 0u, 0u}) {
    put_word(out, word);
  }
  std::uint32_t const pseudo = ones_sum(std::span(out).subspan(12, 8), 6 + 20);
  set_word(out, 36,
           static_cast<std::uint16_t>(~ones_fold(ones_sum(std::span(out).subspan(20), pseudo))));
  return out;
}

TEST(Decode, ReadsATcpHeaderOnEachLinkLayer) {
  struct Case {
    LinkLayer link;
    std::vector<unsigned> header;
  };
  const Case cases[] = {
      {LinkLayer::raw_ip, {}},
      {LinkLayer::ethernet, {1, 2, 3, 4, 5, 6, 0x0800}},
      {LinkLayer::ethernet, {1, 2, 3, 4, 5, 6, 0x8100, 5, 0x0800}},
      {LinkLayer::ethernet, {1, 2, 3, 4, 5, 6, 0x88a8, 5, 0x8100, 6, 0x0800}},
      {LinkLayer::linux_cooked, {0, 1, 6, 1, 2, 3, 4, 0x0800}},
      {LinkLayer::linux_cooked_2, {0x0800, 0, 0, 1, 0, 6, 0, 0, 0, 0}},
      {LinkLayer::loopback, {0x0200, 0}},
      {LinkLayer::ppp, {0x0021}},
      {LinkLayer::ppp, {0xff03, 0x0021}},
  };
  for (const Case& one : cases) {
    std::vector<std::byte> bytes;
    for (unsigned word : one.header) {
      put_word(bytes, word);
    }
    auto const tcp = bare_tcp();
    bytes.insert(bytes.end(), tcp.begin(), tcp.end());
    Decoded const decoded = decode(frame_of(bytes), one.link);
    ASSERT_EQ(decoded.kind, FrameKind::tcp);
    EXPECT_EQ(text_of(decoded.segment.source), "10.0.0.1:80");
    EXPECT_EQ(decoded.segment.sequence, 7u);
    EXPECT_EQ(decoded.segment.acknowledgment, 9u);
    EXPECT_EQ(decoded.segment.sum, SumState::good);
  }
}

TEST(Decode, WhatIsNoIpOverPppIsNotTaken) {
  EXPECT_EQ(decode(frame_of({std::byte{0xc0}, std::byte{0x21}}), LinkLayer::ppp).kind,
            FrameKind::not_ip);  // LCP
  EXPECT_EQ(decode(frame_of({std::byte{0xff}, std::byte{0x03}, std::byte{}}), LinkLayer::ppp).kind,
            FrameKind::cut_short);
}

TEST(Decode, TellsBadSumsAndCutPayloads) {
  auto bytes = bare_tcp();
  bytes[36] ^= std::byte{1};
  EXPECT_EQ(decode(frame_of(bytes), LinkLayer::raw_ip).segment.sum, SumState::bad);
  CapturedFrame cut = frame_of(bare_tcp());
  set_word(cut.bytes, 2, 1040);
  cut.original_bytes = 1040;
  Decoded const decoded = decode(cut, LinkLayer::raw_ip);
  EXPECT_EQ(decoded.segment.missing, 1000u);
  EXPECT_EQ(decoded.segment.sum, SumState::unverifiable);
}

TEST(Writer, WritesWhatTheReaderReads) {
  PcapngWriter writer;
  writer.add(Instant{} + Duration::nanoseconds(1'234'567'891), bare_tcp(), "a comment");
  save_file(path(), writer.bytes());
  CaptureReader reader(path());
  CapturedFrame frame;
  ASSERT_TRUE(reader.next(frame));
  EXPECT_EQ(reader.link(), LinkLayer::raw_ip);
  EXPECT_EQ(frame.time.ns, 1'234'567'891u);
  EXPECT_EQ(frame.bytes, bare_tcp());
  EXPECT_FALSE(reader.next(frame));
}

}  // namespace
}  // namespace lockstep::tools
