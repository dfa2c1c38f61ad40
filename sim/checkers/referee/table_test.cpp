// The table of connections: addresses chosen by an attacker cost no more than others.
#include <gtest/gtest.h>

#include "sim/checkers/referee/referee.hpp"

namespace lockstep::sim::referee {
namespace {

void see_syn(Referee& referee, const IpAddress& from, std::uint16_t port) {
  Sighting said;
  said.source = {from, {port}};
  said.destination = {{~std::uint64_t{0}, 1}, {80}};
  said.segment.flags = {wire::flag::syn};
  referee.see(said);
}

// Both halves of an address count.
TEST(RefereeTable, AddressesWhoseHalvesDifferByTheSame) {
  Terms const terms;
  Violations violations(terms.violations_max);
  Referee referee(terms, violations);
  for (std::uint64_t i = 0; i < 1'000; ++i) {
    see_syn(referee, {i, i ^ 0x1234'5678}, 1'000);
  }
  EXPECT_EQ(referee.connections(), 1'000u);
  EXPECT_EQ(referee.unjudged(), 0u);
}

// The hash is public, so an attacker can choose connections with equal places.
TEST(RefereeTable, ConnectionsWithOnePlaceAreLimited) {
  Terms const terms;
  Violations violations(terms.violations_max);
  Referee referee(terms, violations);
  constexpr std::uint64_t odd = 0x9e37'79b9'7f4a'7c15;
  constexpr std::uint32_t wanted = 300;
  for (std::uint64_t i = 0; i < wanted; ++i) {
    see_syn(referee, {i, 7 - i * odd}, 1'000);
  }
  EXPECT_EQ(referee.connections(), 256u);
  EXPECT_EQ(referee.unjudged(), wanted - 256);
  see_syn(referee, {1, 8}, 1'000);
  EXPECT_EQ(referee.connections(), 257u);
}

}  // namespace
}  // namespace lockstep::sim::referee
