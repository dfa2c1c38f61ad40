// The reader on valid, damaged and foreign files, and on thousands of mutations.
#include "tools/base/capture/capture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>
#include <test_paths.hpp>

#include <fstream>
#include <iterator>

#include "core/units/random.hpp"
#include "tools/base/capture/decode.hpp"
#include "tools/base/capture/octets.hpp"
#include "tools/base/capture/pcapng_writer.hpp"
#include "tools/base/output/atomic_file.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/base/text/units.hpp"

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

/// The error for a file of these bytes.
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

/// A little-endian pcap header with this link type.
std::string pcap_header(char link) {
  std::string out = "\xd4\xc3\xb2\xa1";
  out += std::string("\x02\0\x04\0\0\0\0\0\0\0\0\0\xff\xff\0\0", 16);
  return out + link + std::string(3, '\0');
}

std::string little(std::uint64_t value, int octets) {
  std::string out;
  for (int i = 0; i < octets; ++i) {
    out.push_back(static_cast<char>(value >> (8 * i)));
  }
  return out;
}

/// A packet record of a pcap file, with its time in seconds and microseconds.
std::string record_of(std::uint32_t seconds, std::uint32_t microseconds, const std::string& bytes) {
  return little(seconds, 4) + little(microseconds, 4) + little(bytes.size(), 4) +
         little(bytes.size(), 4) + bytes;
}

TEST(Reader, ReadsAWholeCapture) {
  write(sample());
  EXPECT_EQ(read_all(), 5u);
}

TEST(Reader, RefusesOtherFilesInOneLine) {
  EXPECT_THAT(complaint(""), HasSubstr("is empty"));
  EXPECT_THAT(complaint("\x28\xb5\x2f\xfd\x00"), HasSubstr("unzstd"));
  EXPECT_THAT(complaint("hello"), HasSubstr("not a capture"));
  EXPECT_THAT(complaint(pcap_header(105)), HasSubstr("link type"));
  EXPECT_THAT(complaint(pcap_header(1).substr(0, 10)), HasSubstr("header is broken"));
}

/// The number of frames read from a file, and the warning at its end.
std::pair<std::size_t, std::string> read_with_warning(std::string_view bytes) {
  write(bytes);
  CaptureReader reader(path());
  CapturedFrame frame;
  std::size_t count = 0;
  while (reader.next(frame)) {
    ++count;
  }
  return {count, reader.warning()};
}

TEST(Reader, UsesThePacketsBeforeATruncation) {
  std::string const whole = sample();
  auto const [count, warning] = read_with_warning(whole.substr(0, whole.size() - 5));
  EXPECT_EQ(count, 4u);
  EXPECT_THAT(warning, HasSubstr("capture_test.pcap: packet 5: the file is truncated"));
  EXPECT_THAT(warning, HasSubstr("4 packets before it are used"));
  EXPECT_EQ(read_with_warning(whole).second, "");
}

TEST(Reader, UsesThePacketsBeforeATruncationInPcap) {
  std::string const record = record_of(5, 0, std::string(30, 'x'));
  std::string const file = pcap_header(1) + record + record.substr(0, record.size() - 1);
  auto const [count, warning] = read_with_warning(file);
  EXPECT_EQ(count, 1u);
  EXPECT_THAT(warning, HasSubstr("packet 2: the file is truncated"));
  EXPECT_THAT(warning, HasSubstr("the packet before it are used"));
}

TEST(Reader, RefusesATruncationBeforeTheFirstPacket) {
  EXPECT_THAT(complaint(pcap_header(1) + "abc"), HasSubstr("packet 1: the file is truncated"));
}

TEST(Reader, ReadsTimesBeyond2038) {
  std::uint32_t const in_2105 = 4'270'000'000;
  write(pcap_header(1) + record_of(in_2105, 7, std::string(30, 'x')));
  CaptureReader reader(path());
  CapturedFrame frame;
  ASSERT_TRUE(reader.next(frame));
  EXPECT_EQ(frame.time.ns, std::uint64_t{in_2105} * 1'000'000'000 + 7'000);
}

std::string packed(const std::string& bytes) {
  std::string const name = path() + ".gz";
  gzFile const file = gzopen(name.c_str(), "wb");
  gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(file);
  std::ifstream in(name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Reader, ReadsGzip) {
  EXPECT_EQ(read_with_warning(packed(sample())), std::pair(std::size_t{5}, std::string()));
  std::string const classic = pcap_header(1) + record_of(5, 0, std::string(30, 'x'));
  EXPECT_EQ(read_with_warning(packed(classic)).first, 1u);
  EXPECT_THAT(complaint(packed("hello")), HasSubstr("not a capture"));
  EXPECT_THAT(complaint(packed(packed(classic))), HasSubstr("compressed twice"));
}

TEST(Reader, NamesTheDamageOfGzip) {
  std::string file = packed(sample());
  file[file.size() - 8] = static_cast<char>(~file[file.size() - 8]);  // the CRC
  EXPECT_THAT(complaint(file), HasSubstr("the gzip data is damaged"));
}

// A device, or a pipe that something else fills.
TEST(Reader, RefusesAnEndlessInputAtOnce) {
  try {
    CaptureReader const reader("/dev/zero");
    FAIL() << "it was read";
  } catch (const Failure& failure) {
    EXPECT_THAT(failure.what(), HasSubstr("not a capture"));
  }
}

TEST(Reader, UsesThePacketsBeforeATruncationOfGzip) {
  std::string file = pcap_header(1);
  for (unsigned i = 0; i < 5000; ++i) {
    file += record_of(i, i * 7919 % 1'000'000, std::string(30, static_cast<char>(i)));
  }
  std::string const whole = packed(file);
  auto const [count, warning] = read_with_warning(whole.substr(0, whole.size() / 2));
  EXPECT_GT(count, 1000u);
  EXPECT_LT(count, 5000u);
  EXPECT_THAT(warning, HasSubstr("the gzip data is truncated"));
}

TEST(Reader, ReadsAPipeMoreThanOnce) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::string const bytes = sample();
  ASSERT_EQ(::write(ends[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  close(ends[1]);
  std::string const name = "/proc/self/fd/" + std::to_string(ends[0]);
  for (int i = 0; i < 2; ++i) {
    CaptureReader reader(name);
    CapturedFrame frame;
    std::size_t count = 0;
    while (reader.next(frame)) {
      ++count;
    }
    EXPECT_EQ(count, 5u);
  }
  close(ends[0]);
}

std::string block(std::uint32_t type, std::string body) {
  body.resize((body.size() + 3) / 4 * 4);
  std::string const length = little(body.size() + 12, 4);
  return little(type, 4) + length + body + length;
}

std::string interface_block(int link, std::uint32_t snap, std::string options = {}) {
  std::string const head = little(static_cast<unsigned>(link), 2) + little(0, 2);
  return block(1, head + little(snap, 4) + options);
}

std::string packet_block(std::uint32_t on, std::uint64_t stamp, const std::string& bytes) {
  return block(6, little(on, 4) + little(stamp >> 32, 4) + little(stamp, 4) +
                      little(bytes.size(), 4) + little(bytes.size(), 4) + bytes);
}

std::string section() {
  return block(0x0a0d0d0a, little(0x1a2b3c4d, 4) + little(1, 4) + little(~0ull, 8));
}

TEST(Reader, ReadsInterfacesOfSeveralSnapLengthsLinksAndClocks) {
  std::string const nanoseconds = little(9, 2) + little(1, 2) + little(9, 4);
  std::string const binary = little(9, 2) + little(1, 2) + little(0x80 | 40, 4) + little(14, 2) +
                             little(8, 2) + little(100, 8);
  write(section() + interface_block(1, 65535) + interface_block(101, 262144, nanoseconds) +
        interface_block(113, 96, binary) + packet_block(0, 3'000'001, "ethernet") +
        packet_block(1, 3'000'000'001, "raw") + packet_block(2, 7ull << 39, "cooked"));
  CaptureReader reader(path());
  CapturedFrame frame;
  struct Expected {
    LinkLayer link;
    std::uint64_t ns;
    std::size_t bytes;
  };
  for (const Expected& want : {Expected{LinkLayer::ethernet, 3'000'001'000, 8},
                               Expected{LinkLayer::raw_ip, 3'000'000'001, 3},
                               Expected{LinkLayer::linux_cooked, 103'500'000'000, 6}}) {
    ASSERT_TRUE(reader.next(frame));
    EXPECT_EQ(reader.link(), want.link);
    EXPECT_EQ(frame.time.ns, want.ns);
    EXPECT_EQ(frame.bytes.size(), want.bytes);
  }
  EXPECT_FALSE(reader.next(frame));
  EXPECT_EQ(reader.warning(), "");
}

TEST(Reader, RefusesBrokenBlocksByTheirPacket) {
  std::string const good = section() + interface_block(1, 0) + packet_block(0, 0, "good");
  EXPECT_THAT(complaint(good + packet_block(1, 0, "other")),
              HasSubstr("packet 2: a packet of interface 1"));
  EXPECT_THAT(complaint(good + little(6, 4) + little(9, 4) + "x"),
              HasSubstr("packet 2: a block of 9"));
  EXPECT_THAT(complaint(good + little(6, 4) + little(17u << 20, 4) + "x"),
              HasSubstr("packet 2: a block of 17825792"));
  EXPECT_THAT(complaint(good + interface_block(250, 0) + packet_block(1, 0, "x")),
              HasSubstr("link type 250"));
  std::string torn = packet_block(0, 0, "good");
  torn[torn.size() - 4] ^= 4;
  EXPECT_THAT(complaint(good + torn), HasSubstr("begins with the length 36 and ends with"));
}

// Truncated headers are reported differently from another protocol.
TEST(Reader, TellsHowToRecordTruncatedHeaders) {
  for (FrameKind const kind : {FrameKind::cut_short, FrameKind::not_tcp}) {
    FrameCounts counts{};
    counts[static_cast<std::size_t>(kind)] = 1;
    try {
      expect_tcp("a.pcap", 1, counts);
      FAIL();
    } catch (const Failure& failure) {
      bool const longer = std::string_view(failure.what()).find("-s 0") != std::string_view::npos;
      EXPECT_EQ(longer, kind == FrameKind::cut_short) << failure.what();
    }
  }
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

/// An IPv4 packet with a bare TCP header and a correct checksum.
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

TEST(Decode, ReadsNoPacketBehindABrokenHeaderOfApple) {
  const std::pair<std::vector<unsigned>, FrameKind> cases[] = {
      {{0x0c00, 0, 0x0100, 0, 0x0c00}, FrameKind::not_tcp},
      {{0x0b00, 0, 0x0100, 0, 0x0c00, 0}, FrameKind::malformed},
      {{0xffff, 0xffff, 0x0100, 0, 0x0c00, 0}, FrameKind::not_tcp},
      {{0x0c00, 0, 0x0200, 0, 0x0c00, 0}, FrameKind::not_ip},
      {{0x0c00, 0, 0x0100, 0, 0x0201, 0}, FrameKind::not_ip},       // PKTAP again
      {{0x0c00, 0, 0x0100, 0, 0x0c00, 0x0100}, FrameKind::not_ip},  // no such number
  };
  for (auto const& [header, kind] : cases) {
    std::vector<std::byte> bytes;
    for (unsigned word : header) {
      put_word(bytes, word);
    }
    EXPECT_EQ(decode(frame_of(bytes), LinkLayer::pktap).kind, kind);
  }
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
      {LinkLayer::pktap, {0x0c00, 0, 0x0100, 0, 0x0c00, 0}},
      {LinkLayer::pktap, {0x1000, 0, 0x0100, 0, 0x0100, 0, 7, 7, 1, 2, 3, 4, 5, 6, 0x0800}},
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

std::vector<std::byte> words(std::initializer_list<unsigned> list) {
  std::vector<std::byte> out;
  for (unsigned word : list) {
    put_word(out, word);
  }
  return out;
}

std::vector<std::byte> joined(std::vector<std::byte> head, const std::vector<std::byte>& tail) {
  head.insert(head.end(), tail.begin(), tail.end());
  return head;
}

/// An IPv4 packet of the given protocol around `payload`.
std::vector<std::byte> within_v4(unsigned protocol, const std::vector<std::byte>& payload) {
  auto const total = static_cast<unsigned>(20 + payload.size());
  return joined(words({0x4500, total, 0, 0, 0x4000 | protocol, 0, 0xc0a8, 1, 0xc0a8, 2}), payload);
}

std::vector<std::byte> within_udp(unsigned port, const std::vector<std::byte>& payload) {
  return within_v4(
      17, joined(words({49152, port, static_cast<unsigned>(8 + payload.size()), 0}), payload));
}

TEST(Decode, OpensTunnels) {
  auto const tcp = bare_tcp();
  auto const ethernet = joined(words({1, 2, 3, 4, 5, 6, 0x0800}), tcp);
  auto const six = [](unsigned next, const std::vector<std::byte>& payload) {
    auto out = words({0x6000, 0, static_cast<unsigned>(payload.size()), next << 8 | 64});
    out.resize(40);
    return joined(out, payload);
  };
  const std::pair<const char*, std::vector<std::byte>> cases[] = {
      {"IPv4 in IPv4", within_v4(4, tcp)},
      {"IPv4 in IPv4 in IPv4", within_v4(4, within_v4(4, tcp))},
      {"IPv4 in IPv6", six(4, tcp)},
      {"IPv4 in IPv6 in IPv4", within_v4(41, six(4, tcp))},
      {"GRE", within_v4(47, joined(words({0, 0x0800}), tcp))},
      {"GRE with key and number", within_v4(47, joined(words({0x3000, 0x0800, 0, 1, 0, 2}), tcp))},
      {"GRE, bridged", within_v4(47, joined(words({0, 0x6558}), ethernet))},
      {"VXLAN", within_udp(4789, joined(words({0x0800, 0, 0, 0x100}), ethernet))},
      {"Geneve", within_udp(6081, joined(words({0x0100, 0x6558, 0, 0, 1, 2}), ethernet))},
      {"ERSPAN I", within_v4(47, joined(words({0, 0x88be}), ethernet))},
      {"ERSPAN II",
       within_v4(47, joined(words({0x1000, 0x88be, 0, 7, 0x1001, 5, 0, 0}), ethernet))},
      {"ERSPAN III, with more",
       within_v4(
           47, joined(words({0x1000, 0x22eb, 0, 7, 0x2001, 5, 0, 9, 0, 1, 0, 0, 0, 0}), ethernet))},
      {"TZSP", within_udp(37008, joined(words({0x0100, 1, 0x0a01, 0x3301}), ethernet))},
      {"GTP-U", within_udp(2152, joined(words({0x30ff, 40, 0, 7}), tcp))},
      {"GTP-U, extended",
       within_udp(2152, joined(words({0x36ff, 48, 0, 7, 1, 0x0085, 0x0100, 0x0000}), tcp))},
  };
  for (const auto& [name, bytes] : cases) {
    Decoded const decoded = decode(frame_of(bytes), LinkLayer::raw_ip);
    ASSERT_EQ(decoded.kind, FrameKind::tcp) << name;
    EXPECT_EQ(text_of(decoded.segment.source), "10.0.0.1:80") << name;
    EXPECT_EQ(decoded.segment.sum, SumState::good) << name;
    EXPECT_EQ(decoded.segment.missing, 0u) << name;
    for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
      CapturedFrame part = frame_of(bytes);
      part.bytes.resize(cut);
      EXPECT_NE(decode(part, LinkLayer::raw_ip).kind, FrameKind::tcp) << name << " at " << cut;
    }
  }
}

// RFC 6946: a fragment header without fragmentation, as translators of addresses add it.
TEST(Decode, ReadsWholePacketsWithAFragmentHeader) {
  for (unsigned const part : {0x0000u, 0x0001u, 0x0008u}) {
    auto bytes = words({0x6000, 0, 28, 44 << 8 | 64});
    bytes.resize(40);
    bytes = joined(bytes, words({6 << 8, part, 0, 7}));
    bytes = joined(bytes, words({80, 40000, 0, 7, 0, 9, 0x5010, 512, 0, 0}));
    bytes[23] = std::byte{1};
    bytes[39] = std::byte{2};
    Decoded const decoded = decode(frame_of(bytes), LinkLayer::raw_ip);
    EXPECT_EQ(decoded.kind, part == 0 ? FrameKind::tcp : FrameKind::fragment) << part;
    EXPECT_EQ(text_of(decoded.segment.source.address), "::1") << part;
    EXPECT_EQ(decoded.segment.sequence, part == 0 ? 7u : 0u) << part;
    EXPECT_EQ(decode(frame_of({bytes.begin(), bytes.begin() + 44}), LinkLayer::raw_ip).kind,
              FrameKind::cut_short);
  }
}

TEST(Decode, ReadsBehindAnAuthenticationHeader) {
  auto bytes = words({0x6000, 0, 44, 51 << 8 | 64});
  bytes.resize(40);
  bytes = joined(bytes, words({6 << 8 | 4, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0}));
  bytes = joined(bytes, words({80, 40000, 0, 7, 0, 9, 0x5010, 512, 0, 0}));
  Decoded const decoded = decode(frame_of(bytes), LinkLayer::raw_ip);
  EXPECT_EQ(decoded.kind, FrameKind::tcp);
  EXPECT_EQ(decoded.segment.sequence, 7u);
}

// A priority alone makes no network; the number of a tunnel's network counts, too.
TEST(Decode, TellsNetworksApart) {
  const auto in_vlan = [](unsigned tag) {
    auto const bytes = joined(words({1, 2, 3, 4, 5, 6, 0x8100, tag, 0x0800}), bare_tcp());
    return decode(frame_of(bytes), LinkLayer::ethernet).segment.network;
  };
  const auto in_vxlan = [](unsigned number) {
    auto const ethernet = joined(words({1, 2, 3, 4, 5, 6, 0x0800}), bare_tcp());
    auto const bytes =
        within_udp(4789, joined(words({0x0800, 0, number >> 8, number << 8 & 0xff00}), ethernet));
    return decode(frame_of(bytes), LinkLayer::raw_ip).segment.network;
  };
  EXPECT_EQ(in_vlan(0x6000), 0u);
  EXPECT_EQ(in_vlan(0x6005), in_vlan(5));
  EXPECT_NE(in_vlan(5), in_vlan(6));
  EXPECT_NE(in_vxlan(5), in_vxlan(6));
  EXPECT_EQ(in_vxlan(0x12345), in_vxlan(0x12345));
}

TEST(Decode, OpensPppoeAndLabels) {
  auto const pppoe = joined(words({1, 2, 3, 4, 5, 6, 0x8864, 0x1100, 1, 42, 0x0021}), bare_tcp());
  auto const labels = joined(words({1, 2, 3, 4, 5, 6, 0x8847, 1, 0x0040, 2, 0x0140}), bare_tcp());
  EXPECT_EQ(decode(frame_of(pppoe), LinkLayer::ethernet).kind, FrameKind::tcp);
  EXPECT_EQ(decode(frame_of(labels), LinkLayer::ethernet).kind, FrameKind::tcp);
}

// A scan sends datagrams without a payload to the ports of tunnels.
TEST(Decode, WhatIsTooShortForATunnelWasNotCut) {
  for (unsigned const port : {4789u, 8472u, 6081u, 2152u}) {
    for (std::size_t const size : {0u, 4u, 9u}) {
      auto frame = frame_of(within_udp(port, std::vector<std::byte>(size, std::byte{8})));
      EXPECT_EQ(decode(frame, LinkLayer::raw_ip).kind, FrameKind::not_tcp) << port << " " << size;
    }
    auto cut = frame_of(within_udp(port, std::vector<std::byte>(90, std::byte{8})));
    cut.bytes.resize(30);
    EXPECT_EQ(decode(cut, LinkLayer::raw_ip).kind, FrameKind::cut_short) << port;
  }
}

// A mirror cuts packets before it wraps them: their own headers tell.
TEST(Decode, AMirrorMayHaveCutWhatATunnelHolds) {
  for (bool const sound : {true, false}) {
    auto tcp = bare_tcp();
    set_word(tcp, 10, static_cast<std::uint16_t>(~ones_fold(ones_sum(std::span(tcp).first(20)))));
    tcp[1] = sound ? tcp[1] : std::byte{9};  // its checksum is wrong: octets that look like IPv4
    tcp.resize(30);
    auto const ethernet = joined(words({1, 2, 3, 4, 5, 6, 0x0800}), tcp);
    auto const frame = frame_of(within_udp(4789, joined(words({0x0800, 0, 0, 0x100}), ethernet)));
    EXPECT_EQ(decode(frame, LinkLayer::raw_ip).kind,
              sound ? FrameKind::cut_short : FrameKind::not_tcp);
    auto six = words({0x6000, 0, 20, (sound ? 6u : 99u) << 8 | 64});
    six.resize(50);
    auto const frame6 =
        frame_of(within_udp(4789, joined(words({0x0800, 0, 0, 0x100}),
                                         joined(words({1, 2, 3, 4, 5, 6, 0x86dd}), six))));
    EXPECT_EQ(decode(frame6, LinkLayer::raw_ip).kind,
              sound ? FrameKind::cut_short : FrameKind::not_tcp);
  }
}

// A scan of the protocols of IPv6: the packet is whole, and its extension header is not there.
TEST(Decode, AnExtensionHeaderThatIsNotThereWasNotCut) {
  for (unsigned const next : {0u, 43u, 44u, 51u, 60u}) {
    auto bytes = words({0x6000, 0, 0, next << 8 | 64});
    bytes.resize(40);
    EXPECT_EQ(decode(frame_of(bytes), LinkLayer::raw_ip).kind, FrameKind::not_tcp) << next;
    bytes[5] = std::byte{8};  // its length says that there is one
    EXPECT_EQ(decode(frame_of(bytes), LinkLayer::raw_ip).kind, FrameKind::cut_short) << next;
  }
}

// No link carries such a packet, and each of its segments would be judged.
TEST(Decode, APacketLargerThanAnyOffloadIsNone) {
  std::vector<std::byte> bytes = words({0x6000, 0, 0, 6 << 8 | 64});
  bytes.resize(40);
  bytes = joined(bytes, words({80, 40000, 0, 7, 0, 9, 0x5010, 512, 0, 0}));
  for (std::size_t const kib : {512u, 700u}) {
    bytes.resize(kib << 10);
    EXPECT_EQ(decode(frame_of(bytes), LinkLayer::raw_ip).kind,
              kib == 512 ? FrameKind::tcp : FrameKind::not_ip);
  }
}

TEST(Decode, LeavesOtherTunnelsClosed) {
  auto bytes = bare_tcp();
  for (int depth = 0; depth < 6; ++depth) {
    bytes = within_v4(4, bytes);
  }
  EXPECT_EQ(decode(frame_of(bytes), LinkLayer::raw_ip).kind, FrameKind::not_tcp);
  auto const pptp = within_v4(47, joined(words({0x3001, 0x880b, 4, 0}), bare_tcp()));
  EXPECT_EQ(decode(frame_of(pptp), LinkLayer::raw_ip).kind, FrameKind::not_tcp);
  auto const dns = within_udp(53, bare_tcp());
  Decoded const query = decode(frame_of(dns), LinkLayer::raw_ip);
  EXPECT_EQ(query.kind, FrameKind::not_tcp);
  EXPECT_EQ(text_of(query.segment.source.address), "192.168.0.1");
}

TEST(Decode, OtherProtocolsOverPppAreIgnored) {
  EXPECT_EQ(decode(frame_of({std::byte{0xc0}, std::byte{0x21}}), LinkLayer::ppp).kind,
            FrameKind::not_ip);  // LCP
  auto cut = frame_of({std::byte{0xff}, std::byte{0x03}, std::byte{}});
  EXPECT_EQ(decode(cut, LinkLayer::ppp).kind, FrameKind::not_tcp);
  cut.original_bytes += 40;
  EXPECT_EQ(decode(cut, LinkLayer::ppp).kind, FrameKind::cut_short);
}

TEST(Decode, DetectsBadSumsAndTruncatedPayloads) {
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
