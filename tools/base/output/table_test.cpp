// Rows fold at the terminal's width, and long text is wrapped between words.
#include "tools/base/output/table.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "tools/base/output/progress.hpp"

namespace lockstep::tools {
namespace {

TextTable sample() {
  TextTable table({{"name", TextTable::Align::left}, {"bytes"}, {"drops", TextTable::Align::left}});
  table.add({"a", "1,000", "-"});
  table.add({"longer", "7", "first=1 second=22 third=333 fourth=4444"});
  return table;
}

TEST(TextTable, OneLineForEachRowWithoutATerminal) {
  EXPECT_EQ(sample().text(0),
            "name    bytes  drops\n"
            "a       1,000  -\n"
            "longer      7  first=1 second=22 third=333 fourth=4444\n");
  EXPECT_EQ(sample().text(54), sample().text(0));
}

TEST(TextTable, BreaksLongTextBetweenWords) {
  EXPECT_EQ(sample().text(45),
            "name    bytes  drops\n"
            "a       1,000  -\n"
            "longer      7  first=1 second=22 third=333\n"
            "               fourth=4444\n");
}

TEST(TextTable, FoldsRowsThatAreTooLong) {
  EXPECT_EQ(sample().text(40),
            "name    bytes\n"
            "    drops\n"
            "a       1,000\n"
            "    -\n"
            "longer      7\n"
            "    first=1 second=22 third=333\n"
            "    fourth=4444\n");
}

TEST(TextTable, NoLineIsLongerThanTheTerminal) {
  for (std::size_t width = 17; width < 80; ++width) {
    std::istringstream lines(sample().text(width));
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(line.size(), width) << line;
    }
  }
}

TEST(Progress, ABarIsAsLongAsTheShareDone) {
  EXPECT_EQ(bar_text(0, 10, "none", 79), "[                    ] none");
  EXPECT_EQ(bar_text(5, 10, "half", 79), "[##########          ] half");
  EXPECT_EQ(bar_text(10, 10, "all", 79), "[####################] all");
  EXPECT_EQ(bar_text(~std::uint64_t{0}, ~std::uint64_t{0}, "", 79), "[####################] ");
  EXPECT_EQ(bar_text(3, 0, "no total", 12), "[           ");
}

}  // namespace
}  // namespace lockstep::tools
