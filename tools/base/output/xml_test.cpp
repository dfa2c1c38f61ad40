// Escaping of text for XML.
#include "tools/base/output/xml.hpp"

#include <gtest/gtest.h>

namespace lockstep::tools {
namespace {

TEST(Xml, EscapesSpecialCharacters) {
  EXPECT_EQ(xml_escaped("a<b> & \"c\""), "a&lt;b&gt; &amp; &quot;c&quot;");
  EXPECT_EQ(xml_escaped("1\t2\n"), "1\t2\n");
  EXPECT_EQ(xml_escaped(std::string_view("\0\x1b[1m", 5)), "??[1m");
  EXPECT_EQ(xml_escaped("\xc3\xa9"), "\xc3\xa9");
  EXPECT_EQ(xml_escaped("\xff<"), "\xef\xbf\xbd&lt;");
}

}  // namespace
}  // namespace lockstep::tools
