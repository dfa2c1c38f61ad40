// Layout of an arena: measuring and placing agree, alignment, saturation.
#include "core/memory/arena.hpp"

#include <array>

#include <gtest/gtest.h>

#include "core/units/random.hpp"

namespace lockstep::memory {
namespace {

struct Odd {
  std::uint8_t bytes[3];
};

// The calls of a stack, the same with and without memory.
struct Parts {
  View<std::uint64_t> words;
  View<Odd> odds;
  std::byte* raw;

  Parts(Layout& layout, Count words_max, Count odds_max)
      : words(layout.place<std::uint64_t>(words_max)),
        odds(layout.place<Odd>(odds_max)),
        raw(layout.place_bytes(odds_max.value)) {}
};

TEST(Layout, MeasuresWhatItPlaces) {
  alignas(arena_alignment) std::array<std::byte, 8192> memory;
  Random random(1);
  for (int i = 0; i < 200; ++i) {
    Count const words{static_cast<std::uint32_t>(random.below(100))};
    Count const odds{static_cast<std::uint32_t>(random.below(100))};
    Layout measure;
    Parts const nowhere(measure, words, odds);
    EXPECT_TRUE(measure.measures());
    auto const arena = std::span(memory).first(static_cast<std::size_t>(measure.bytes()));
    Layout place(arena);
    Parts const parts(place, words, odds);
    EXPECT_FALSE(place.measures());
    EXPECT_EQ(place.bytes(), measure.bytes());
    EXPECT_EQ(measure.bytes() % arena_alignment, 0u);
    EXPECT_EQ(reinterpret_cast<std::byte*>(parts.words.data()), memory.data());
    auto const behind_words = reinterpret_cast<std::byte*>(parts.words.data() + words.value);
    EXPECT_GE(reinterpret_cast<std::byte*>(parts.odds.data()), behind_words);
    EXPECT_GE(parts.raw, reinterpret_cast<std::byte*>(parts.odds.data() + odds.value));
    EXPECT_LE(parts.raw + odds.value, memory.data() + measure.bytes());
    EXPECT_EQ((reinterpret_cast<std::byte*>(parts.odds.data()) - memory.data()) % 64, 0);
    EXPECT_EQ((parts.raw - memory.data()) % 64, 0);
  }
}

TEST(Layout, ReservesAtTheAlignmentAskedFor) {
  Layout layout;
  EXPECT_EQ(layout.reserve({3, 1}), 0u);
  EXPECT_EQ(layout.reserve({1, 1}), 3u);
  EXPECT_EQ(layout.reserve({8, 8}), 8u);
  EXPECT_EQ(layout.reserve({1, 64}), 64u);
  EXPECT_EQ(layout.bytes(), 128u);
}

TEST(Layout, SaturatesInsteadOfWrapping) {
  Layout layout;
  layout.reserve({~std::uint64_t{0} - 1000, 1});
  layout.reserve({2000, 64});
  EXPECT_EQ(layout.bytes(), ~std::uint64_t{0} - 63);
  layout.reserve({~std::uint64_t{0}, 64});
  EXPECT_EQ(layout.bytes(), ~std::uint64_t{0} - 63);
}

TEST(LayoutDeathTest, RefusesAnArenaThatIsTooSmallOrUnaligned) {
  alignas(arena_alignment) std::array<std::byte, 256> memory;
  auto const small = std::span(memory).first(64);
  EXPECT_DEATH(
      {
        Layout layout(small);
        layout.place<std::uint64_t>(Count{9});
      },
      "");
  auto const crooked = std::span(memory).subspan(1);
  EXPECT_DEATH(Layout{crooked}, "");
}

TEST(ViewDeathTest, RefusesAnIndexBeyondTheArray) {
  std::array<int, 3> items{1, 2, 3};
  View<int> const view(items.data(), Count{3});
  EXPECT_EQ(view[2], 3);
  EXPECT_DEATH(view[3], "");
  EXPECT_DEATH(view[nil], "");
}

}  // namespace
}  // namespace lockstep::memory
