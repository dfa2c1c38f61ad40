// Suggestions for mistyped names.
#include "tools/base/text/suggestion.hpp"

#include <gtest/gtest.h>

namespace lockstep::tools {
namespace {

std::string near(std::string_view given) {
  return suggestion(given, {"swarm", "sweep", "sim", "conformance", "rto_min", "MUST-40"});
}

TEST(Suggestion, NamesTheNearest) {
  EXPECT_EQ(near("swrm"), " (did you mean 'swarm'?)");    // missing
  EXPECT_EQ(near("swarrm"), " (did you mean 'swarm'?)");  // inserted
  EXPECT_EQ(near("swaim"), " (did you mean 'swarm'?)");   // replaced
  EXPECT_EQ(near("swxy"), "");                            // two of four
  EXPECT_EQ(near("swamr"), " (did you mean 'swarm'?)");   // swapped
  EXPECT_EQ(near("conf"), " (did you mean 'conformance'?)");
  EXPECT_EQ(near("rto-min"), " (did you mean 'rto_min'?)");
  EXPECT_EQ(near("must-41"), " (did you mean 'MUST-40'?)");
}

TEST(Suggestion, IsEmptyIfNoneIsNear) {
  EXPECT_EQ(suggestion("--count", {"--out"}), "");
  EXPECT_EQ(suggestion("--ot", {"--out"}), " (did you mean '--out'?)");
  EXPECT_EQ(near("---"), "");
  EXPECT_EQ(near(""), "");
  EXPECT_EQ(near("x"), "");
  EXPECT_EQ(near("zebra"), "");
  EXPECT_EQ(near("sw"), "");  // begins two
  EXPECT_EQ(near(std::string(1'000'000, 's')), "");
  EXPECT_EQ(suggestion("swarm", {}), "");
}

}  // namespace
}  // namespace lockstep::tools
