// IP input and output: one packet per drop reason, and the header that we send.
#include <gtest/gtest.h>

#include <vector>

#include "core/internet/ip_input.hpp"
#include "core/internet/ip_output.hpp"
#include "core/internet/ipv6_input.hpp"

namespace lockstep::internet {
namespace {

using Octets = std::vector<std::byte>;

Addresses host() {
  Addresses addresses;
  EXPECT_TRUE(addresses.add(IpAddress::v4(10, 0, 0, 1), 24));
  EXPECT_TRUE(addresses.add(IpAddress::v4(10, 0, 7, 1), 24));
  return addresses;
}

wire::Ipv4Header good() {
  wire::Ipv4Header header;
  header.source = IpAddress::v4(10, 0, 0, 2);
  header.destination = IpAddress::v4(10, 0, 0, 1);
  header.protocol = wire::IpProtocol::tcp;
  header.time_to_live = 64;
  return header;
}

struct Judged {
  Drop drop;
  IpArrival arrival;
};

Judged judge(const wire::Ipv4Header& header, bool link_group = false) {
  static Octets octets;
  octets.assign(40, std::byte{0});
  wire::write(header, {20}, octets);
  Judged judged{};
  KnownPath known;
  judged.drop = ip_input(host(), octets, link_group, known, judged.arrival);
  return judged;
}

TEST(IpInput, APacketForOneOfOurAddressesIsAccepted) {
  Judged judged = judge(good());
  EXPECT_EQ(judged.drop, Drop::none);
  EXPECT_EQ(judged.arrival.local_address, 0);
  EXPECT_FALSE(judged.arrival.to_group);
  EXPECT_EQ(judged.arrival.packet.payload.size(), 20u);
  wire::Ipv4Header header = good();
  header.destination = IpAddress::v4(10, 0, 7, 1);
  EXPECT_EQ(judge(header).arrival.local_address, 1);
}

//= rfc1122#3.2.1.3
//= type=test
//# 1122:H-19 a datagram for another host is discarded
//# 1122:H-20 and so is one for 127.x
TEST(IpInput, APacketForAnotherHostIsDropped) {
  wire::Ipv4Header header = good();
  for (IpAddress const other : {IpAddress::v4(10, 0, 0, 3), IpAddress::v4(127, 0, 0, 1),
                                IpAddress::v4(224, 0, 0, 1), IpAddress::v4(10, 0, 1, 255)}) {
    header.destination = other;
    EXPECT_EQ(judge(header).drop, Drop::ip_not_for_us);
  }
}

TEST(IpInput, ABroadcastIsAcceptedAndMarked) {
  wire::Ipv4Header header = good();
  for (IpAddress const all : {IpAddress::v4(255, 255, 255, 255), IpAddress::v4(10, 0, 0, 255),
                              IpAddress::v4(10, 0, 7, 255)}) {
    header.destination = all;
    for (bool link_group : {false, true}) {
      Judged const judged = judge(header, link_group);
      EXPECT_EQ(judged.drop, Drop::none);
      EXPECT_TRUE(judged.arrival.to_group);
      EXPECT_EQ(judged.arrival.local_address, no_address);
    }
  }
}

// The cached path of the last packet saves work and does not change results.
TEST(IpInput, ACachedPathChangesNoResult) {
  wire::Ipv4Header other = good();
  other.destination = IpAddress::v4(10, 0, 7, 1);
  wire::Ipv4Header all = good();
  all.destination = IpAddress::v4(10, 0, 0, 255);
  wire::Ipv4Header bad = good();
  bad.source = IpAddress::v4(10, 0, 0, 255);
  wire::Ipv4Header fragment = good();
  fragment.more_fragments = true;
  KnownPath known;
  Octets octets;
  for (auto const& [header, link_group] : {std::pair{good(), false},
                                           {good(), true},
                                           {all, false},
                                           {all, false},
                                           {other, false},
                                           {bad, false},
                                           {fragment, false},
                                           {good(), false},
                                           {bad, false},
                                           {good(), true}}) {
    octets.assign(40, std::byte{0});
    wire::write(header, {20}, octets);
    Judged judged{};
    judged.drop = ip_input(host(), octets, link_group, known, judged.arrival);
    Judged const fresh = judge(header, link_group);
    EXPECT_EQ(judged.drop, fresh.drop);
    if (fresh.drop == Drop::none) {
      EXPECT_EQ(judged.arrival.local_address, fresh.arrival.local_address);
      EXPECT_EQ(judged.arrival.to_group, fresh.arrival.to_group);
    }
  }
}

TEST(IpInput, AUnicastPacketInALinkBroadcastIsDropped) {
  EXPECT_EQ(judge(good(), true).drop, Drop::ip_link_broadcast);
}

//= rfc1122#3.2.1.3
//= type=test
//# 1122:H-1 an invalid source is silently discarded
//= rfc9293#3.9.2.3
//= type=test
//# 9293:MUST-63, 9293:P-ADDR-ALLSEG whatever segment it contains
TEST(IpInput, AnInvalidSourceIsDropped) {
  wire::Ipv4Header header = good();
  for (IpAddress const bad :
       {IpAddress::v4(255, 255, 255, 255), IpAddress::v4(10, 0, 0, 255),
        IpAddress::v4(224, 0, 0, 1), IpAddress::v4(127, 0, 0, 1), IpAddress::v4(0, 0, 0, 0),
        IpAddress::v4(250, 1, 1, 1), IpAddress::v4(10, 0, 0, 1), IpAddress::v4(10, 0, 7, 1)}) {
    header.source = bad;
    EXPECT_EQ(judge(header).drop, Drop::ip_source_invalid);
  }
}

TEST(IpInput, AFragmentIsDropped) {
  wire::Ipv4Header header = good();
  header.more_fragments = true;
  EXPECT_EQ(judge(header).drop, Drop::ip_fragment);
  header = good();
  header.fragment_offset = 1;
  EXPECT_EQ(judge(header).drop, Drop::ip_fragment);
}

//= rfc6864#4.1
//= type=test
//# 6864:ID-3 the identification of an atomic datagram does not matter
TEST(IpInput, TheIdentificationIsIgnored) {
  wire::Ipv4Header header = good();
  header.dont_fragment = true;
  for (std::uint16_t id : {std::uint16_t{0}, std::uint16_t{7}, std::uint16_t{7}}) {
    header.identification = id;
    EXPECT_EQ(judge(header).drop, Drop::none);
  }
}

TEST(IpInput, AnUnknownProtocolIsDroppedButKnownToTheCaller) {
  wire::Ipv4Header header = good();
  header.protocol = wire::IpProtocol::udp;
  Judged const judged = judge(header);
  EXPECT_EQ(judged.drop, Drop::ip_protocol_unknown);
  EXPECT_EQ(judged.arrival.packet.header, header);
  header.protocol = wire::IpProtocol::icmp;
  EXPECT_EQ(judge(header).drop, Drop::none);
}

TEST(IpInput, ParseErrorsKeepTheirReason) {
  Octets const octets(19);
  IpArrival arrival;
  KnownPath known;
  EXPECT_EQ(ip_input(host(), octets, false, known, arrival), Drop::ip_too_short);
  wire::Ipv6Packet parsed;
  Octets six(39);
  six[0] = std::byte{0x60};
  EXPECT_EQ(ipv6_input(host(), six, false, parsed, arrival), Drop::ip_too_short);
}

//= rfc9293#3.9.2
//= type=test
//# 9293:MUST-49 the TTL is as requested
//= rfc1122#3.2.1.7
//= type=test
//# 1122:H-24, 1122:H-22 configurable, and never zero
//= rfc1122#3.2.1.6
//= type=test
//# 1122:H-21 the TOS too
//= rfc6864#4.3
//= type=test
//# 6864:ID-6, 6864:ID-2 atomic: DF set, not a fragment
//= rfc6864#4.1
//= type=test
//# 6864:ID-1 the identification is always zero
//= rfc791#3.2
//= type=test
//# 791:IP4-8 it does not appear where it could matter
//= rfc6864#4.2
//= type=test
//# 6864:ID-4, 6864:ID-5 so no identification is ever reused in a fragment
TEST(IpOutput, TheHeaderHasTheRequestedFields) {
  Octets octets(30);
  Departure departure;
  departure.source = IpAddress::v4(10, 0, 0, 1);
  departure.destination = IpAddress::v4(8, 8, 8, 8);
  departure.protocol = wire::IpProtocol::tcp;
  departure.time_to_live = 7;
  departure.traffic_class = 0xb8;
  departure.payload = {10};
  EXPECT_EQ(write_ip_header(departure, octets).count, 20u);
  wire::Ipv4Packet packet;
  ASSERT_EQ(wire::parse(octets, packet), Drop::none);
  EXPECT_EQ(packet.header.source, departure.source);
  EXPECT_EQ(packet.header.destination, departure.destination);
  EXPECT_EQ(packet.header.time_to_live, 7);
  EXPECT_EQ(packet.header.traffic_class, 0xb8);
  EXPECT_TRUE(packet.header.dont_fragment);
  EXPECT_FALSE(packet.header.is_fragment());
  EXPECT_EQ(packet.header.identification, 0);
  EXPECT_EQ(packet.payload.size(), 10u);
  departure.time_to_live = 0;
  EXPECT_DEATH(write_ip_header(departure, octets), "");
}

}  // namespace
}  // namespace lockstep::internet
