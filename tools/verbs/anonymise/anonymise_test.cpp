// What is replaced, what is kept, and what is not carried over.
#include "tools/verbs/anonymise/anonymise.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "tools/base/output/json.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/verbs/anonymise/anonymise_kit.hpp"
#include "tools/verbs/verbs.hpp"

namespace lockstep::tools {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using namespace std::string_literals;

const std::string secret_mac = "\x02\x9a\x8b\x7c\x6d\x5e"s;
const std::string other_mac = "\x02\x1f\x2e\x3d\x4c\x5b"s;
const std::string cookie = "\xc0\x0c\x1e\x5a\x6b\x7c\x8d\x9e"s;
const std::string digest = "\xd1\x6e\x57\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d"s;
const std::string key = "\x30\xfe\xdc\xba\x98\x76\x54\x32\x10"s;  // without MPTCP's first octet
const std::string unknown = "\xab\xcd\xef\x97\x53"s;
const std::string padding = "\x61\x71\x81\x91"s;
const std::string dns_name = "mail.secret-company.example"s;
const std::string line = "user anna password hunter22"s;

std::string option(char kind, const std::string& data) {
  return std::string{kind} + static_cast<char>(data.size() + 2) + data;
}

std::vector<std::byte> on_ethernet(const std::vector<std::byte>& packet, bool tagged,
                                   const std::string& type = "\x08\x00"s) {
  std::vector<std::byte> out =
      octets_of(secret_mac + other_mac + (tagged ? "\x81\x00\x04\xd2"s : ""s) + type);
  out.insert(out.end(), packet.begin(), packet.end());
  return out;
}

std::vector<std::byte> udp_packet(const std::string& data, std::uint8_t last_octet = 53) {
  std::vector<std::byte> out;
  put_long(out, 0x4500'0000u | static_cast<std::uint32_t>(28 + data.size()));
  put_long(out, 0);
  put_long(out, 0x4011'0000);
  put_long(out, kit_client.address.as_v4().value);
  put_long(out, 0x0a4d'0000u | last_octet);
  put_long(out, 0xc000'0035);
  put_word(out, static_cast<std::uint32_t>(8 + data.size()));
  put_word(out, 0);
  std::vector<std::byte> const text = octets_of(data);
  out.insert(out.end(), text.begin(), text.end());
  return out;
}

std::vector<std::byte> arp_packet() {
  return octets_of("\0\1\x08\0\6\4\0\1"s + other_mac + "\x0a\x4d\x58\x63"s + "\0\0\0\0\0\0"s +
                   "\xac\x10\x37\x2c"s);
}

/// An error from a router about the client's line, with the whole packet and an extension.
std::vector<std::byte> icmp_about(const Segment& segment, const std::string& extension) {
  std::vector<std::byte> quoted = conformance::packet_of(segment);
  IcmpError error;
  error.sender = IpAddress::v4(10, 200, 201, 202);
  error.message = octets_of("\3\4\0\0\0\0\5\x14"s);
  error.message.insert(error.message.end(), quoted.begin(), quoted.end());
  std::vector<std::byte> const more = octets_of(extension);
  error.message.insert(error.message.end(), more.begin(), more.end());
  return conformance::packet_of(error, segment.source, segment.destination, segment.sequence);
}

/// Everything that must not be in the output, in frames of every kind.
std::vector<KitFrame> planted() {
  std::vector<Segment> all = kit_exchange(line);
  all[0].options = octets_of(option(34, cookie) + option(30, "\x01"s + key) + "\1\1\1"s);
  all[1].options = octets_of(option(19, digest) + option(77, unknown) + "\1\1\0"s + padding);
  all[1].options.resize(32, std::byte{0});
  all[2].options = octets_of(option('\xfe', "\xf9\x89"s + cookie));
  std::vector<KitFrame> out;
  out.push_back({on_ethernet(udp_packet(dns_name), false)});
  out.push_back({on_ethernet(arp_packet(), false, "\x08\x06"s)});
  for (const Segment& segment : all) {
    out.push_back({on_ethernet(conformance::packet_of(segment), true)});
  }
  out.push_back({on_ethernet(icmp_about(all[3], dns_name), false)});
  std::vector<std::byte> fragment = udp_packet(dns_name);
  fragment[6] = std::byte{0x20};
  fragment[9] = std::byte{6};
  out.push_back({on_ethernet(fragment, false)});
  std::vector<std::byte> malformed = conformance::packet_of(all[3]);
  malformed[32] = std::byte{0x10};
  out.push_back({on_ethernet(malformed, false)});
  std::vector<std::byte> cut = on_ethernet(conformance::packet_of(all[3]), false);
  cut.resize(cut.size() - 40);
  out.push_back({cut, 40});
  return out;
}

TEST(Anonymise, NothingPlantedIsInTheOutput) {
  std::string const in = written("planted.pcapng", planted(), sim::CaptureLink::ethernet);
  std::string const out = free_name("planted.out");
  AnonymiseReport const report = anonymised(in, out);
  EXPECT_TRUE(report.is_kept()) << report.lint_differs;
  std::string const before = octets_of_file(in);
  std::string const after = octets_of_file(out);
  for (const std::string& secret : {secret_mac,
                                    other_mac,
                                    cookie,
                                    digest,
                                    key,
                                    unknown,
                                    padding,
                                    dns_name,
                                    "secret"s,
                                    "password"s,
                                    "hunter22"s,
                                    "anna"s,
                                    "private"s,
                                    "\x0a\x4d\x58\x63"s,
                                    "\xac\x10\x37\x2c"s,
                                    "\x0a\xc8\xc9\xca"s,
                                    "\x0a\x4d\x00\x35"s,
                                    "\x11\x22\x33"s,
                                    "\x55\x66\x77"s,
                                    "\xc4\x91\x01\xbb"s}) {
    EXPECT_THAT(before, HasSubstr(secret));
    EXPECT_THAT(after, Not(HasSubstr(secret)));
  }
  EXPECT_EQ(report.counts.replaced.options.cookies, 2u + 0u);
  EXPECT_EQ(report.counts.replaced.options.digests, 1u);
  EXPECT_EQ(report.counts.replaced.options.multipath, 1u);
  EXPECT_EQ(report.counts.replaced.options.unknown, 1u);
}

// In a capture of one direction only the echoes show the other host's clock.
TEST(Anonymise, AClockThatIsOnlyEchoedIsShifted) {
  std::string const clock = "\xde\xad\xbe\xef"s;
  std::vector<KitFrame> frames;
  for (Segment segment : kit_exchange(line)) {
    if (segment.source == kit_client) {
      segment.options = octets_of("\1\1"s + option(8, "\0\0\x03\xe8"s + clock));
      frames.push_back({on_ethernet(conformance::packet_of(segment), false)});
    }
  }
  std::string const in = written("one_way.pcapng", frames, sim::CaptureLink::ethernet);
  std::string const out = free_name("one_way.out");
  anonymised(in, out);
  EXPECT_THAT(octets_of_file(in), HasSubstr(clock));
  EXPECT_THAT(octets_of_file(out), Not(HasSubstr(clock)));
}

TEST(Anonymise, TheFirstPacketsOfOtherProtocolsAreEmptied) {
  std::string const in = written("kinds.pcapng", planted(), sim::CaptureLink::ethernet);
  std::string const out = free_name("kinds.out");
  anonymised(in, out);
  std::vector<KitRead> const before = read_all(in), after = read_all(out);
  ASSERT_EQ(before.size(), after.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(before[i].decoded.kind, after[i].decoded.kind) << i;
  }
  EXPECT_EQ(after[0].frame.bytes.size(), 14u + 20u);  // the DNS query
  std::optional<Arp> const arp = arp_of(after[1].frame, after[1].link);
  ASSERT_TRUE(arp.has_value());
  EXPECT_EQ(arp->sender, after[2].decoded.segment.source.address);
  EXPECT_EQ(arp->target, after[2].decoded.segment.destination.address);
  EXPECT_EQ(arp->target_mac, Mac{});
}

// `replay` reads from the addresses of other protocols whether ICMP errors were filtered out.
TEST(Anonymise, PacketsOfOtherProtocolsAreKeptAsLongAsTheirAddressesMatter) {
  std::vector<KitFrame> frames = frames_of(kit_exchange());
  for (std::uint8_t last : {std::uint8_t{1}, std::uint8_t{1}, std::uint8_t{2}, std::uint8_t{3}}) {
    frames.push_back({udp_packet(dns_name, last)});
  }
  AnonymiseReport const report =
      anonymised(written("others.pcapng", frames), free_name("others.out"));
  EXPECT_EQ(report.counts.kept[static_cast<std::size_t>(Sort::other_ip)], 2u);
  EXPECT_EQ(report.counts.dropped[static_cast<std::size_t>(Sort::other_ip)], 2u);
  EXPECT_EQ(report.counts.packets_in, 8u);
  EXPECT_EQ(report.counts.packets_out, 6u);
}

// The first one of them shows that the capture was not filtered.
TEST(Anonymise, OneFrameThatIsNotIpIsKeptEmptied) {
  std::vector<KitFrame> frames;
  for (const Segment& segment : kit_exchange()) {
    frames.push_back({on_ethernet(conformance::packet_of(segment), false)});
  }
  frames.insert(frames.end(), 2, {on_ethernet(octets_of(dns_name), false, "\x88\xcc"s)});
  std::string const out = free_name("lldp.out");
  AnonymiseReport const report =
      anonymised(written("lldp.pcapng", frames, sim::CaptureLink::ethernet), out);
  EXPECT_EQ(report.counts.kept[static_cast<std::size_t>(Sort::other_not_ip)], 1u);
  std::vector<KitRead> const all = read_all(out);
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(all[4].decoded.kind, FrameKind::not_ip);
  EXPECT_EQ(all[4].frame.bytes.size(), 14u);
}

/// IPv6 with a routing header of RFC 6554, which hides what the checksum covers.
TEST(Anonymise, AnUnknownDestinationKeepsTheChecksumUnknown) {
  Segment segment = kit_exchange()[3];
  segment.ipv6 = true;
  segment.source.address = {0x2a00'1450'4001'0831, 0x0102'0304'0506'0708};
  segment.destination.address = {0x2a00'1450'4001'0832, 0x1112'1314'1516'1718};
  std::vector<std::byte> packet = conformance::packet_of(segment);
  std::vector<std::byte> const route =
      octets_of("\6\2\3\1"s + "\0\0\0\0"s + "\x41\x42\x43\x44\x45\x46\x47\x48"s +
                "\x51\x52\x53\x54\x55\x56\x57\x58"s);
  packet.insert(packet.begin() + 40, route.begin(), route.end());
  packet[6] = std::byte{43};
  set_word(packet, 4, static_cast<std::uint16_t>(packet.size() - 40));
  std::string const in = written("route.pcapng", {{packet}});
  std::string const out = free_name("route.out");
  anonymised(in, out);
  std::vector<KitRead> const before = read_all(in), after = read_all(out);
  ASSERT_EQ(before[0].decoded.segment.sum, SumState::unverifiable);
  EXPECT_EQ(after[0].decoded.segment.sum, SumState::unverifiable);
  EXPECT_EQ(after[0].decoded.segment.missing, 0u);
  EXPECT_EQ(after[0].decoded.segment.payload.size(), segment.payload.size());
  EXPECT_EQ(after[0].decoded.segment.source.address, (IpAddress{0x2001'0db8'0000'0000, 1}));
  EXPECT_THAT(octets_of_file(out), Not(HasSubstr("ABCDEFGH")));
}

TEST(Anonymise, WhatMeansNothingWithoutItsFlagStaysZero) {
  using namespace tcp_flag;
  std::vector<Segment> segments = kit_exchange();
  segments.push_back(kit_segment(false, rst | ack, 0, 0x1122'3345));
  std::string const out = free_name("zero.out");
  anonymised(written("zero.pcapng", frames_of(segments)), out);
  std::vector<KitRead> const all = read_all(out);
  EXPECT_EQ(all[0].decoded.segment.acknowledgment, 0u);
  EXPECT_EQ(all[4].decoded.segment.sequence, 0u);
  EXPECT_EQ(all[4].decoded.segment.acknowledgment, all[1].decoded.segment.acknowledgment);
}

TEST(Anonymise, TheQuotedSegmentIsTheOneThatWasSent) {
  std::string const out = free_name("quoted.out");
  anonymised(written("quoted.pcapng", planted(), sim::CaptureLink::ethernet), out);
  std::vector<KitRead> const all = read_all(out);
  const Segment& sent = all[5].decoded.segment;
  const IcmpError& error = all[6].decoded.icmp;
  ASSERT_EQ(all[6].decoded.kind, FrameKind::icmp_error);
  EXPECT_EQ(error.quoted_source, sent.source);
  EXPECT_EQ(error.quoted_destination, sent.destination);
  EXPECT_EQ(error.quoted_sequence, sent.sequence);
  EXPECT_EQ(word_at(error.message, 6), 0x0514u);  // the MTU
  ASSERT_EQ(error.message.size(), 8 + 20 + 20 + line.size());
  EXPECT_TRUE(std::equal(sent.payload.begin(), sent.payload.end(), error.message.begin() + 48));
  EXPECT_EQ(ones_fold(ones_sum(error.message)), 0xffff);
}

TEST(Anonymise, TheSameSeedGivesTheSameOctets) {
  std::string const in = written("seed.pcapng", frames_of(kit_exchange()));
  std::array<std::string, 3> outs;
  for (std::size_t i = 0; i < outs.size(); ++i) {
    outs[i] = free_name("seed.out" + std::to_string(i));
    anonymised(in, outs[i], i / 2);
  }
  EXPECT_EQ(octets_of_file(outs[0]), octets_of_file(outs[1]));
  EXPECT_NE(octets_of_file(outs[0]), octets_of_file(outs[2]));
}

// The seed alone does not undo anything.
TEST(Anonymise, TheSecretIsDrawnFromTheWholeFile) {
  std::vector<Segment> segments = kit_exchange();
  std::array<std::string, 2> outs{free_name("draw.out0"), free_name("draw.out1")};
  anonymised(written("draw0.pcapng", frames_of(segments)), outs[0]);
  segments.push_back(kit_segment(false, tcp_flag::ack, 0x5566'7789, 0x1122'3345, "x"));
  anonymised(written("draw1.pcapng", frames_of(segments)), outs[1]);
  EXPECT_NE(read_all(outs[0])[3].decoded.segment.payload,
            read_all(outs[1])[3].decoded.segment.payload);
}

TEST(Anonymise, RetransmissionsStayEqualWhereTheyWereAndDifferWhereTheyDid) {
  std::vector<Segment> segments = kit_exchange("abcdefghijkl");
  segments.push_back(kit_segment(true, tcp_flag::ack, 0x1122'3345 + 3, 0x5566'7789, "defgXijkl"));
  std::string const out = free_name("again.out");
  anonymised(written("again.pcapng", frames_of(segments)), out);
  std::vector<KitRead> const all = read_all(out);
  const std::vector<std::byte>& first = all[3].decoded.segment.payload;
  const std::vector<std::byte>& again = all[4].decoded.segment.payload;
  ASSERT_EQ(again.size(), 9u);
  for (std::size_t i = 0; i < again.size(); ++i) {
    EXPECT_EQ(first[i + 3] == again[i], i != 4) << i;
  }
}

TEST(Anonymise, ChecksumsKeepTheirState) {
  std::vector<KitFrame> frames = frames_of(kit_exchange());
  frames.insert(frames.end(), 4, frames.back());
  frames[4].bytes[36] ^= std::byte{0x12};  // a wrong one
  frames[5].bytes[10] ^= std::byte{1};     // a wrong one of IPv4
  set_word(frames[6].bytes, 10, 0);        // not filled in
  std::span<const std::byte> const ip(frames[7].bytes);
  auto const length = static_cast<std::uint32_t>(ip.size() - 20);
  set_word(frames[7].bytes, 36, ones_fold(ones_sum(ip.subspan(12, 8), 6 + length)));
  frames.push_back(frames[3]);
  frames[8].bytes.resize(frames[8].bytes.size() - 5);
  frames[8].cut = 5;
  std::string const in = written("sums.pcapng", frames);
  std::string const out = free_name("sums.out");
  anonymised(in, out);
  std::vector<KitRead> const before = read_all(in), after = read_all(out);
  std::vector<SumState> const states{SumState::bad, SumState::good, SumState::good,
                                     SumState::partial, SumState::unverifiable};
  for (std::size_t i = 0; i < states.size(); ++i) {
    EXPECT_EQ(before[4 + i].decoded.segment.sum, states[i]) << i;
    EXPECT_EQ(after[4 + i].decoded.segment.sum, states[i]) << i;
    EXPECT_EQ(before[4 + i].decoded.segment.header_sum, after[4 + i].decoded.segment.header_sum);
  }
  EXPECT_EQ(after[5].decoded.segment.header_sum, SumState::bad);
  EXPECT_EQ(after[6].decoded.segment.header_sum, SumState::partial);
  EXPECT_EQ(after[8].decoded.segment.missing, 5u);
  EXPECT_TRUE(after[8].frame.is_cut());
}

TEST(Anonymise, TimesBeginAtAFixedInstantAndKeepTheirDifferences) {
  std::string const in = written("times.pcapng", frames_of(kit_exchange()));
  std::string const out = free_name("times.out");
  anonymised(in, out);
  std::vector<KitRead> const before = read_all(in), after = read_all(out);
  EXPECT_EQ(after[0].frame.time.ns, 946'684'800'000'000'000u);
  for (std::size_t i = 1; i < after.size(); ++i) {
    EXPECT_EQ(after[i].frame.time.since(after[0].frame.time),
              before[i].frame.time.since(before[0].frame.time));
  }
}

TEST(Anonymise, InterfacesAreToldApart) {
  std::vector<KitFrame> frames = frames_of(kit_exchange());
  frames[1].interface = frames[3].interface = 1;
  std::string const out = free_name("interfaces.out");
  anonymised(written("interfaces.pcapng", frames), out);
  CaptureReader reader(out);
  CapturedFrame frame;
  std::vector<std::uint32_t> seen;
  while (reader.next(frame)) {
    seen.push_back(reader.interface());
  }
  EXPECT_EQ(seen, (std::vector<std::uint32_t>{0, 1, 0, 1}));
}

class AliasesOf : public testing::Test {
 protected:
  AliasesOf() : aliases({1, 2}, Hosts(), false) {}
  Ipv4 v4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d) {
    return aliases.of(IpAddress::v4(a, b, c, d)).as_v4();
  }
  Aliases aliases;
};

TEST_F(AliasesOf, AddressesAreOfTheSameClass) {
  EXPECT_EQ(aliases.of(IpAddress::v4(0, 0, 0, 0)), IpAddress::v4(0, 0, 0, 0));
  EXPECT_EQ(aliases.of(IpAddress::v4(255, 255, 255, 255)), IpAddress::v4(255, 255, 255, 255));
  EXPECT_TRUE(v4(127, 9, 9, 9).is_loopback());
  EXPECT_EQ(v4(224, 1, 2, 3).value >> 8, 0xe9'fc00u);
  EXPECT_EQ(v4(169, 254, 77, 77).value >> 16, 0xa9feu);
  EXPECT_TRUE(v4(0, 9, 9, 9).is_reserved());
  EXPECT_TRUE(v4(250, 9, 9, 9).is_reserved());
  EXPECT_EQ(aliases.of(IpAddress{0, 1}), (IpAddress{0, 1}));
  EXPECT_EQ(aliases.of(IpAddress{}), IpAddress{});
  EXPECT_TRUE(aliases.of(IpAddress{0xfe80'0000'0000'0000, 99}).is_link_local());
  EXPECT_TRUE(aliases.of(IpAddress{0xff02'0000'0000'0000, 99}).is_multicast());
  EXPECT_EQ(aliases.of(IpAddress{0x2a00'1450'4001'0831, 99}),
            (IpAddress{0x2001'0db8'0000'0000, 1}));
}

TEST_F(AliasesOf, HostsAreInTheRangesForDocumentationAndThenForBenchmarks) {
  std::set<IpAddress> seen;
  for (std::uint32_t i = 0; i < 1'000; ++i) {
    IpAddress const alias = aliases.of(IpAddress::from({0x0808'0000 + i}));
    EXPECT_TRUE(seen.insert(alias).second);
    EXPECT_EQ(alias, aliases.of(IpAddress::from({0x0808'0000 + i})));
    std::uint32_t const top = alias.as_v4().value >> 8;
    std::uint32_t const expected = i < 254   ? 0xc0'0002
                                   : i < 508 ? 0xc6'3364
                                   : i < 762 ? 0xcb'0071
                                             : 0xc6'1200;
    EXPECT_EQ(top, expected) << i;
  }
}

TEST_F(AliasesOf, PortsArePermutedBelowAndFrom1024) {
  std::set<std::uint16_t> seen;
  std::size_t same = 0;
  for (std::uint32_t port = 0; port <= 0xffff; ++port) {
    std::uint16_t const alias = aliases.of(Port{static_cast<std::uint16_t>(port)}).value;
    EXPECT_EQ(alias < 1'024, port < 1'024);
    seen.insert(alias);
    same += alias == port ? 1u : 0u;
  }
  EXPECT_EQ(seen.size(), 65'536u);
  EXPECT_EQ(aliases.of(Port{0}).value, 0);
  EXPECT_LT(same, 20u);
}

TEST_F(AliasesOf, GroupsAndTheBroadcastAddressOfEthernetStayOnes) {
  EXPECT_EQ(aliases.of(Mac::broadcast()), Mac::broadcast());
  EXPECT_TRUE(aliases.of(Mac{{1, 0, 0x5e, 1, 2, 3}}).is_group());
  Mac const one = aliases.of(Mac{{2, 3, 4, 5, 6, 7}});
  EXPECT_FALSE(one.is_group());
  EXPECT_NE(one, aliases.of(Mac{{2, 3, 4, 5, 6, 8}}));
  EXPECT_EQ(one, aliases.of(Mac{{2, 3, 4, 5, 6, 7}}));
}

Segment stamped(bool from_client, std::uint32_t value, std::uint32_t sequence) {
  Segment out = kit_segment(from_client, tcp_flag::ack, sequence, 1);
  out.options.clear();
  put_long(out.options, 0x0101'080a);
  put_long(out.options, value);
  put_long(out.options, 0);
  return out;
}

// A timestamp of 0 and its echo look like none.
TEST(AnonymisedNumbers, AreNotShiftedWhereZeroMeansSomething) {
  Hosts hosts;
  hosts.take(stamped(true, 4'294'967'000u, 5));
  hosts.take(stamped(true, 0, 6));
  hosts.take(stamped(false, 77, 0));
  Aliases const aliases({1, 2}, hosts, false);
  EXPECT_EQ(aliases.stamp_shift(kit_client.address), 0u);
  EXPECT_NE(aliases.number_shift(kit_client.address), 0u);
  EXPECT_EQ(aliases.number_shift(kit_server.address), 0u);
  std::uint32_t const first = 77 + aliases.stamp_shift(kit_server.address);
  EXPECT_GE(first, 1u << 28);
  EXPECT_LT(first, 1u << 29);
  Aliases const kept({1, 2}, hosts, true);
  EXPECT_EQ(kept.stamp_shift(kit_server.address), 0u);
  EXPECT_EQ(kept.number_shift(kit_client.address), 0u);
}

/// The whole option area, read as options of a segment.
std::vector<std::byte> options_after(const std::string& options, OptionShifts shifts = {}) {
  OptionCounts counts;
  return anonymised_options(octets_of(options), shifts, {3, 4}, counts);
}

TEST(AnonymisedOptions, NumbersAreShiftedAndTheRestOfTheHandshakeStays) {
  std::string const plain = option(2, "\x05\xb4"s) + option(3, "\7"s) + option(4, ""s) + "\1\1\0"s;
  EXPECT_EQ(options_after(plain, {1, 2, 3}), octets_of(plain));
  EXPECT_EQ(options_after(option(8, "\0\0\0\1\0\0\0\1"s), {9, 2, 3}),
            octets_of(option(8, "\0\0\0\3\0\0\0\4"s)));
  EXPECT_EQ(options_after(option(8, "\0\0\0\1\0\0\0\0"s), {9, 2, 3}),
            octets_of(option(8, "\0\0\0\3\0\0\0\0"s)));
  EXPECT_EQ(options_after(option(5, "\0\0\0\1\0\0\1\0"s), {9, 2, 3}),
            octets_of(option(5, "\0\0\0\x0a\0\0\1\x09"s)));
}

TEST(AnonymisedOptions, ACookieIsTheSameInBothOptions) {
  std::vector<std::byte> const one = options_after(option(34, cookie));
  std::vector<std::byte> const other = options_after(option('\xfe', "\xf9\x89"s + cookie));
  EXPECT_TRUE(std::equal(one.begin() + 2, one.end(), other.begin() + 4, other.end()));
  EXPECT_NE(one, octets_of(option(34, cookie)));
  EXPECT_EQ(options_after(option(34, "")), octets_of(option(34, "")));
}

TEST(AnonymisedOptions, AWrongLengthStaysWrongAndHidesNothing) {
  std::vector<std::byte> const out = options_after("\1\x4d\x63"s + unknown);
  EXPECT_EQ(octet_at(out, 1), 0x4d);
  EXPECT_EQ(octet_at(out, 2), 0x63);
  std::string const text(reinterpret_cast<const char*>(out.data()), out.size());
  EXPECT_THAT(text, Not(HasSubstr(unknown)));
  EXPECT_EQ(out.size(), 8u);
  std::vector<std::byte> const long_mss = options_after(option(2, "\x05\xb4\x77\x88"s));
  EXPECT_NE(long_mss, octets_of(option(2, "\x05\xb4\x77\x88"s)));
}

TEST(AnonymisedOptions, ShortDataKeepsItsDifferences) {
  std::set<std::vector<std::byte>> seen;
  for (int i = 0; i < 256; ++i) {
    seen.insert(options_after(option(99, std::string{static_cast<char>(i)})));
  }
  EXPECT_EQ(seen.size(), 256u);
}

/// Runs the verb as the program does.
struct VerbRun {
  explicit VerbRun(std::vector<std::string> arguments) {
    std::vector<const char*> all{"lockstep", "anonymise"};
    for (const std::string& each : arguments) {
      all.push_back(each.c_str());
    }
    testing::internal::CaptureStdout();
    CLI::App app;
    register_anonymise(app, code);
    try {
      app.parse(static_cast<int>(all.size()), all.data());
    } catch (const CLI::ParseError&) {
      code = 2;
    } catch (const Failure& failure) {
      code = static_cast<int>(failure.code());
      error = failure.what();
    }
    out = testing::internal::GetCapturedStdout();
  }
  int code = 0;
  std::string out, error;
};

TEST(AnonymiseVerb, PrintsAndWritesNothingPrivate) {
  std::string const in = written("verb.pcapng", planted(), sim::CaptureLink::ethernet);
  std::string const out = free_name("verb.out"), json = free_name("verb.json");
  VerbRun const run({in, "-o", out, "--json", json, "--replay"});
  EXPECT_EQ(run.code, 0) << run.out;
  EXPECT_THAT(run.out, HasSubstr("the verdict is the same"));
  std::string const report = octets_of_file(json);
  for (const std::string& text : {run.out, report}) {
    EXPECT_THAT(text, Not(HasSubstr("10.77.")));
    EXPECT_THAT(text, Not(HasSubstr("anna")));
    EXPECT_THAT(text, Not(HasSubstr("50321")));
  }
  nlohmann::ordered_json const read = parse_json(report);
  EXPECT_EQ(read["packets"]["in"], 10);
  EXPECT_EQ(read["kept"]["TCP"], 4);
  EXPECT_EQ(read["replaced"]["digests"], 1);
  EXPECT_EQ(read["verdict"]["kept"], true);
  EXPECT_EQ(read["verdict"]["replay_verdicts"], 2);
}

TEST(AnonymiseVerb, RefusesItsInputAndAFileThatExists) {
  std::string const in = written("refuse.pcapng", frames_of(kit_exchange()));
  std::string const before = octets_of_file(in);
  EXPECT_EQ(VerbRun({in, "-o", in}).code, 2);
  std::string const other = written("refuse_other.pcapng", frames_of(kit_exchange()));
  VerbRun const exists({in, "-o", other});
  EXPECT_EQ(exists.code, 2);
  EXPECT_THAT(exists.error, HasSubstr("the file exists"));
  std::string const out = free_name("refuse.out");
  EXPECT_EQ(VerbRun({in, "-o", out, "--json", out}).code, 2);
  EXPECT_EQ(VerbRun({in, "-o", out, "--json", in}).code, 2);
  EXPECT_EQ(VerbRun({in}).code, 2);
  EXPECT_FALSE(std::filesystem::exists(out));
  EXPECT_EQ(octets_of_file(in), before);
}

TEST(AnonymiseVerb, RefusesAConnectionThatIsNotThere) {
  std::string const in = written("absent.pcapng", frames_of(kit_exchange()));
  std::string const out = free_name("absent.out");
  VerbRun const absent({in, "-o", out, "--connection", "10.0.0.1:1-10.0.0.2:2"});
  EXPECT_EQ(absent.code, 2);
  EXPECT_THAT(absent.error, HasSubstr("no TCP segment of the connection"));
  EXPECT_FALSE(std::filesystem::exists(out));
  for (const std::string wrong : {"10.0.0.1:1", "10.0.0.1-10.0.0.2", "::1:1-::2:2", "a:1-b:2",
                                  "10.0.0.1:1-10.0.0.2:70000", "10.0.0.1:-10.0.0.2:2"}) {
    EXPECT_EQ(VerbRun({in, "-o", out, "--connection", wrong}).code, 2) << wrong;
  }
  EXPECT_TRUE(parse_connection("[2001:db8::1]:5-[2001:db8::2]:6").has_value());
}

}  // namespace
}  // namespace lockstep::tools
