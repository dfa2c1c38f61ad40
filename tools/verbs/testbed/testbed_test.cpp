// Balances that hold and that do not, and parsing of nft, tc, ip and /proc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/verbs/testbed/account.hpp"
#include "tools/verbs/testbed/counters.hpp"

namespace lockstep::tools {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;

const Flow there{"10.0.0.1:1024", "10.0.0.2:80"};
const Flow back{"10.0.0.2:80", "10.0.0.1:1024"};

Counted two_directions(std::uint64_t offered, std::uint64_t delivered) {
  return {
      .directions = {{"forth", {offered, {{there, offered}}}, {delivered, {{there, delivered}}}},
                     {"back", {7, {{back, 7}}}, {7, {{back, 7}}}}},
      .causes = {},
      .remainder = ""};
}

TEST(TestbedAccount, NothingLost) {
  Reconciled const out = reconcile(two_directions(10, 10));
  EXPECT_TRUE(out.holds());
  EXPECT_EQ(out.lost, 0u);
  ASSERT_EQ(out.directions.size(), 2u);
  EXPECT_EQ(out.directions[0].frames.offered, 10u);
  EXPECT_EQ(out.directions[1].frames.delivered, 7u);
}

TEST(TestbedAccount, EveryLossNeedsACause) {
  Counted counted = two_directions(10, 7);
  EXPECT_EQ(reconcile(counted).unexplained, 3u);
  EXPECT_FALSE(reconcile(counted).holds());
  counted.causes = {{"a queue", 2, {}}, {"nothing", 0, {}}};
  EXPECT_EQ(reconcile(counted).unexplained, 1u);
  counted.causes.push_back({"a rule", 1, {{there, 1}}});
  Reconciled const out = reconcile(counted);
  EXPECT_TRUE(out.holds());
  EXPECT_THAT(out.causes,
              ElementsAre(Field(&Cause::name, "a queue"), Field(&Cause::name, "a rule")));
  ASSERT_EQ(out.flows.size(), 2u);
  EXPECT_EQ(out.flows[0].frames.lost, 3u);
  EXPECT_THAT(out.flows[0].causes, ElementsAre(Field(&Cause::frames, 1u)));
  EXPECT_EQ(out.flows[0].other, 2u);
}

TEST(TestbedAccount, CausesMayCountOtherFrames) {
  Counted counted = two_directions(10, 9);
  counted.causes = {{"a queue", 4, {}}};
  EXPECT_TRUE(reconcile(counted).holds());
  EXPECT_EQ(reconcile(counted).others, 3u);
}

TEST(TestbedAccount, ACauseMayNotTakeMoreOfAFlowThanItLost) {
  Counted counted = two_directions(10, 9);
  counted.causes = {{"a rule", 2, {{there, 2}}}};
  EXPECT_FALSE(reconcile(counted).holds());
}

TEST(TestbedAccount, InjectedFramesAreNotLosses) {
  Counted counted = two_directions(10, 10);
  counted.directions[1].delivered = {9, {{back, 9}}};
  Reconciled const out = reconcile(counted);
  EXPECT_EQ(out.directions[1].frames.injected, 2u);
  EXPECT_EQ(out.lost, 0u);
  EXPECT_TRUE(out.holds());
}

TEST(TestbedAccount, AFullTableIsDetected) {
  Counted counted = two_directions(10, 10);
  counted.directions[0].offered.frames = 12;
  Reconciled const out = reconcile(counted);
  EXPECT_EQ(out.directions[0].without_flow, 2u);
  EXPECT_FALSE(out.holds());
}

TEST(TestbedAccount, AUsersBoxHasOneCause) {
  Counted counted = two_directions(10, 4);
  counted.causes = {{"an interface", 1, {}}};
  counted.remainder = "in between";
  Reconciled const out = reconcile(counted);
  EXPECT_TRUE(out.holds());
  EXPECT_THAT(out.causes, ElementsAre(Field(&Cause::frames, 1u), Field(&Cause::frames, 5u)));
}

// Output of nft 1.0.6, without the parts that are not parsed.
constexpr const char* shown = R"({"nftables": [{"metainfo": {}},
  {"set": {"name": "offered_link", "table": "lockstep_testbed", "elem": [{"elem": {"val":
    {"concat": ["10.0.0.1", 1024, "10.0.0.2", 80]}, "counter": {"packets": 5, "bytes": 1}}}]}},
  {"set": {"name": "lost", "table": "lockstep_testbed", "elem": [{"elem": {"val":
    {"concat": ["10.0.0.1", 1024, "10.0.0.2", 80]}, "counter": {"packets": 2, "bytes": 1}}}]}},
  {"set": {"name": "empty", "table": "lockstep_testbed"}},
  {"rule": {"family": "netdev", "table": "lockstep_testbed", "chain": "offered_link",
    "handle": 4, "expr": [{"counter": {"packets": 6, "bytes": 1}}]}},
  {"rule": {"family": "netdev", "table": "lockstep_testbed", "chain": "lose_a", "handle": 5,
    "expr": [{"counter": {"packets": 2, "bytes": 1}}, {"drop": null}]}},
  {"rule": {"family": "inet", "table": "t", "chain": "c", "handle": 9, "comment": "no uploads",
    "expr": [{"counter": {"packets": 3, "bytes": 1}}, {"reject": {"type": "tcp reset"}}]}},
  {"rule": {"family": "inet", "table": "t", "chain": "c", "handle": 10,
    "expr": [{"drop": null}]}},
  {"rule": {"family": "inet", "table": "t", "chain": "c", "handle": 11,
    "expr": [{"counter": {"packets": 8, "bytes": 1}}, {"accept": null}]}}]})";

TEST(TestbedCounters, OfNft) {
  Tally const offered = offered_of(shown, "link");
  EXPECT_EQ(offered.frames, 6u);
  EXPECT_EQ(offered.flows, (FramesByFlow{{there, 5}}));
  EXPECT_EQ(delivered_of(shown, "link").frames, 0u);
  EXPECT_THAT(rule_causes(shown), ElementsAre(Cause{"dropped by --lose", 2, {{there, 2}}},
                                              Cause{"rule of inet t c: no uploads", 3, {}},
                                              Cause{"rule of inet t c: handle 10", 0, {}}));
}

TEST(TestbedCounters, OfQueuesAndLinks) {
  EXPECT_THAT(queue_causes(R"([{"kind": "tbf", "dev": "server", "drops": 4}])", "box"),
              ElementsAre(Cause{"queue tbf of box server", 4, {}}));
  constexpr const char* link = R"([{"ifname": "a", "stats64": {
    "rx": {"dropped": 1, "errors": 0}, "tx": {"dropped": 2, "errors": 3}}}])";
  EXPECT_THAT(link_causes(link, "box", LinkDirections::outwards),
              ElementsAre(Cause{"box tx dropped of a", 2, {}}, Cause{"box tx errors of a", 3, {}}));
  EXPECT_EQ(link_causes(link, "box", LinkDirections::both).size(), 4u);
}

TEST(TestbedCounters, OfIp) {
  EXPECT_THAT(internet_causes("Ip: Forwarding InHdrErrors\nIp: 1 7\n"
                              "Tcp: InDiscards\nTcp: 9\n"
                              "IpExt: InNoRoutes InOctets\nIpExt: 3 99\n"),
              ElementsAre(Cause{"the box's IP: InHdrErrors", 7, {}},
                          Cause{"the box's IP: InNoRoutes", 3, {}}));
}

TEST(TestbedCounters, NamesOfInterfacesBecomeNamesOfSets) {
  EXPECT_THAT(counting_rules({"eth0.5-a"}), HasSubstr("set offered_eth0_2e5_2da {"));
  EXPECT_THAT(counting_rules({"eth0.5-a"}), HasSubstr("device \"eth0.5-a\""));
}

}  // namespace
}  // namespace lockstep::tools
