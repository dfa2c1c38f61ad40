// The referee beyond 2^31 and 2^32 octets: no false findings, and no missed ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/checkers/referee/conversation.hpp"

namespace lockstep::sim::referee {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint64_t gibi = std::uint64_t{1} << 30;
// Octets of one segment, large so that few segments make a long stream. Not a power of two, so that
// sequence numbers do not repeat exactly after a wrap.
constexpr std::uint32_t step = 12'345'679;

Terms long_terms(bool whole) {
  Terms terms;
  terms.whole = whole;
  terms.likely = !whole;
  terms.without = static_cast<std::uint32_t>(Rule::mss_exceeded);
  return terms;
}

// A connection in which `a` sends a long stream and `b` acknowledges; b may send a little data.
class LongConversation {
 public:
  explicit LongConversation(const Terms& terms, bool both_ways = false)
      : conversation(terms), both_ways_(both_ways) {
    conversation.open({.mss = 65'495, .scale = 14, .sack_permitted = true});
    conversation.a("AP", {.seq = 1, .ack = 1, .text = 9, .own = true});
    conversation.b("A", {.seq = 1, .ack = 10});
    sent = 10;
  }

  void send_to(std::uint64_t octets) {
    while (sent < octets) {
      std::uint64_t const most = std::min<std::uint64_t>(step, std::max(sent, std::uint64_t{9}));
      auto const length = static_cast<std::uint32_t>(most);
      conversation.a("AP", {.seq = seq(), .ack = back, .text = 9, .cut = length - 9, .own = true});
      sent += length;
      Say answer{.seq = back, .ack = seq()};
      answer.text = both_ways_ ? 2 : 0;
      conversation.b(both_ways_ ? "AP" : "A", answer);
      back += answer.text;
    }
  }
  // One segment is lost; the data above it is SACKed, and the segment is retransmitted.
  void lose_one() {
    std::uint32_t const hole = seq();
    conversation.a("AP", {.seq = hole + 100, .ack = back, .text = 100});
    conversation.b("A", {.seq = back, .ack = hole, .sack = {{hole + 100, hole + 200}}});
    conversation.a("AP", {.seq = hole, .ack = back, .text = 100, .after_ms = 300});
    sent += 200;
    conversation.b("A", {.seq = back, .ack = seq()});
  }
  std::uint32_t seq() const { return static_cast<std::uint32_t>(sent); }

  Conversation conversation;
  std::uint64_t sent = 1;
  std::uint32_t back = 1;

 private:
  bool both_ways_;
};

//= rfc9293#3.4
//= type=test
//# 9293:P-SEQ-MOD sequence number arithmetic is modulo 2^32, so a stream may be of any length
TEST(LongStream, FiveGibibytesAreFine) {
  for (bool const whole : {true, false}) {
    for (bool const both_ways : {false, true}) {
      LongConversation t(long_terms(whole), both_ways);
      t.send_to(5 * gibi);
      t.conversation.a("FA", {.seq = t.seq(), .ack = t.back, .own = true});
      t.conversation.b("FA", {.seq = t.back, .ack = t.seq() + 1});
      t.conversation.a("A", {.seq = t.seq() + 1, .ack = t.back + 1, .own = true});
      EXPECT_THAT(t.conversation.all(), IsEmpty()) << whole << both_ways;
    }
  }
}

// Old SACK blocks, urgent pointers and marks do not apply to new data with the same numbers.
TEST(LongStream, WhatWasLongAgoIsForgotten) {
  LongConversation t(long_terms(false));
  t.lose_one();
  t.conversation.a("AUP", {.seq = t.seq(), .ack = 1, .text = 50, .urgent = 50});
  t.sent += 50;
  t.conversation.b("A", {.seq = 1, .ack = t.seq()});
  for (std::uint64_t at = gibi; at <= 5 * gibi; at += gibi / 2) {
    t.send_to(at);
    // Twice: the retransmission of data that was not SACKed.
    t.conversation.a("AP", {.seq = t.seq() - 1'000, .ack = 1, .text = 1'000, .after_ms = 1'500});
    t.conversation.b("A", {.seq = 1, .ack = t.seq()});
    t.conversation.a("AUP", {.seq = t.seq(), .ack = 1, .text = 50, .urgent = 20});
    t.sent += 50;
    t.conversation.b("A", {.seq = 1, .ack = t.seq()});
  }
  EXPECT_THAT(t.conversation.all(), IsEmpty());
}

// The referee finds the same errors after each wrap as at the start.
TEST(LongStream, ViolationsAreFoundAtAnyPosition) {
  for (std::uint64_t const at : {std::uint64_t{1'000}, 3 * gibi, 5 * gibi}) {
    LongConversation t(long_terms(true));
    t.send_to(at);
    std::uint32_t const end = t.seq();
    t.conversation.b("A", {.seq = 1, .ack = end, .window = 9'000});
    t.conversation.b("A", {.seq = 1, .ack = end, .sack = {{end + 50, end + 59}}});
    t.conversation.b("A", {.seq = 1, .ack = end + 1});
    t.conversation.a("A", {.seq = end + 1, .ack = 1, .text = 9, .own = true});
    t.conversation.a("A", {.seq = end + 100, .ack = 1, .text = 100});
    t.conversation.b("A", {.seq = 1, .ack = end + 200});
    t.conversation.a("A", {.seq = end, .ack = 1, .text = 9, .cut = 60'000});
    t.conversation.a("A", {.seq = end + (10'000 << 14), .ack = 1, .text = 9, .cut = 60'000});
    EXPECT_THAT(t.conversation.all(),
                ElementsAre("edge-moved-left", "sack-of-unheard", "ack-of-unheard", "sent-with-gap",
                            "ack-of-unheard", "beyond-window"))
        << at;
  }
}

}  // namespace
}  // namespace lockstep::sim::referee
