// Filters and tables of `lockstep ss`.
#include "tools/verbs/ss/ss.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/base/process/failure.hpp"

namespace lockstep::tools {
namespace {

using testing::HasSubstr;
using testing::Not;

const Filtered web{"ESTABLISHED",
                   {IpAddress::v4(10, 9, 0, 2), Port{80}},
                   {IpAddress::v4(10, 9, 0, 1), Port{40'000}}};
const Filtered six{"TIME-WAIT",
                   {IpAddress{0x2001'0db8'0000'0000, 2}, Port{443}},
                   {IpAddress{0x2001'0db8'0000'0000, 0x100}, Port{1024}}};

/// Which of the two rows pass: "w", "s", both or none.
std::string passing(const std::vector<std::string>& words) {
  Filter const filter = Filter::read(words);
  return std::string(filter.passes(web) ? "w" : "") + (filter.passes(six) ? "s" : "");
}

std::string refusal_of(const std::string& text) {
  try {
    Filter::read({text});
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::bad_input);
    return failure.what();
  }
  return "accepted";
}

TEST(Filter, Terms) {
  EXPECT_EQ(passing({}), "ws");
  EXPECT_EQ(passing({"state", "established"}), "w");
  EXPECT_EQ(passing({"state", "TIME-WAIT"}), "s");
  EXPECT_EQ(passing({"exclude", "established"}), "s");
  EXPECT_EQ(passing({"state", "connected"}), "ws");
  EXPECT_EQ(passing({"state", "bucket"}), "s");
  EXPECT_EQ(passing({"sport", "=", ":80"}), "w");
  EXPECT_EQ(passing({"sport", "80"}), "w");
  EXPECT_EQ(passing({"sport!=:80"}), "s");
  EXPECT_EQ(passing({"dport", ">", ":1024"}), "w");
  EXPECT_EQ(passing({"dport", "ge", "1024"}), "ws");
  EXPECT_EQ(passing({"dport", "<=", "1024"}), "s");
  EXPECT_EQ(passing({"dport", "lt", "1024"}), "");
  EXPECT_EQ(passing({"src", "10.9.0.0/24"}), "w");
  EXPECT_EQ(passing({"src", "10.9.0.3"}), "");
  EXPECT_EQ(passing({"dst", "10.9.0.1:40000"}), "w");
  EXPECT_EQ(passing({"dst", "10.9.0.1:40001"}), "");
  EXPECT_EQ(passing({"dst", "!=", "10.9.0.1"}), "s");
  EXPECT_EQ(passing({"src", "2001:db8::/64"}), "s");
  EXPECT_EQ(passing({"src", "[2001:db8::2]:443"}), "s");
  EXPECT_EQ(passing({"src", ":443"}), "s");
  EXPECT_EQ(passing({"src", "0.0.0.0/0"}), "w");
}

TEST(Filter, Words) {
  EXPECT_EQ(passing({"( sport = :80 or sport = :443 ) and not state time-wait"}), "w");
  EXPECT_EQ(passing({"sport = :443 or sport = :80 dport = :1024"}), "s");
  EXPECT_EQ(passing({"not", "(", "sport", ":80", "|", "sport", ":443", ")"}), "");
  EXPECT_EQ(passing({"!", "sport", "80", "&&", "state", "all"}), "s");
}

TEST(Filter, MistakesAreNamed) {
  EXPECT_THAT(refusal_of("state etablished"), HasSubstr("did you mean 'established'"));
  EXPECT_THAT(refusal_of("sports = :80"), HasSubstr("did you mean 'sport'"));
  EXPECT_THAT(refusal_of("sport = :80x"), HasSubstr("expected a port"));
  EXPECT_THAT(refusal_of("sport = :65536"), HasSubstr("expected a port"));
  EXPECT_THAT(refusal_of("sport ="), HasSubstr("missing"));
  EXPECT_THAT(refusal_of("dst nowhere"), HasSubstr("expected an address"));
  EXPECT_THAT(refusal_of("( sport 80"), HasSubstr("parenthesis"));
  EXPECT_THAT(refusal_of("sport 80 )"), HasSubstr("nothing fits"));
  EXPECT_THAT(refusal_of("sport 80 or"), HasSubstr("missing"));
  EXPECT_THAT(refusal_of("not"), HasSubstr("missing"));
  EXPECT_THAT(refusal_of(std::string(1000, '(')), HasSubstr("64"));
}

control::Answer answer() {
  return {R"({"lockstep":"0.1.0","pid":7,"role":"serve http","interface":"lock0","shards":1})",
          {R"({"state":"LISTEN","recv_q":0,"send_q":128,"local":"0.0.0.0","local_port":80,)"
           R"("remote":"::","remote_port":0,"shard":0,"timer":null})",
           R"({"state":"ESTABLISHED","recv_q":5,"send_q":1000,"local":"2001:db8::2",)"
           R"("local_port":80,"remote":"2001:db8::1","remote_port":40000,"shard":0,)"
           R"("timer":{"name":"on","left_ns":200000000,"count":1},"cwnd":14480,"ssthresh":null,)"
           R"("srtt_ns":1500000,"retransmissions":3,"pacing_octets_a_second":1000000})"}};
}

TEST(Ss, TheTableShowsQueuesWindowsAndTimers) {
  std::string const text = ss_text({listed_of("x", answer(), Filter::read({}))}, 0);
  EXPECT_THAT(text, HasSubstr("serve http on lock0, process 7: 2 shown\n"));
  EXPECT_THAT(text, HasSubstr("*:80"));
  EXPECT_THAT(text, HasSubstr("*:*"));
  EXPECT_THAT(text, HasSubstr("[2001:db8::1]:40000"));
  EXPECT_THAT(text, HasSubstr("on,200.000 ms,1"));
  EXPECT_THAT(text, HasSubstr("1.500 ms"));
  EXPECT_THAT(text, HasSubstr("1,000,000"));
}

TEST(Ss, OnlyWhatPassesIsShown) {
  auto const listed = listed_of("x", answer(), Filter::read({"state", "established"}));
  EXPECT_EQ(listed.connections.size(), 1u);
  EXPECT_THAT(ss_text({listed}, 0), Not(HasSubstr("LISTEN")));
  EXPECT_THAT(ss_json({listed}), HasSubstr("\"recv_q\": 5"));
}

TEST(Ss, AnotherProgramsAnswerIsRefused) {
  EXPECT_THROW(listed_of("x", {"{}", {"{}"}}, Filter::read({})), Failure);
  EXPECT_THROW(listed_of("x", {"nonsense", {}}, Filter::read({})), Failure);
}

}  // namespace
}  // namespace lockstep::tools
