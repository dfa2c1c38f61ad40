// The store of sent octets beside a map, and what the referee finds with it.
#include "sim/checkers/referee/kept_text.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "core/units/random.hpp"
#include "sim/checkers/referee/conversation.hpp"

namespace lockstep::sim::referee {
namespace {

std::vector<std::byte> octets(std::uint32_t count, std::uint8_t value) {
  return std::vector<std::byte>(count, std::byte{value});
}

TEST(KeptText, ComparesWithWhatIsKnown) {
  KeptText kept;
  kept.grow(64);
  EXPECT_EQ(kept.take(Sequence{20}, octets(10, 1)).count, 0u);
  EXPECT_EQ(kept.take(Sequence{15}, octets(10, 2)).count, 5u);
  KeptText::Difference const again = kept.take(Sequence{20}, octets(10, 2));
  EXPECT_EQ(again.count, 5u);
  EXPECT_EQ(again.first, Sequence{25});
  kept.forget();
  EXPECT_EQ(kept.take(Sequence{0x9000'0000}, octets(16, 3)).count, 0u);
  EXPECT_EQ(kept.take(Sequence{0x9000'0000}, octets(16, 4)).count, 16u);
}

// A map of all octets is the model. Sequence numbers cross zero.
TEST(KeptText, AgreesWithAMap) {
  Random random(7);
  for (std::uint32_t round = 0; round < 200; ++round) {
    KeptText kept;
    std::map<std::int64_t, std::byte> model;  // by distance from the origin
    std::uint32_t size = 64u << random.below(3);
    Sequence const origin{0u - static_cast<std::uint32_t>(random.below(1'000))};
    std::int64_t top = 0;
    kept.grow(size);
    for (std::uint32_t step = 0; step < 100; ++step) {
      if (random.below(20) == 0 && size < 2'048) {
        kept.grow(size *= 2);
      }
      std::int64_t const near = top + static_cast<std::int64_t>(random.below(400)) - 300;
      std::int64_t const begin = random.below(2) == 0 ? top : std::max<std::int64_t>(0, near);
      auto const count = static_cast<std::uint32_t>(1 + random.below(200));
      std::vector<std::byte> text;
      for (std::uint32_t i = 0; i < count; ++i) {
        text.push_back(static_cast<std::byte>(random.below(20) == 0 ? 1 : 0));
      }
      Sequence const from = origin + Bytes{static_cast<std::uint32_t>(begin)};
      if (model.empty()) {
        top = begin;
      }
      top = std::max(top, begin + count);
      model.erase(model.begin(), model.lower_bound(top - size));
      std::uint32_t wrong = 0;
      for (std::uint32_t i = 0; i < count; ++i) {
        std::int64_t const at = begin + i;
        if (at < top - size) {
          continue;
        }
        auto const [known, fresh] = model.try_emplace(at, text[i]);
        wrong += !fresh && known->second != text[i] ? 1 : 0;
        known->second = text[i];
      }
      ASSERT_EQ(kept.take(from, text).count, wrong) << round << ' ' << step;
      ASSERT_EQ(kept.top(), origin + Bytes{static_cast<std::uint32_t>(top)});
    }
  }
}

// A flight of 30,000 octets: the first segment is sent again with another octet.
TEST(KeptText, HoldsWhatIsNotAcknowledged) {
  for (bool const acknowledged : {false, true}) {
    Conversation t;
    t.open({.window = 60'000, .mss = 1'460});
    for (std::uint32_t i = 0; i < 30; ++i) {
      t.a("A", {.seq = 1 + 1'000 * i, .ack = 1, .text = 1'000});
      if (acknowledged) {
        t.b("A", {.seq = 1, .ack = 1'001 + 1'000 * i, .window = 60'000});
      }
    }
    t.a("A", {.seq = 1, .ack = 1, .text = 1'000, .octet = 9});
    EXPECT_EQ(t.found(Rule::text_changed), acknowledged ? "no" : "certain") << acknowledged;
  }
}

// What is kept of connections that are over makes room for others.
TEST(KeptText, WhatIsOverMakesRoom) {
  Terms terms;
  terms.kept_total_max = 3 * 4'096;
  for (bool const over : {false, true}) {
    Conversation t(terms);
    for (std::uint16_t port = 1; port <= 4; ++port) {
      t.from_port(port).open({.window = 60'000, .mss = 1'460});
      t.a("AP", {.seq = 1, .ack = 1, .text = 100, .octet = 1});
      if (over) {
        t.a("FA", {.seq = 101, .ack = 1}).b("FA", {.seq = 1, .ack = 102});
      }
    }
    t.from_port(4).a("AP", {.seq = 1, .ack = 1, .text = 100, .octet = 2});
    EXPECT_EQ(t.found(Rule::text_changed) != "no", over);
  }
}

}  // namespace
}  // namespace lockstep::sim::referee
