// Clause names follow RFC 9293's order of checks in each state.
#include "conformance/replay/clause.hpp"

#include <gtest/gtest.h>

#include "conformance/replay/scenario.hpp"

namespace lockstep::conformance {
namespace {

using tcp::ResetPolicy;
using tcp::State;

Numbers numbers(State state) {
  Numbers n;
  n.state = state;
  n.receive_next = 0xffff'fff0;  // the window wraps around 2^32
  n.receive_window = 1000;
  n.send_una = 5000;
  n.send_next = 6000;
  n.send_window_max = 2000;
  return n;
}

std::string clause(State state, std::string_view flags, std::uint32_t seq, std::uint32_t ack,
                   std::uint32_t bytes = 0, ResetPolicy policy = ResetPolicy::rfc5961) {
  tools::Segment segment;
  segment.flags = *flags_from_letters(flags);
  segment.sequence = 0xffff'fff0 + seq;
  segment.acknowledgment = ack;
  segment.payload.resize(bytes);
  return std::string(clauses_of_segment(numbers(state), segment, state, policy).front());
}

TEST(Clause, WithoutAConnection) {
  EXPECT_EQ(clause(State::closed, "R", 0, 0), "9293:P-CLOSED-RST");
  EXPECT_EQ(clause(State::closed, "SA", 0, 0), "9293:P-CLOSED-ACK");
  EXPECT_EQ(clause(State::closed, "S", 0, 0), "9293:P-CLOSED-SEG");
  EXPECT_EQ(clause(State::listen, "RA", 0, 0), "9293:P-LISTEN-RST");
  EXPECT_EQ(clause(State::listen, "SA", 0, 0), "9293:P-LISTEN-ACK");
  EXPECT_EQ(clause(State::listen, "SF", 0, 0), "9293:P-LISTEN-SYN");
  EXPECT_EQ(clause(State::listen, "F", 0, 0), "9293:P-LISTEN-OTHER");
}

TEST(Clause, InSynSent) {
  EXPECT_EQ(clause(State::syn_sent, "RA", 0, 5000), "9293:P-SYNSENT-ACK");
  EXPECT_EQ(clause(State::syn_sent, "RA", 0, 5001), "9293:P-SYNSENT-RST");
  EXPECT_EQ(clause(State::syn_sent, "R", 0, 0), "9293:P-SYNSENT-RST-NOACK");
  EXPECT_EQ(clause(State::syn_sent, "SA", 0, 5001), "9293:P-SYNSENT-EST");
  EXPECT_EQ(clause(State::syn_sent, "S", 0, 0), "9293:P-SYNSENT-SIM");
  EXPECT_EQ(clause(State::syn_sent, "A", 0, 5001), "9293:P-SYNSENT-OTHER");
}

TEST(Clause, TheAcceptabilityTestComesFirst) {
  EXPECT_EQ(clause(State::established, "A", 1000, 5500), "9293:P-ACCEPT-REPLY");
  EXPECT_EQ(clause(State::established, "R", 1000, 0), "9293:P-RST-OUT");
  EXPECT_EQ(clause(State::established, "A", 999, 5500), "9293:P-ACK-EST");
  EXPECT_EQ(clause(State::time_wait, "FA", static_cast<std::uint32_t>(-1), 5500),
            "9293:P-TIMEWAIT-ACK");
}

TEST(Clause, ThenResetAndSyn) {
  EXPECT_EQ(clause(State::established, "R", 1, 0), "9293:P-RST-CHALLENGE");
  EXPECT_EQ(clause(State::established, "R", 0, 0), "9293:P-RST-EST");
  EXPECT_EQ(clause(State::established, "R", 1, 0, 0, ResetPolicy::rfc793), "9293:P-RST-EST");
  EXPECT_EQ(clause(State::last_ack, "R", 0, 0), "9293:P-RST-CLOSING");
  EXPECT_EQ(clause(State::established, "S", 5000, 0), "9293:P-SYN-INWIN");
  EXPECT_EQ(clause(State::established, "S", 1, 0, 0, ResetPolicy::rfc793), "9293:P-SYN-793");
  EXPECT_EQ(clause(State::syn_received, "S", 1, 0), "9293:P-SYN-SYNRCVD");
}

TEST(Clause, ThenTheAcknowledgmentAndTheText) {
  EXPECT_EQ(clause(State::established, "P", 0, 0, 10), "9293:P-ACK-OFF");
  EXPECT_EQ(clause(State::established, "A", 0, 6001), "9293:P-ACK-FUTURE");
  EXPECT_EQ(clause(State::established, "A", 0, 2999), "9293:P-ACK-5961");
  EXPECT_EQ(clause(State::syn_received, "A", 0, 5000), "9293:P-SYNRCVD-ACK");
  EXPECT_EQ(clause(State::established, "A", 0, 5500, 10), "9293:P-TEXT-ACK");
  EXPECT_EQ(clause(State::established, "A", 5, 5500, 10), "5681:CC-14");
  EXPECT_EQ(clause(State::established, "A", 0, 5500, 1001), "9293:P-ACCEPT-TRIM");
  EXPECT_EQ(clause(State::established, "FA", 0, 5500, 10), "9293:P-FIN");
}

TEST(Clause, TheTwinsClauseIsNeverLookedAt) {
  // Of equivalent clauses the listed one is named, and never one that is not among them.
  Clauses const same{"9293:P-TEXT-ACK", "5681:CC-27"};
  EXPECT_EQ(chosen(same, {"5681:CC-27"}), "5681:CC-27");
  EXPECT_EQ(chosen(same, {"9293:P-RTO"}), "9293:P-TEXT-ACK");
}

}  // namespace
}  // namespace lockstep::conformance
