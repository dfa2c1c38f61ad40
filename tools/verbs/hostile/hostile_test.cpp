// Every attack with fewer frames: each bound holds, and a bound that is too tight is reported as
// exceeded.
#include "tools/verbs/hostile/hostile.hpp"

#include <gtest/gtest.h>
#include <test_paths.hpp>

#include <algorithm>
#include <cstdlib>

#include "tools/base/process/failure.hpp"
#include "tools/verbs/hostile/devices.hpp"

namespace lockstep::tools {
namespace {

// A sanitizer makes each frame cost five times as much; what it finds, it finds in a third of them.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t share = 3;
#elif defined(__has_feature)
constexpr std::uint64_t share =
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ? 3 : 1;
#else
constexpr std::uint64_t share = 1;
#endif

const HostileTarget& standard() {
  static const HostileTarget target{"default", quiet_time("default", 1)};
  return target;
}

TEST(Hostile, EveryLieHasABound) {
  ASSERT_EQ(hostile_bounds().size(), sim::attack_count);
  for (std::uint32_t i = 0; i < sim::attack_count; ++i) {
    EXPECT_EQ(hostile_bounds()[i].attack, static_cast<sim::Attack>(i));
    EXPECT_GE(hostile_bounds()[i].honest_percent, 90u);
  }
}

//= rfc4987#3.7
//= type=test
//# 4987:SYN-6 under a flood honest clients keep nine tenths of their throughput
TEST(Hostile, EachLieStaysWithinItsBounds) {
  for (HostileBound bound : hostile_bounds()) {
    bound.frames /= 20 * share;
    HostileResult const result = judge_lie(bound, standard(), 1);
    EXPECT_EQ(result.broken, "") << name_of(bound.attack);
    // The silent attacker sends few frames; the others need some turns to connect.
    std::uint64_t const frames_least = bound.attack == sim::Attack::silence
                                           ? 20 / share
                                           : std::min(bound.frames * 9 / 10, bound.frames - 100);
    EXPECT_GE(result.report.frames_in, frames_least);
  }
}

// Memory, invariants and liveness hold with each profile.
class HostileProfile : public ::testing::TestWithParam<const char*> {};

TEST_P(HostileProfile, EachLieStaysWithinItsBounds) {
  HostileTarget const target{GetParam(), quiet_time(GetParam(), 1)};
  for (HostileBound bound : hostile_bounds()) {
    bound.frames /= 50 * share;
    HostileResult const result = judge_lie(bound, target, 1);
    EXPECT_EQ(result.broken, "") << name_of(bound.attack);
  }
}

INSTANTIATE_TEST_SUITE_P(All, HostileProfile, ::testing::Values("rfc", "linux", "freebsd"));

TEST(Hostile, AnExceededBoundIsNamed) {
  HostileBound bound = hostile_bounds()[0];
  bound.frames = 50'000;  // so many that retransmitted SYN-ACKs hardly count
  bound.connections = 1;
  bound.honest_percent = 200;
  EXPECT_EQ(judge_lie(bound, standard(), 1).broken, "connections, honest");
}

TEST(Hostile, TheSameForTheSameSeed) {
  const auto once = sim::run_hostile({sim::Attack::sequence_guesses, 2'000}, 3);
  const auto twice = sim::run_hostile({sim::Attack::sequence_guesses, 2'000}, 3);
  EXPECT_EQ(once.bytes_out, twice.bytes_out);
  EXPECT_EQ(once.honest_ns, twice.honest_ns);
}

TEST(Hostile, ADeviceIsAttackedAndJudged) {
  setenv("LOCKSTEP_DEVICES", LOCKSTEP_BINARY_DIR "/devices", 1);  // for the clients
  HostileOptions options;
  options.device = LOCKSTEP_BINARY_DIR "/devices/lockstep.so";
  options.attack = "ack_storm";
  options.frames = 50;
  auto const results = besiege(options);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].broken, "");
  EXPECT_GT(results[0].report.frames_in, 20u);
  EXPECT_GE(results[0].honest_percent, 50u);
  options.device = "nowhere";
  EXPECT_THROW(besiege(options), Failure);
  options.attack = "truth";
  EXPECT_THROW(besiege(options), Failure);
}

}  // namespace
}  // namespace lockstep::tools
