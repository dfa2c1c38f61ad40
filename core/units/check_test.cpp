// A failed CHECK calls the handler with its site, and always ends the program.
#include "core/units/check.hpp"

#include <cstdio>

#include <gtest/gtest.h>

namespace lockstep {
namespace {

void print(const CheckSite& site) {
  std::fprintf(stderr, "%s in %s, line %s\n", site.condition, site.file,
               site.line > 0 ? "known" : "unknown");
}

TEST(Check, PassesWhenTrueAndEvaluatesOnce) {
  int times = 0;
  CHECK(++times == 1);
  EXPECT_EQ(times, 1);
}

TEST(CheckDeathTest, CallsTheHandlerAndTraps) {
  CheckHandler const previous = set_check_handler(print);
  EXPECT_DEATH(CHECK(1 == 2), "1 == 2 in .*check_test.cpp, line known");
  EXPECT_EQ(set_check_handler(previous), print);
}

TEST(CheckDeathTest, PrintsTheSiteByDefault) {
  EXPECT_DEATH(CHECK(1 == 2), "lockstep: stopped at .*check_test.cpp:[0-9]+: 1 == 2");
}

TEST(CheckDeathTest, TrapsWithoutAHandlerToo) {
  CheckHandler const previous = set_check_handler(nullptr);
  EXPECT_DEATH(CHECK(false), "");
  set_check_handler(previous);
}

}  // namespace
}  // namespace lockstep
