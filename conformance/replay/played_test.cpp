// Our TCP in the device's place: the addresses that it plays, and what stays true where it leaves
// the course of the capture.
#include <gtest/gtest.h>

#include "conformance/replay/conversation.hpp"
#include "conformance/replay/obligations.hpp"
#include "conformance/replay/replay.hpp"
#include "conformance/replay/report.hpp"

namespace lockstep::conformance {
namespace {

Replayed replayed(const Conversation& conversation) {
  return replay_flow(conversation.flow(), conversation.device_side(), nullptr);
}

// 10.1.4.255 is a host of 10.1.4.0/22, and 10.1.5.0 too; our TCP took them for broadcast addresses.
TEST(Played, AHostMayHaveTheLastAddressOfABlockOf256) {
  for (std::uint8_t const last : {std::uint8_t{0}, std::uint8_t{255}, std::uint8_t{21}}) {
    for (bool const devices : {false, true}) {
      IpAddress const edge = IpAddress::v4(10, 1, 4, last), other = IpAddress::v4(10, 1, 4, 20);
      Conversation c(devices ? edge : other, devices ? other : edge);
      c.handshake().peer(11, "PA", {1, 1, 100}).device(11, "A", {1, 101});
      c.device(20, "PA", {1, 101, 50}).peer(30, "A", {101, 51});
      EXPECT_EQ(verdict_text(replayed(c).verdict), "differs, allowed: ack-coalescing")
          << int{last} << devices;
    }
  }
}

// What the captured packets alone show stays true where our TCP did not follow the capture.
TEST(Played, AStuckPlayHidesNoSureViolation) {
  Conversation c;
  c.handshake().peer(11, "PA", {1, 1, 100}).device(11, "A", {1, 101});
  c.device(20, "PA", {1, 101, 50}).device(300, "PA", {1, 101, 50}).peer(310, "A", {101, 51});
  c.packet(6).payload.back() ^= std::byte{1};
  Replayed play = replayed(c);
  ASSERT_EQ(verdict_text(play.verdict).substr(0, 8), "violates");
  play.run.stuck_step = 1;
  EXPECT_EQ(verdict_text(compare_obligations(play.script, play.run, play.config, {})),
            verdict_text(play.verdict));
}

}  // namespace
}  // namespace lockstep::conformance
