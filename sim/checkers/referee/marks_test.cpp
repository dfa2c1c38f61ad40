// Tests of ECN as newer RFCs have it.
#include <gtest/gtest.h>

#include <cstdint>

#include "sim/checkers/referee/conversation.hpp"

namespace lockstep::sim::referee {
namespace {

// AccECN agrees by AE or CWR in the SYN-ACK; a SYN-ACK without either does not agree.
TEST(RefereeMarks, NewerEcnIsAgreedByOtherBits) {
  struct Case {
    const char *syn, *answer;
    std::uint8_t ae, answers_ae;
    const char* found;
  };
  for (Case const& one : {Case{"SEC", "SAC", 1, 0, "note"}, Case{"SEC", "SA", 1, 1, "note"},
                          Case{"SEC", "SA", 1, 0, "certain"}, Case{"SEC", "SAC", 0, 0, "certain"},
                          Case{"SEC", "SAEC", 1, 1, "certain"}, Case{"SEC", "SAE", 1, 0, "no"},
                          Case{"SEC", "SAE", 1, 1, "no"}}) {
    Conversation t;
    t.a(one.syn, {.reserved = one.ae}).b(one.answer, {.ack = 1, .reserved = one.answers_ae});
    t.a("A", {.seq = 1, .ack = 1});
    t.a("AP", {.seq = 1, .ack = 1, .text = 5, .ecn = 2, .own = true});
    EXPECT_EQ(t.found(Rule::ect_unnegotiated), one.found) << one.answer << int{one.ae};
  }
}

}  // namespace
}  // namespace lockstep::sim::referee
