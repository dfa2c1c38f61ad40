// Explanations of a step, with its clauses.
#include "conformance/script/explain.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/base/process/failure.hpp"

namespace lockstep::conformance::script {
namespace {

using testing::HasSubstr;

const std::string karn = "conformance/script/rto/karn.pkt";

TEST(Explain, DescribesAStep) {
  Explained const what = explain(karn + ":18");
  EXPECT_EQ(what.text, "+0 > P. 1:101(100) ack 1");
  EXPECT_EQ(what.step,
            "our stack must send a segment with PSH,ACK, with 100 octets from 1 to 101, which "
            "acknowledges up to 1, at the instant of the previous event");
  EXPECT_THAT(what.before, HasSubstr("ESTABLISHED: cwnd"));
  EXPECT_THAT(what.after, HasSubstr("unacked 1"));
  EXPECT_TRUE(what.here.empty());
  ASSERT_EQ(what.script.size(), 2u);
  EXPECT_EQ(what.script[0].id, "6298:RTO-6");
  EXPECT_EQ(what.script[0].level, "MUST NOT");
  EXPECT_THAT(what.script[0].summary, HasSubstr("retransmitted"));
  EXPECT_EQ(what.script[1].section, "3.8.1");
  EXPECT_EQ(what.script[1].words, "Karn's rule");
  std::string const text = explained_text(what);
  EXPECT_THAT(text, HasSubstr("    6298:RTO-6 (RFC 6298, 3, MUST NOT): "));
  EXPECT_THAT(explained_json(what), HasSubstr("\"id\": \"6298:RTO-6\""));
}

TEST(Explain, DescribesEachKindOfStep) {
  EXPECT_THAT(explain(karn + ":8").step,
              HasSubstr("the application calls socket, which must return 3, 0 s from the start"));
  EXPECT_THAT(explain(karn + ":14").step, HasSubstr("the peer sends a segment with ACK, without "
                                                    "data, at 1, which acknowledges up to 1"));
  EXPECT_THAT(explain(karn + ":16").step, HasSubstr("tcp_info"));
  EXPECT_THAT(explain("conformance/script/icmp/host_unreachable.pkt:16").step,
              HasSubstr("the network sends ICMP type 3 code 1, 0.1 s after"));
}

TEST(Explain, ALineWithoutAStepIsRefused) {
  for (const char* const place :
       {"x.pkt", ":3", "x.pkt:0", "x.pkt:many", "conformance/script/rto/karn.pkt:1",
        "conformance/script/rto/karn.pkt:7", "conformance/script/rto/karn.pkt:999",
        "conformance/script/README.md:1"}) {
    try {
      explain(place);
      ADD_FAILURE() << place;
    } catch (const tools::Failure& failure) {
      EXPECT_EQ(failure.code(), tools::ExitCode::bad_input) << place;
    }
  }
  EXPECT_THROW(explain("no/such.pkt:1"), tools::Failure);
}

}  // namespace
}  // namespace lockstep::conformance::script
