// Valid UTF-8 is kept; every other octet is replaced.
#include "tools/base/output/utf8.hpp"

#include <gtest/gtest.h>

namespace lockstep::tools {
namespace {

const std::string other = "\xef\xbf\xbd";

TEST(Utf8, CharactersStay) {
  for (const char* const text : {"", "plain", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
                                 "\xee\x80\x80", "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_EQ(utf8_only(text), text);
  }
}

TEST(Utf8, InvalidOctetsAreReplacedOneByOne) {
  EXPECT_EQ(utf8_only("a\xff"
                      "b"),
            "a" + other + "b");
  EXPECT_EQ(utf8_only("\x80"), other);
  EXPECT_EQ(utf8_only("\xc3"), other);
  EXPECT_EQ(utf8_only("\xc3("), other + "(");
  EXPECT_EQ(utf8_only("\xc0\xaf"), other + other);
  EXPECT_EQ(utf8_only("\xe0\x80\xaf"), other + other + other);
  EXPECT_EQ(utf8_only("\xed\xa0\x80"), other + other + other);
  EXPECT_EQ(utf8_only("\xf0\x80\x80\x80"), other + other + other + other);
  EXPECT_EQ(utf8_only("\xf4\x90\x80\x80"), other + other + other + other);
  EXPECT_EQ(utf8_only("\xf5\x80\x80\x80"), other + other + other + other);
  EXPECT_EQ(utf8_only("\xe2\x82"), other + other);
}

}  // namespace
}  // namespace lockstep::tools
