// Fixed-point numbers against known values, and the distributions against their formulas.
#include "sim/draws/draw.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "sim/draws/fixed_point.hpp"

namespace lockstep::sim {
namespace {

constexpr std::uint64_t one = std::uint64_t{1} << 32;

// Known values from a calculation with 60 decimal digits, rounded down.
TEST(FixedPoint, LogarithmsOfKnownNumbers) {
  EXPECT_EQ(log2_of(1).value, 0u);
  EXPECT_EQ(log2_of(std::uint64_t{1} << 63).value, 63 * one);
  EXPECT_EQ(log2_of(3).value, 6'807'362'105u);
  EXPECT_EQ(log2_of(10).value, 14'267'572'527u);
  EXPECT_LT(log2_of(~std::uint64_t{0}).value, 64 * one);
  static_assert(log2_of(3).value == 6'807'362'105u);
}

TEST(FixedPoint, PowersOfKnownNumbers) {
  EXPECT_EQ(power_of_two({0}).value, one);
  EXPECT_EQ(power_of_two({one / 2}).value, 6'074'000'999u);
  EXPECT_EQ(power_of_two({10 * one}).value, 1'024 * one);
  EXPECT_EQ(power_of_two({32 * one}).value, ~std::uint64_t{0});
  // The largest fraction: every root is a factor.
  EXPECT_EQ(power_of_two({one - 1}).value, 8'589'934'590u);
}

TEST(FixedPoint, APowerUndoesALogarithm) {
  for (std::uint64_t number = 2; number < 2'000'000'000; number += number / 7 + 1) {
    std::uint64_t const back = scaled(1'000'000, power_of_two(log2_of(number)));
    std::uint64_t const expected = number * 1'000'000;
    EXPECT_LE(expected - std::min(back, expected), number / 1'000 + 1) << number;
  }
}

TEST(FixedPoint, ProductsOfLargeNumbers) {
  WideProduct const all = wide_product(~std::uint64_t{0}, ~std::uint64_t{0});
  EXPECT_EQ(all.high, ~std::uint64_t{0} - 1);
  EXPECT_EQ(all.low, 1u);
  EXPECT_EQ(scaled(~std::uint64_t{0}, {2 * one}), ~std::uint64_t{0});
  EXPECT_EQ(scaled(1'000, {3 * one / 2}), 1'500u);
}

std::vector<std::uint64_t> some_of(const Draw& draw) {
  Random stream(5);
  std::vector<std::uint64_t> out;
  for (std::uint32_t i = 0; i < 100'000; ++i) {
    out.push_back(draw.from(stream));
  }
  std::sort(out.begin(), out.end());
  return out;
}

// The values are the same on every machine, so the test compares them with the formulas once.
TEST(Draw, TheExponentialDistributionHasItsQuantiles) {
  Draw draw;
  draw.kind = DrawKind::exponential;
  draw.mean = 1'000'000;
  auto const drawn = some_of(draw);
  // -ln(1 - q) of the mean: 693,147, 2,302,585 and 4,605,170; drawn to 1 in 100.
  EXPECT_EQ(drawn[50'000] / 10'000, 69u);
  EXPECT_EQ((drawn[90'000] + 12'000) / 25'000, 92u);
  EXPECT_EQ((drawn[99'000] + 25'000) / 100'000, 46u);
  std::uint64_t sum = 0;
  for (std::uint64_t each : drawn) {
    sum += each;
  }
  EXPECT_EQ((sum / drawn.size() + 5'000) / 10'000, 100u);
}

TEST(Draw, TheParetoDistributionHasItsQuantiles) {
  Draw draw;
  draw.kind = DrawKind::pareto;
  draw.least = 1'000;
  draw.shape_thousandths = 1'200;
  draw.most = 200'000;
  auto const drawn = some_of(draw);
  EXPECT_EQ(drawn.front() / 10, 100u);
  // 1,000 times (1 - q)^(-1/1.2): 1,781, 6,813, 46,416 and cut.
  EXPECT_EQ((drawn[50'000] + 10) / 20, 89u);
  EXPECT_EQ((drawn[90'000] + 100) / 200, 34u);
  EXPECT_EQ(drawn[99'000] / 10'000, 4u);
  EXPECT_EQ(drawn.back(), 200'000u);
}

TEST(Draw, UniformAndListed) {
  Draw draw;
  draw.kind = DrawKind::uniform;
  draw.least = 10;
  draw.most = 13;
  auto const drawn = some_of(draw);
  EXPECT_EQ(drawn.front(), 10u);
  EXPECT_EQ(drawn.back(), 13u);
  draw.kind = DrawKind::listed;
  draw.values = {7, 7, 9};
  auto const listed = some_of(draw);
  EXPECT_EQ(listed[60'000], 7u);
  EXPECT_EQ(listed[70'000], 9u);
}

Duration after(std::uint32_t arrivals, const ArrivalSpec& spec) {
  ArrivalProcess process(spec, Random(3));
  Duration last;
  for (std::uint32_t i = 0; i < arrivals; ++i) {
    Duration const next = process.next();
    EXPECT_GE(next, last);
    last = next;
  }
  return last;
}

TEST(Arrivals, PoissonHasItsMean) {
  ArrivalSpec spec{ArrivalKind::poisson, Duration::milliseconds(20), {}, {}};
  EXPECT_EQ((after(500'000, spec).ns / 1'000'000'000 + 50) / 100, 100u);  // 10,000 s
}

// A source that is on for a third of the time has arrivals three times as far apart.
TEST(Arrivals, OnOffHasItsMean) {
  ArrivalSpec const spec{ArrivalKind::on_off, Duration::milliseconds(20),
                         Duration::milliseconds(500), Duration::seconds(1)};
  EXPECT_EQ((after(500'000, spec).ns / 1'000'000'000 + 500) / 1'000, 30u);  // 30,000 s
}

TEST(Arrivals, TimesTooLongForTheClockEnd) {
  ArrivalSpec const spec{ArrivalKind::on_off, Duration::seconds(1), Duration::milliseconds(1),
                         Duration::forever()};
  EXPECT_FALSE(spec.hardly_on());
  EXPECT_GT(after(3, spec), Duration::seconds(1'000'000));
}

TEST(Streams, AFlowDrawsWhatItDrawsWhateverTheOthersDo) {
  AppDraws draws;
  draws.stream = Random(9);
  EXPECT_NE(stream_of_flow(draws, "bytes", 0).state(), stream_of_flow(draws, "bytes", 1).state());
  EXPECT_NE(stream_of_flow(draws, "bytes", 0).state(), stream_of_flow(draws, "think", 0).state());
  EXPECT_EQ(stream_of_flow(draws, "bytes", 300).state(),
            stream_of_flow(draws, "bytes", 300).state());
}

}  // namespace
}  // namespace lockstep::sim
