// A queue before the capture point, the device's own or its router's: what is recorded may have
// been sent long before.
#include <gtest/gtest.h>

#include <algorithm>

#include "conformance/replay/conversation.hpp"
#include "conformance/replay/replay.hpp"
#include "conformance/replay/report.hpp"

namespace lockstep::conformance {
namespace {

/// The clauses that the device of this capture violates.
std::string blamed_of(const Conversation& conversation) {
  std::string out;
  Replayed const result = replay_flow(conversation.flow(), conversation.device_side(), nullptr);
  for (const Violation& violation : result.verdict.violations) {
    out += (out.empty() ? "" : " ") + violation.clause;
  }
  return out;
}

/// An upload of 100 segments, recorded 200 ms apart, of which one is lost. The peer asks for that
/// one again and again, but it is not recorded again. Each waited in a queue for up to `waited` ms.
Conversation uploaded(std::uint32_t waited) {
  constexpr std::uint32_t lost = 60;
  Conversation c;
  auto const reply = [&c](std::uint32_t ms, std::string_view flags, Conversation::Numbers numbers,
                          std::uint32_t left, std::uint32_t echo) {
    c.device(ms, flags, numbers).stamp(1'000 + left, echo);
    c.last().time = c.last().time + Duration::microseconds(40);
  };
  c.peer(0, "S", {0, 0}).stamp(500, 0);
  reply(0, "SA", {0, 1}, 0, 500);
  c.peer(40, "A", {1, 1}).stamp(540, 1'000).peer(41, "PA", {1, 1, 100}).stamp(541, 1'000);
  reply(41, "A", {1, 101}, 41, 541);
  auto const left_at = [waited](std::uint32_t ms) { return ms < waited + 50 ? 50 : ms - waited; };
  for (std::uint32_t i = 0; i < 100; ++i) {
    std::uint32_t const ms = 50 + 200 * i;
    std::uint32_t const left = left_at(ms);
    // The last of the peer's ACKs that had come by then; they come 40 ms after each segment.
    std::uint32_t const heard = left < 100 ? 541 : 540 + 50 + (left - 90) / 200 * 200;
    reply(ms, "A", {1 + 1'000 * i, 101, 1'000}, left, heard);
    std::uint32_t const acknowledged = 1 + 1'000 * std::min(i + 1, lost);
    c.peer(ms + 40, "A", {101, acknowledged}).stamp(540 + ms, 1'000 + left);
  }
  return c;
}

// The retransmission waits behind what was sent before it. That carries old echoes.
TEST(Queue, WhatWaitedInItShowsNoSilence) {
  EXPECT_EQ(blamed_of(uploaded(0)), "9293:P-RTO");
  EXPECT_EQ(blamed_of(uploaded(8'000)), "");
}

/// After an exchange and some seconds a message comes, whose ACK is recorded 640 ms later and left
/// after `left` ms. The clock has `rate` ticks in a millisecond.
Conversation answered_late(std::uint32_t rate, std::uint64_t left, bool more) {
  Conversation c;
  auto const stamp = [&c, rate](std::uint64_t ms, std::uint32_t echo) {
    c.last().time = c.last().time + Duration::microseconds(40);
    c.stamp(static_cast<std::uint32_t>(7'000 + rate * ms), echo);
  };
  c.peer(0, "S", {0, 0}).stamp(500, 0).device(0, "SA", {0, 1});
  stamp(0, 500);
  c.peer(20, "A", {1, 1}).stamp(520, 7'000).peer(21, "PA", {1, 1, 100}).stamp(521, 7'000);
  c.device(21, "PA", {1, 101, 200});
  stamp(21, 521);
  c.peer(41, "A", {101, 201}).stamp(541, 7'000 + rate * 21);
  c.peer(8'000, "PA", {101, 201, 50}).stamp(8'500, 7'000 + rate * 21);
  c.device(8'640, "A", {201, 151});
  stamp(8'000 + left, 8'500);
  if (more) {
    c.peer(11'000, "PA", {151, 201, 50}).stamp(11'500, 7'000 + rate * 8'040);
    c.device(11'000, "A", {201, 201});
    stamp(11'000, 11'500);
  }
  return c;
}

// Only a clock whose rate is known shows when the ACK left: by a common rate, or by what follows.
TEST(Queue, AnAckWaitedInItOrWasLate) {
  EXPECT_EQ(blamed_of(answered_late(1'000, 40, false)), "");
  EXPECT_EQ(blamed_of(answered_late(1'000, 40, true)), "");
  EXPECT_EQ(blamed_of(answered_late(1'000, 640, true)), "9293:MUST-40");
  EXPECT_EQ(blamed_of(answered_late(1, 40, false)), "");
  EXPECT_EQ(blamed_of(answered_late(1, 640, false)), "9293:MUST-40");
}

/// The clock ticks twice a second. An exchange after the handshake is answered late in a tick, and
/// the message's ACK leaves early in one, 200 ms after it.
Conversation slow_clock(std::uint64_t queued) {
  Conversation c;
  auto const stamp = [&c](std::uint32_t value, std::uint32_t echo) {
    c.last().time = c.last().time + Duration::microseconds(40);
    c.stamp(value, echo);
  };
  c.peer(0, "S", {0, 0}).stamp(500, 0).device(0, "SA", {0, 1});
  stamp(7'000, 500);
  c.peer(80, "A", {1, 1}).stamp(580, 7'000).peer(81, "PA", {1, 1, 100}).stamp(581, 7'000);
  c.device(81, "PA", {1, 101, 200});
  stamp(7'000, 581);
  c.peer(161, "A", {101, 201}).stamp(661, 7'000);
  c.peer(9'930, "PA", {101, 201, 50}).stamp(10'430, 7'000);
  c.device(10'130 + queued, "A", {201, 151});  // its clock turned at 125, 625 ... 10'125 ms
  stamp(7'021, 10'430);
  return c;
}

TEST(Queue, ASlowClockShowsItToATick) {
  EXPECT_EQ(blamed_of(slow_clock(320)), "");
  EXPECT_EQ(blamed_of(slow_clock(0)), "");
}

}  // namespace
}  // namespace lockstep::conformance
