// What a device's retransmission timer seems to do in a capture, and what else explains it: a timer
// that expires late, time that stands still, a peer that closes its window. Each test also has a
// capture of a device that violates the clause.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "conformance/replay/conversation.hpp"
#include "conformance/replay/replay.hpp"
#include "conformance/replay/report.hpp"
#include "tools/base/capture/octets.hpp"

namespace lockstep::conformance {
namespace {

/// The clauses that the device of this capture violates.
std::string accused_of(const Flow& flow, const Endpoint& device) {
  std::string out;
  Replayed const result = replay_flow(flow, device, nullptr);
  for (const Violation& violation : result.verdict.violations) {
    out += (out.empty() ? "" : " ") + violation.clause;
  }
  return out;
}

std::string accused_of(const Conversation& conversation) {
  return accused_of(conversation.flow(), conversation.device_side());
}

/// The options that both sides have.
struct Options {
  bool selective = false, stamps = false;
};

/// The time between two transmissions, in ms. While the device is suspended, its timers and its
/// timestamp clock stand still.
struct Gap {
  std::uint64_t awake = 0, suspended = 0;
};

/// The clauses for a device whose 300 octets were lost until the last of these transmissions.
std::string accused_of(const std::vector<Gap>& gaps, Options options) {
  Conversation c;
  std::uint64_t ms = 0;
  std::uint64_t own = 0;
  auto const stamp = [&](bool ours) {
    auto const now = static_cast<std::uint32_t>(ours ? 5'000 + own : 1'000 + ms);
    if (options.stamps) {
      c.stamp(now, ours ? 1'000 : 5'000);
    }
  };
  auto const permit = [&] {
    if (options.selective) {
      c.last().options.insert(c.last().options.end(),
                              {std::byte{4}, std::byte{2}, std::byte{1}, std::byte{1}});
    }
  };
  c.peer(0, "S", {0, 0});
  permit();
  stamp(false);
  c.device(0, "SA", {0, 1});
  permit();
  stamp(true);
  ms = own = 10;
  c.peer(ms, "A", {1, 1});
  stamp(false);
  c.peer(ms, "PA", {1, 1, 100});
  stamp(false);
  c.device(ms, "A", {1, 101});
  stamp(true);
  ms = own = 200;
  c.device(ms, "PA", {1, 101, 300});
  stamp(true);
  for (Gap const gap : gaps) {
    ms += gap.awake + gap.suspended;
    own += gap.awake;
    c.device(ms, "PA", {1, 101, 300});
    stamp(true);
  }
  ms += 10;
  c.peer(ms, "A", {101, 301});
  stamp(false);
  Flow flow = c.flow();
  flow.unfiltered = {true, true};
  return accused_of(flow, c.device_side());
}

constexpr std::array<Options, 3> all_options{{{false, false}, {true, false}, {true, true}}};

// BSD adds 200 ms to an RTO that doubles, and each expiry may be late.
TEST(Timers, AnExpiryOfATimerWithAConstantMayBeLate) {
  for (Options const options : all_options) {
    EXPECT_EQ(accused_of({{230}, {260}, {320}, {448}, {680}, {1'160}, {2'120}}, options), "");
    EXPECT_EQ(accused_of({{230}, {268}, {320}, {440}, {680}, {1'160}, {2'120}}, options), "");
    EXPECT_EQ(accused_of({{235}, {275}, {300}, {460}, {665}, {1'175}, {2'120}}, options), "");
    EXPECT_EQ(accused_of({{1'000}, {1'500}, {2'250}, {3'375}, {5'063}, {7'594}}, options),
              "6298:RTO-14");
  }
}

TEST(Timers, ATransmissionOfATimerWithAConstantMayBeMissing) {
  for (Options const options : all_options) {
    EXPECT_EQ(accused_of({{490}, {320}, {440}, {680}, {1'160}, {2'120}}, options), "");
    EXPECT_EQ(accused_of({{230}, {580}, {440}, {680}, {1'160}, {2'120}}, options), "");
    EXPECT_EQ(accused_of({{230}, {260}, {760}, {680}, {1'160}, {2'120}}, options), "");
  }
}

// RFC 6298, 2.5 permits a maximal RTO of 60 s. The capture's clock differs from the device's.
TEST(Timers, AMaximumOfSixtySecondsMayBeRecordedAsSlightlyLess) {
  for (Options const options : all_options) {
    for (std::uint64_t const most : {59'999u, 59'000u}) {
      std::vector<Gap> gaps;
      for (std::uint64_t ms = 1'000; ms < most; ms *= 2) {
        gaps.push_back({ms});
      }
      gaps.insert(gaps.end(), 4, {most});
      EXPECT_EQ(accused_of(gaps, options), most == 59'999 ? "" : "6298:RTO-14");
    }
  }
}

// A phone dozes, a laptop is in standby, a virtual machine is paused. Timestamps show for how long,
// and without them a gap that is shorter than the one before does.
TEST(Timers, ADeviceMayBeSuspended) {
  for (Options const options : all_options) {
    EXPECT_EQ(
        accused_of({{220}, {440}, {880}, {1'760, 20'000}, {3'520, 9'000}, {7'040, 2'000}, {14'080}},
                   options),
        "");
    EXPECT_EQ(accused_of({{1'000}, {1'000}, {1'000}, {1'000}, {1'000}, {1'000}, {1'000, 20'000}},
                         options),
              "6298:RTO-14");
  }
}

// Each gap is as long as no doubled timer explains, if the device was awake.
TEST(Timers, TimestampsShowForHowLongADeviceWasSuspended) {
  EXPECT_EQ(accused_of({{1'000, 450}, {2'000, 850}, {4'000, 750}, {8'000}}, {false, true}), "");
  EXPECT_EQ(accused_of({{1'450}, {2'850}, {4'750}, {8'000}}, Options{false, true}), "6298:RTO-14");
}

/// This many gaps, of `first` and `second` ms by turns.
std::vector<Gap> by_turns(std::uint64_t first, std::uint64_t second, std::size_t count) {
  std::vector<Gap> out;
  for (std::size_t i = 0; i < count; ++i) {
    out.push_back({i % 2 == 0 ? first : second});
  }
  return out;
}

// A gap that is shorter than the one before shows that time stood still, or that a transmission is
// missing. In many gaps that stay about as long no such thing hides a timer that doubles.
TEST(Timers, ATimerMayVaryWithoutDoubling) {
  for (Options const options : all_options) {
    EXPECT_EQ(accused_of(by_turns(1'000, 1'500, 10), options), "6298:RTO-14");
    EXPECT_EQ(accused_of(by_turns(1'060, 940, 10), options), "6298:RTO-14");
    EXPECT_EQ(accused_of(by_turns(1'000, 1'500, 7), options), "");
    EXPECT_EQ(accused_of(by_turns(1'000, 2'000, 10), options), "");
  }
  // The device wakes once a second, and its timer expires while it sleeps.
  std::vector<Gap> asleep = by_turns(1'000, 1'100, 10);
  for (std::uint64_t i = 0, timer = 2; i < asleep.size(); ++i, timer *= 2) {
    asleep[i] = {std::min(timer, asleep[i].awake),
                 asleep[i].awake - std::min(timer, asleep[i].awake)};
  }
  EXPECT_EQ(accused_of(asleep, {false, true}), "");
}

/// Four segments of which the last three are lost. The timer expires; `ms` after the ACK of the
/// second one the device sends the other two. `acked`: that ACK was captured.
Conversation two_at_once(std::uint64_t ms, bool acked) {
  Conversation c;
  c.handshake().peer(11, "PA", {1, 1, 100}).device(11, "A", {1, 101});
  for (std::uint32_t i = 0; i < 4; ++i) {
    c.device(12, i == 3 ? "PA" : "A", {1 + 1460 * i, 101, 1460});
  }
  if (acked) {
    c.peer(22, "A", {101, 1461})
        .device(1'512, "A", {1461, 101, 1460})
        .peer(1'532, "A", {101, 2921});
  }
  std::uint32_t const next = acked ? 2921 : 1;
  c.device(1'532 + ms, "A", {next, 101, 1460}).device(1'532 + ms, "PA", {next + 1460, 101, 1460});
  return c.peer(1'542 + ms, "A", {101, 5841});
}

// An ACK waits at an access point until its station wakes, or in a device that has no buffers left.
TEST(Timers, AnAckMayTakeEffectLongAfterItWasCaptured) {
  for (std::uint64_t const ms : {260u, 900u}) {
    EXPECT_EQ(accused_of(two_at_once(ms, true)), "");
    EXPECT_EQ(accused_of(two_at_once(ms, false)), "5681:CC-12");
  }
}

/// The timer retransmits a full segment, and 100 us later `second` follows.
Conversation after_the_first(Conversation::Numbers second) {
  Conversation c;
  c.handshake().peer(11, "PA", {1, 1, 100}).device(11, "A", {1, 101});
  c.device(12, "A", {1, 101, 1460}).device(12, "PA", {1461, 101, 1460});
  c.device(1'512, "A", {1, 101, 1460}).device(1'512, "A", second);
  c.last().time = c.last().time + Duration::microseconds(100);
  return c.peer(1'522, "A", {101, 2921});
}

// A gateway reports that the segment was too big, or two copies waited in one queue.
TEST(Timers, TheSameOctetsFillTheLossWindowOnce) {
  EXPECT_EQ(accused_of(after_the_first({1, 101, 1360})), "");
  EXPECT_EQ(accused_of(after_the_first({1, 101, 1460, 60'000})), "");
  EXPECT_EQ(accused_of(after_the_first({1461, 101, 1460})), "5681:CC-12");
}

/// The device's second segment is acknowledged after 4 s, and never retransmitted. Just before, the
/// peer offers this window.
Conversation never_again(std::uint16_t window) {
  Conversation c;
  c.peer(0, "S", {0, 0}).stamp(500, 0).device(0, "SA", {0, 1}).stamp(900, 500);
  c.peer(10, "A", {1, 1}).stamp(510, 900);
  c.device(11, "PA", {1, 1, 100}).stamp(911, 510).peer(21, "A", {1, 101}).stamp(521, 911);
  c.device(30, "PA", {101, 1, 100}).stamp(930, 521);
  c.peer(4'029, "A", {0, 101, 0, window}).stamp(4'529, 911);
  c.peer(4'030, "A", {1, 201}).stamp(4'530, 930);
  return c.device(4'030, "FA", {201, 1}).stamp(4'930, 4'530);
}

// BSD cancels the retransmission timer when the peer closes its window, and starts the one that
// probes the window, which takes longer.
TEST(Timers, ATimerIsCancelledWhenTheWindowCloses) {
  EXPECT_EQ(accused_of(never_again(0)), "");
  EXPECT_EQ(accused_of(never_again(2'000)), "9293:P-RTO");
}

TEST(Timers, AMissingRetransmissionIsNamedByItsSegment) {
  Conversation const c = never_again(2'000);
  Replayed const result = replay_flow(c.flow(), c.device_side(), nullptr);
  ASSERT_EQ(result.verdict.violations.size(), 1u);
  EXPECT_EQ(result.verdict.violations[0].packet, 6u);
}

}  // namespace
}  // namespace lockstep::conformance
