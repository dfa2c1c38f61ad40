// Lines and chunks that http_parser would let pass, and bodies split at every place.
#include "tools/lib/http/framing.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace lockstep::http {
namespace {

std::span<const std::byte> octets(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

/// What the body's decoder makes of these octets: the content and what is left, or "malformed" or
/// "more"; the same for every way to split them.
std::string decoded(std::string_view text, std::size_t piece) {
  BodyFraming framing;
  framing.begin_chunked();
  std::string content;
  while (!text.empty()) {
    std::size_t used = 0;
    std::span<const std::byte> run;
    auto const step = framing.take(octets(text.substr(0, piece)), used, run);
    content.append(reinterpret_cast<const char*>(run.data()), run.size());
    text.remove_prefix(used);
    if (step != BodyFraming::Step::more) {
      return step == BodyFraming::Step::malformed ? "malformed" : content + "|" + std::string(text);
    }
  }
  return "more";
}

std::string chunks(std::string_view text) {
  std::string const whole = decoded(text, text.size());
  for (std::size_t const piece : {1u, 2u, 5u}) {
    EXPECT_EQ(decoded(text, piece), whole) << text;
  }
  return whole;
}

//= rfc9112#7.1
//# 9112:MSG-22 chunks and their sizes
TEST(Framing, Chunks) {
  EXPECT_EQ(chunks("3\r\nabc\r\n0\r\n\r\nGET"), "abc|GET");
  EXPECT_EQ(chunks("0003\r\nabc\r\nA\r\n0123456789\r\n00\r\n\r\n"), "abc0123456789|");
  EXPECT_EQ(chunks("3\r\nabc\r\n0\r\n"), "more");
  for (std::string_view const bad :
       {"\r\n", "x\r\n", "3\nabc\r\n", "3\rXabc\r\n0\r\n\r\n", "3\r\nabcd\r\n",
        "3\r\nabc\n0\r\n\r\n", "3\r\nabc\rX0\r\n\r\n", "-3\r\n", "0x3\r\n", "3 4\r\n", " 3\r\n",
        "0\r\n\n", "0\r\n\rX", "ffffffffffffffff\r\n", "10000000000000000\r\n",
        "8000000000000000000000000\r\n"}) {
    EXPECT_EQ(chunks(bad), "malformed") << bad;
  }
}

//= rfc9112#7.1.1
//# 9112:MSG-23 extensions
TEST(Framing, ChunkExtensionsAreSkipped) {
  EXPECT_EQ(chunks("1;a=b;c=\"d e\"\r\nx\r\n0 ;z\r\n\r\n"), "x|");
  EXPECT_EQ(chunks("1 \r\nx\r\n0\r\n\r\n"), "x|");
  EXPECT_EQ(chunks("1;a\nx\r\n0\r\n\r\n"), "malformed");
}

TEST(Framing, TrailersAreSkipped) {
  EXPECT_EQ(chunks("0\r\nA: b\r\nContent-Length: 5\r\n\r\nX"), "|X");
  EXPECT_EQ(chunks("0\r\nA: b\n\r\n"), "malformed");
  EXPECT_EQ(chunks("0\r\n folded\r\n\r\n"), "malformed");
}

std::string scanned(std::string_view text, std::size_t piece) {
  HeadScan scan;
  std::size_t all = 0;
  while (!text.empty()) {
    std::size_t good = 0;
    auto const state = scan.take(octets(text.substr(0, piece)), good);
    all += good;
    text.remove_prefix(good);
    if (state != HeadScan::State::more) {
      return (state == HeadScan::State::over ? "over " : "malformed ") + std::to_string(all);
    }
  }
  return "more " + std::to_string(all);
}

std::string scan_of(std::string_view text) {
  EXPECT_EQ(scanned(text, 1), scanned(text, text.size())) << text;
  return scanned(text, 1);
}

TEST(Framing, WhereAHeadEnds) {
  EXPECT_EQ(scan_of("GET / HTTP/1.1\r\n\r\nbody"), "over 18");
  EXPECT_EQ(scan_of("\r\n\nGET / HTTP/1.1\r\nA: b\r\n\r\n"), "over 27");
  EXPECT_EQ(scan_of("GET / HTTP/1.1\n\nbody"), "over 16");
  EXPECT_EQ(scan_of("\r\n\r\n\r\n"), "more 6");
  EXPECT_EQ(scan_of("GET\rX"), "malformed 4");
  EXPECT_EQ(scan_of("GET / HTTP/1.1\r\nA: b\r\r\n"), "malformed 21");
  EXPECT_EQ(scan_of(std::string("GET /\0", 6)), "malformed 5");
  EXPECT_EQ(scan_of("GET / HTTP/1.1\r\n A: b"), "malformed 16");
  EXPECT_EQ(scan_of("GET / HTTP/1.1\r\nA: b\r\n\tc"), "malformed 22");
}

}  // namespace
}  // namespace lockstep::http
