// The referee beyond 2^31 and 2^32 octets: silent where all is well, and as sharp as at the start.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/checkers/referee/talk.hpp"

namespace lockstep::sim::referee {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint64_t gibi = std::uint64_t{1} << 30;
// What is sent at once, so that few segments make a long stream. No power of two: the stream meets
// no number again by chance.
constexpr std::uint32_t step = 12'345'679;

Terms long_terms(bool whole) {
  Terms terms;
  terms.whole = whole;
  terms.likely = !whole;
  terms.without = static_cast<std::uint32_t>(Rule::mss_exceeded);
  return terms;
}

// A conversation in which `a` sends without end and `b` acknowledges; b may say a little itself.
class LongTalk {
 public:
  explicit LongTalk(const Terms& terms, bool both_ways = false)
      : talk(terms), both_ways_(both_ways) {
    talk.open({.mss = 65'495, .scale = 14, .sack_permitted = true});
    talk.a("AP", {.seq = 1, .ack = 1, .text = 9, .own = true});
    talk.b("A", {.seq = 1, .ack = 10});
    sent = 10;
  }

  void send_to(std::uint64_t octets) {
    while (sent < octets) {
      std::uint64_t const most = std::min<std::uint64_t>(step, std::max(sent, std::uint64_t{9}));
      auto const length = static_cast<std::uint32_t>(most);
      talk.a("AP", {.seq = seq(), .ack = back, .text = 9, .cut = length - 9, .own = true});
      sent += length;
      Say answer{.seq = back, .ack = seq()};
      answer.text = both_ways_ ? 2 : 0;
      talk.b(both_ways_ ? "AP" : "A", answer);
      back += answer.text;
    }
  }
  // One segment is lost; what is above it is reported, and it comes again.
  void lose_one() {
    std::uint32_t const hole = seq();
    talk.a("AP", {.seq = hole + 100, .ack = back, .text = 100});
    talk.b("A", {.seq = back, .ack = hole, .sack = {{hole + 100, hole + 200}}});
    talk.a("AP", {.seq = hole, .ack = back, .text = 100, .after_ms = 300});
    sent += 200;
    talk.b("A", {.seq = back, .ack = seq()});
  }
  std::uint32_t seq() const { return static_cast<std::uint32_t>(sent); }

  Talk talk;
  std::uint64_t sent = 1;
  std::uint32_t back = 1;

 private:
  bool both_ways_;
};

//= rfc9293#3.4
//= type=test
//# 9293:P-SEQ-MOD arithmetic on sequence numbers is modulo 2^32, so a stream has no end
TEST(LongStream, FiveGibibytesAreFine) {
  for (bool const whole : {true, false}) {
    for (bool const both_ways : {false, true}) {
      LongTalk t(long_terms(whole), both_ways);
      t.send_to(5 * gibi);
      t.talk.a("FA", {.seq = t.seq(), .ack = t.back, .own = true});
      t.talk.b("FA", {.seq = t.back, .ack = t.seq() + 1});
      t.talk.a("A", {.seq = t.seq() + 1, .ack = t.back + 1, .own = true});
      EXPECT_THAT(t.talk.all(), IsEmpty()) << whole << both_ways;
    }
  }
}

// What was reported, sent urgently or marked long ago is not held against what has its number now.
TEST(LongStream, WhatWasLongAgoIsForgotten) {
  LongTalk t(long_terms(false));
  t.lose_one();
  t.talk.a("AUP", {.seq = t.seq(), .ack = 1, .text = 50, .urgent = 50});
  t.sent += 50;
  t.talk.b("A", {.seq = 1, .ack = t.seq()});
  for (std::uint64_t at = gibi; at <= 5 * gibi; at += gibi / 2) {
    t.send_to(at);
    // Twice: a retransmission of what nobody has reported.
    t.talk.a("AP", {.seq = t.seq() - 1'000, .ack = 1, .text = 1'000, .after_ms = 1'500});
    t.talk.b("A", {.seq = 1, .ack = t.seq()});
    t.talk.a("AUP", {.seq = t.seq(), .ack = 1, .text = 50, .urgent = 20});
    t.sent += 50;
    t.talk.b("A", {.seq = 1, .ack = t.seq()});
  }
  EXPECT_THAT(t.talk.all(), IsEmpty());
}

// What the referee finds at the start it finds beyond each crossing.
TEST(LongStream, FoulsAreFoundAtAnyPosition) {
  for (std::uint64_t const at : {std::uint64_t{1'000}, 3 * gibi, 5 * gibi}) {
    LongTalk t(long_terms(true));
    t.send_to(at);
    std::uint32_t const end = t.seq();
    t.talk.b("A", {.seq = 1, .ack = end, .window = 9'000});
    t.talk.b("A", {.seq = 1, .ack = end, .sack = {{end + 50, end + 59}}});
    t.talk.b("A", {.seq = 1, .ack = end + 1});
    t.talk.a("A", {.seq = end + 1, .ack = 1, .text = 9, .own = true});
    t.talk.a("A", {.seq = end + 100, .ack = 1, .text = 100});
    t.talk.b("A", {.seq = 1, .ack = end + 200});
    t.talk.a("A", {.seq = end, .ack = 1, .text = 9, .cut = 60'000});
    t.talk.a("A", {.seq = end + (10'000 << 14), .ack = 1, .text = 9, .cut = 60'000});
    EXPECT_THAT(t.talk.all(), ElementsAre("edge-moved-left", "sack-of-unheard", "ack-of-unheard",
                                          "sent-with-gap", "ack-of-unheard", "beyond-window"))
        << at;
  }
}

}  // namespace
}  // namespace lockstep::sim::referee
