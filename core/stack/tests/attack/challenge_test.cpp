// Challenge ACKs of RFC 5961, beyond the arrival table.
#include <gtest/gtest.h>

#include "core/stack/testing/test_kit.hpp"

namespace lockstep::testing {
namespace {

//= rfc5961#4.2
//= type=test
//# 5961:BLIND-13 a peer that has crashed answers the challenge by a valid reset
TEST(Challenge, IsAnsweredByAReset) {
  Kit kit;
  kit.socket_in(State::established);
  EXPECT_EQ(kit.drop_of({.flags = flag::syn, .seq = 77, .mss = 1460}), Drop::tcp_syn_challenged);
  auto const out = kit.take();
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(line(out[0]), "A 1(0) ack 1");
  kit.deliver({.flags = flag::rst, .seq = out[0].ack});
  EXPECT_TRUE(kit.notified(EventKind::closed, Cause::reset));
}

//= rfc5961#3.2
//= type=test
//# 5961:BLIND-14 nothing else of the segment is processed; later segments are processed normally
TEST(Challenge, DropsTheSegmentAndNoMore) {
  Kit kit;
  kit.socket_in(State::established);
  kit.write("data");
  static_cast<void>(kit.take());
  kit.deliver(
      {.flags = flag::rst | flag::ack | flag::urg, .seq = 2, .ack = 5, .data = "x", .urgent = 1});
  EXPECT_EQ(kit.sent(), "A 5(0) ack 1");
  EXPECT_EQ(kit.info().send.queued.count, 4u);
  EXPECT_FALSE(kit.info().receive.urgent);
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 5, .data = "next"});
  EXPECT_EQ(kit.info().send.queued.count, 0u);
  EXPECT_EQ(kit.received, "next");
}

//= rfc5961#7
//= type=test
//# 5961:BLIND-7, 5961:BLIND-12 at most as many per second as configured, whatever the cause
//# 5961:BLIND-15 counted by arrival times: no timer is needed
TEST(Challenge, AreLimited) {
  for (State state : {State::established, State::time_wait}) {
    Config config = kit_config();
    config.tcp.challenges_per_second = Count{3};
    config.tcp.time_wait_reuse = false;
    Kit kit(config);
    kit.socket_in(state);
    Instant const deadline = kit.stack.deadline();
    std::uint32_t const next = state == State::time_wait ? 2 : 1;
    auto burst = [&] {
      kit.send({.flags = flag::rst, .seq = next + 9});
      kit.send({.flags = flag::syn, .seq = next + 9});
      kit.send({.flags = flag::ack, .seq = next, .ack = 1000});
      kit.send({.flags = flag::rst, .seq = next + 10});
      kit.send({.flags = flag::syn, .seq = next + 10});
      kit.turn();
      return kit.take().size();
    };
    EXPECT_EQ(burst(), 3u) << name_of(state);
    EXPECT_EQ(kit.stack.statistics().tcp.challenges_limited, 2u);
    EXPECT_EQ(kit.stack.deadline(), deadline);
    kit.advance(Duration::seconds(1) - Duration::nanoseconds(1));
    EXPECT_EQ(burst(), 0u);
    kit.advance(Duration::nanoseconds(1));
    EXPECT_EQ(burst(), 3u);
    EXPECT_EQ(kit.state(), state);
  }
}

// How many challenge ACKs of one connection are sent in a second.
std::size_t challenges(Kit& kit, std::uint32_t asked) {
  for (std::uint32_t i = 0; i < asked; ++i) {
    kit.send({.flags = flag::syn, .seq = 10 + i});
  }
  kit.turn();
  std::size_t const sent = kit.take().size();
  kit.advance(Duration::seconds(1));
  return sent;
}

// A predictable limit would let an attacker count how much of it is used, and so detect connections
// of others (CVE-2016-5696).
//= rfc5961#7
//= type=test
//# 5961:BLIND-7 the limit of a second is unpredictable, and the same for the same key
TEST(Challenge, TheLimitIsRedrawnEverySecond) {
  std::vector<std::vector<std::size_t>> runs;
  for (std::uint64_t const key : {1u, 1u, 2u}) {
    Config config = kit_config();
    config.tcp.challenges_per_second = Count{20};
    config.tcp.challenge_jitter = true;
    config.tcp.isn_key.first = key;
    Kit kit(config);
    kit.socket_in(State::established);
    std::vector<std::size_t> counts;
    std::size_t all = 0;
    for (int second = 0; second < 40; ++second) {
      counts.push_back(challenges(kit, 40));
      EXPECT_GE(counts.back(), 10u);
      EXPECT_LE(counts.back(), 30u);
      all += counts.back();
    }
    EXPECT_GT(all, 40u * 17);
    EXPECT_LT(all, 40u * 23);
    runs.push_back(counts);
  }
  EXPECT_EQ(runs[0], runs[1]);
  EXPECT_NE(runs[0], runs[2]);
}

//= rfc5961#7
//= type=test
//# 5961:BLIND-7 a flooded connection leaves the others their challenge ACKs
TEST(Challenge, EachConnectionHasAShare) {
  Config config = kit_config();
  config.tcp.challenges_per_second = Count{100};
  config.tcp.challenges_per_connection = Count{3};
  Kit kit(config);
  kit.socket_in(State::established);
  kit.advance(Duration::seconds(1) - Duration{kit.now.ns % 1'000'000'000});
  EXPECT_EQ(challenges(kit, 40), 3u);
  EXPECT_EQ(challenges(kit, 40), 3u);
  EXPECT_EQ(kit.stack.statistics().tcp.challenges_sent, 6u);
}

//= rfc5961#5.2
//= type=test
//# 5961:BLIND-10 the largest window ever seen, not the current one
//= rfc9293#3.10.7.4
//= type=test
//# 9293:P-ACK-MAXWND, 9293:P-ACK-5961 both edges; data of an invalid segment is not accepted
TEST(Challenge, AckRangeByTheLargestWindow) {
  Kit kit;
  kit.accept_connection(1460, 1000);
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1, .window = 5000});
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1, .window = 10});
  EXPECT_EQ(kit.info().send.wnd_max.count, 5000u);
  EXPECT_EQ(kit.drop_of({.flags = flag::ack, .seq = 1, .ack = 1u - 5001, .data = "bad"}),
            Drop::tcp_ack_too_old);
  EXPECT_EQ(kit.sent(), "A 1(0) ack 1");
  EXPECT_EQ(kit.received, "");
  EXPECT_EQ(kit.drop_of({.flags = flag::ack, .seq = 1, .ack = 1u - 5000, .data = "good"}),
            Drop::none);
  EXPECT_EQ(kit.received, "good");
  EXPECT_EQ(kit.drop_of({.flags = flag::ack, .seq = 5, .ack = 2, .data = "bad"}),
            Drop::tcp_ack_of_unsent);
  EXPECT_EQ(kit.received, "good");
}

//= rfc5961#3.2
//= type=test
//# 5961:BLIND-8 RFC 5961's rule for resets is the default
//= rfc5961#4.2
//= type=test
//# 5961:BLIND-11 so is its rule for SYNs
TEST(Challenge, IsTheDefaultOfEveryProfile) {
  EXPECT_EQ(Config{}.tcp.reset_policy, tcp::ResetPolicy::rfc5961);
  EXPECT_EQ(profile_rfc().tcp.reset_policy, tcp::ResetPolicy::rfc5961);
  EXPECT_EQ(profile_linux().tcp.reset_policy, tcp::ResetPolicy::rfc5961);
}

// Two hosts that find each other's ACKs unacceptable would answer each other forever.
//= rfc5961#7
//= type=test
//# 5961:BLIND-7 a limited number of empty segments outside the window is answered per second
TEST(Answers, EmptySegmentsWithinALimit) {
  Config config = kit_config();
  config.tcp.empty_answers_per_second = Count{3};
  Kit kit(config);
  kit.accept_connection();
  kit.advance(Duration::seconds(1) - Duration{kit.now.ns % 1'000'000'000});
  for (int second = 0; second < 3; ++second) {
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(kit.drop_of({.flags = flag::ack, .seq = 0x8000'0000u, .ack = 1}),
                Drop::tcp_out_of_window);
      EXPECT_EQ(kit.sent(), i < 3 ? "A 1(0) ack 1" : "");
    }
    // A segment with data is not an answer.
    kit.deliver({.flags = flag::ack, .seq = 0, .ack = 1, .data = "x"});
    EXPECT_EQ(kit.sent(), "A 1(0) ack 1");
    kit.advance(Duration::seconds(1));
  }
  EXPECT_EQ(kit.stack.statistics().tcp.answers_limited, 6u);
}

// The same for TIME-WAIT.
TEST(Answers, TimeWaitAnswersEmptySegmentsWithinTheLimit) {
  Config config = kit_config();
  config.tcp.empty_answers_per_second = Count{2};
  Kit kit(config);
  kit.socket_in(State::time_wait);
  for (int i = 0; i < 4; ++i) {
    kit.deliver({.flags = flag::ack, .seq = 0x8000'0000u, .ack = 2});
    EXPECT_EQ(kit.sent(), i < 2 ? "A 2(0) ack 2" : "");
  }
}

// Answers and challenge ACKs are counted separately.
//= rfc5961#7
//= type=test
//# 5961:BLIND-7 answers to empty segments do not reduce the challenge ACKs
TEST(Answers, TakeNothingFromTheChallenges) {
  for (State const state : {State::syn_received, State::established, State::time_wait}) {
    Config config = bare_config();
    config.tcp.time_wait_ignores_reset = false;
    config.tcp.syn_cache_after = Count{state == State::syn_received ? 0u : 50u};
    Kit kit(config);
    kit.socket_in(state);
    std::uint32_t const next = state == State::time_wait ? 2 : 1;
    for (int i = 0; i < 50; ++i) {
      kit.deliver({.flags = flag::ack, .seq = 0x8000'0000u, .ack = next});
    }
    EXPECT_EQ(kit.take().size(), 50u) << name_of(state);
    kit.deliver({.flags = flag::rst, .seq = next + 9});
    EXPECT_EQ(kit.take().size(), 1u) << name_of(state);
    EXPECT_EQ(kit.stack.statistics().tcp.challenges_sent, 1u);
  }
}

// A flow in TIME-WAIT has a share like a connection, whatever it sends: the rest is left to others.
//= rfc5961#7
//= type=test
//# 5961:BLIND-7 one flow in TIME-WAIT leaves the others their challenge ACKs
TEST(Challenge, AFlowInTimeWaitHasAShare) {
  for (In const& flood :
       std::initializer_list<In>{{.flags = flag::ack, .seq = 0x8000'0000u, .ack = 2},
                                 {.flags = flag::ack, .seq = 2, .ack = 1000},
                                 {.flags = flag::syn, .seq = 3},
                                 {.flags = flag::rst, .seq = 3}}) {
    Config config = bare_config();
    config.tcp.time_wait_ignores_reset = false;
    config.tcp.time_wait_reuse = false;
    Kit kit(config);
    kit.accept_connection();
    IpAddress const bad = IpAddress::v4(10, 0, 0, 66);
    IpAddress const good = std::exchange(kit.peer, bad);
    kit.deliver({.flags = flag::syn, .mss = 1460});
    kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1});
    ASSERT_EQ(kit.stack.finish(kit.id), Refusal::none);
    kit.turn();
    kit.deliver({.flags = flag::fin | flag::ack, .seq = 1, .ack = 2});
    ASSERT_EQ(kit.state(), State::time_wait);
    kit.advance(Duration::seconds(1) - Duration{kit.now.ns % 1'000'000'000});
    static_cast<void>(kit.take());
    for (int i = 0; i < 1600; ++i) {
      kit.send(flood);
      if (i % 50 == 49) {
        kit.turn();
      }
    }
    bool const empty = flood.seq == 0x8000'0000u;
    EXPECT_EQ(kit.take().size(), empty ? config.tcp.empty_answers_per_second.value
                                       : config.tcp.challenges_per_connection.value);
    kit.peer = good;
    kit.deliver({.flags = flag::rst, .seq = 10});
    EXPECT_EQ(kit.take().size(), 1u);
  }
}

}  // namespace
}  // namespace lockstep::testing
