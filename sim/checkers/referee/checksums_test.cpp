// Wrong checksums: on the way, in an edited capture, and those that hardware fills in.
#include <gtest/gtest.h>

#include "sim/checkers/referee/conversation.hpp"

namespace lockstep::sim::referee {
namespace {

TEST(RefereeChecksums, AndWhatHardwareFillsIn) {
  EXPECT_EQ(Conversation().a("S", {.sum = Sum::bad}).found(Rule::tcp_checksum), "likely");
  EXPECT_EQ(Conversation().a("S", {.sum = Sum::unfilled}).found(Rule::tcp_checksum), "no");
  EXPECT_EQ(Conversation().a("S", {.ip_sum = Sum::bad}).found(Rule::ip_checksum), "likely");
  EXPECT_EQ(Conversation().a("S", {.ip_sum = Sum::unfilled}).found(Rule::ip_checksum), "no");
  // If the sender has no segment with a right one, the capture was edited, or its NIC fills them
  // in.
  for (bool const all : {false, true}) {
    Sum const sum = all ? Sum::bad : Sum::good;
    std::string_view const expected = all ? "likely" : "certain";
    Conversation tcp;
    tcp.a("S", {.sum = sum, .own = true}).a("S", {.after_ms = 1'000, .sum = Sum::bad, .own = true});
    EXPECT_EQ(tcp.found(Rule::tcp_checksum), expected);
    Conversation ip;
    ip.a("S", {.ip_sum = sum, .own = true});
    ip.a("S", {.after_ms = 1'000, .ip_sum = Sum::bad, .own = true});
    EXPECT_EQ(ip.found(Rule::ip_checksum), expected);
  }
  // A reset acknowledges as well.
  for (std::uint32_t const ack : {1u, 0u}) {
    Conversation refused;
    refused.a("S", {.own = true}).a("S", {.after_ms = 1'000, .sum = Sum::bad, .own = true});
    refused.b("RA", {.ack = ack});
    EXPECT_EQ(refused.found(Rule::tcp_checksum), ack == 1 ? "likely" : "certain");
  }
  // An acknowledged segment was right when it arrived.
  for (std::uint32_t const ack : {10u, 1u}) {
    Conversation t;
    t.open().a("AP", {.seq = 1, .ack = 1, .text = 9, .sum = Sum::bad, .own = true});
    t.b("AP", {.seq = 1, .ack = ack, .text = 5});
    EXPECT_EQ(t.found(Rule::tcp_checksum), ack == 10 ? "likely" : "certain");
    EXPECT_EQ(t.found(Rule::ack_of_unheard), "no");
    Conversation ip;
    ip.open().a("AP", {.seq = 1, .ack = 1, .text = 9, .ip_sum = Sum::bad, .own = true});
    ip.b("AP", {.seq = 1, .ack = ack, .text = 5});
    EXPECT_EQ(ip.found(Rule::ip_checksum), ack == 10 ? "likely" : "certain");
  }
  Terms whole;
  whole.whole = true;
  Conversation sure(whole);
  sure.open().a("AP", {.seq = 1, .ack = 1, .text = 9, .sum = Sum::bad});
  sure.b("A", {.seq = 1, .ack = 10});
  EXPECT_EQ(sure.found(Rule::ack_of_unheard), "certain");
}

}  // namespace
}  // namespace lockstep::sim::referee
