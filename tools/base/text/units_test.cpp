// Numbers with units are parsed exactly or refused.
#include "tools/base/text/units.hpp"

#include <gtest/gtest.h>

namespace lockstep::tools {
namespace {

TEST(Units, DurationsAreExactIntegers) {
  EXPECT_EQ(parse_duration("10ms")->ns, 10'000'000u);
  EXPECT_EQ(parse_duration("1.5us")->ns, 1'500u);
  EXPECT_EQ(parse_duration("2 min")->ns, 120'000'000'000u);
  EXPECT_EQ(parse_duration("0s")->ns, 0u);
  EXPECT_FALSE(parse_duration("0.1ns"));
  EXPECT_FALSE(parse_duration("10"));
  EXPECT_FALSE(parse_duration("ms"));
  EXPECT_FALSE(parse_duration("-1s"));
  EXPECT_FALSE(parse_duration("1.s"));
  EXPECT_FALSE(parse_duration("1 parsec"));
  EXPECT_FALSE(parse_duration("99999999999999999999h"));
}

TEST(Units, RatesAndSizes) {
  EXPECT_EQ(*parse_rate("1Gbit/s"), 1'000'000'000u);
  EXPECT_EQ(*parse_rate("2.5Mbit/s"), 2'500'000u);
  EXPECT_FALSE(parse_rate("1GB"));
  EXPECT_EQ(*parse_bytes("64KiB"), 65'536u);
  EXPECT_EQ(*parse_bytes("1.5KiB"), 1'536u);
  EXPECT_EQ(*parse_bytes("2MB"), 2'000'000u);
  EXPECT_FALSE(parse_bytes("1.5B"));
}

TEST(Units, ProbabilitiesAreCountsOfABillionth) {
  EXPECT_EQ(parse_probability("1%")->per_billion, 10'000'000u);
  EXPECT_EQ(parse_probability("0.01")->per_billion, 10'000'000u);
  EXPECT_EQ(parse_probability("0.000000001")->per_billion, 1u);
  EXPECT_EQ(parse_probability("100%")->per_billion, Probability::certain);
  EXPECT_FALSE(parse_probability("0.0000000001"));
  EXPECT_FALSE(parse_probability("101%"));
  EXPECT_FALSE(parse_probability("%"));
  EXPECT_FALSE(parse_probability("often"));
}

TEST(Units, Addresses) {
  EXPECT_EQ(*parse_address("10.0.0.1"), IpAddress::v4(10, 0, 0, 1));
  EXPECT_FALSE(parse_address("10.0.0"));
  EXPECT_FALSE(parse_address("10.0.0.256"));
  EXPECT_FALSE(parse_address("10.0.0.1.2"));
  EXPECT_EQ(parse_address_and_prefix("10.0.0.1/8")->prefix_bits, 8);
  EXPECT_FALSE(parse_address_and_prefix("10.0.0.1/33"));
  EXPECT_EQ(parse_mac("02:00:00:00:00:ff")->octets[5], 0xff);
  EXPECT_FALSE(parse_mac("02:00"));
}

}  // namespace
}  // namespace lockstep::tools
