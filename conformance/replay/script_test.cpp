// What a script keeps of the segments that it plays.
#include "conformance/replay/script.hpp"

#include <gtest/gtest.h>

#include "conformance/replay/conversation.hpp"
#include "conformance/replay/live.hpp"

namespace lockstep::conformance {
namespace {

// Where hardware has joined 45 segments of the peer, each is played, and none keeps the room of
// all.
TEST(Script, APartOfASuperSegmentKeepsItsOwnOctets) {
  constexpr std::uint32_t parts = 45;
  constexpr std::uint32_t bytes = parts * Conversation::mss;
  Conversation t;
  t.handshake().peer(20, "AP", {1, 1, bytes}).device(20, "A", {1, 1 + bytes, 0});
  Script const script = make_script(t.flow(), t.flow(), t.device_side(), nullptr);
  std::uint32_t played = 0;
  std::size_t room = 0;
  std::vector<std::byte> octets;
  for (Step const& step : script.steps) {
    std::vector<std::byte> const& payload = step.segment.payload;
    played += step.packet == 4 ? 1u : 0u;
    room += payload.capacity();
    octets.insert(octets.end(), payload.begin(), payload.end());
  }
  EXPECT_EQ(played, parts);
  EXPECT_EQ(octets, t.packet(4).payload);
  EXPECT_EQ(room, bytes);
}

// An urgent pointer may name what was never sent: no calls are made up for that.
TEST(Script, AnUrgentPointerBeyondTheStreamMakesNoData) {
  Conversation t;
  t.handshake();
  for (std::uint32_t i = 0; i < 50; ++i) {
    t.device(20 + i, "PAU", {1 + i * 65'535, 1, 1});
    t.last().urgent = 65'535;
  }
  Script const script = make_script(t.flow(), t.flow(), t.device_side(), nullptr);
  std::size_t written = 0;
  for (Step const& step : script.steps) {
    written += step.content.size();
  }
  EXPECT_LE(written, 50u);
}

// An address that cannot be played is replaced by one of its family: an ICMP error quotes packets
// of it.
TEST(Script, LoopbackIsPlayedWithAddressesOfItsFamily) {
  for (bool const six : {false, true}) {
    IpAddress const loopback = six ? IpAddress{0, 1} : IpAddress::v4(127, 0, 0, 1);
    Script script;
    script.comparison = Comparison::obligations;
    script.device = {loopback, Port{80}};
    script.peer = {loopback, Port{40'000}};
    PlayedAddresses const played = played_addresses(script);
    EXPECT_EQ(played.device.is_v4(), !six);
    EXPECT_EQ(played.peer.is_v4(), !six);
    EXPECT_NE(played.device, played.peer);
  }
}

}  // namespace
}  // namespace lockstep::conformance
