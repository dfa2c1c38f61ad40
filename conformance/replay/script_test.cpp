// What a script keeps of the segments that it plays.
#include "conformance/replay/script.hpp"

#include <gtest/gtest.h>

#include "conformance/replay/conversation.hpp"

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

}  // namespace
}  // namespace lockstep::conformance
