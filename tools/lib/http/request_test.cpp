// Requests split at every place, the status of each refusal, paths and ranges.
#include "tools/lib/http/request.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tools/lib/http/range.hpp"

namespace lockstep::http {
namespace {

using Progress = RequestReader::Progress;

/// Feeds `text` in pieces of `piece` octets; `left` receives the number of unused octets.
Progress feed(RequestReader& reader, std::string_view text, std::size_t piece,
              const RequestLimits& limits = {}, std::size_t* left = nullptr) {
  Progress progress = Progress::more;
  while (!text.empty() && progress == Progress::more) {
    Bytes used;
    auto const shown = text.substr(0, piece);
    progress = reader.read(std::as_bytes(std::span(shown)), limits, used);
    if (progress == Progress::more) {
      EXPECT_EQ(used.count, shown.size());
    }
    text.remove_prefix(used.count);
  }
  if (left != nullptr) {
    *left = text.size();
  }
  return progress;
}

int status_of(const std::string& text, const RequestLimits& limits = {}) {
  int first = -1;
  // The result does not depend on how the request is split.
  for (std::size_t const piece : {text.size(), std::size_t{1}, std::size_t{7}}) {
    RequestReader reader;
    Progress const progress = feed(reader, text, piece, limits);
    int const status = progress == Progress::failed ? static_cast<int>(reader.failure())
                       : progress == Progress::more ? 0
                                                    : 200;
    EXPECT_TRUE(first == -1 || first == status) << text.substr(0, 200) << " by " << piece;
    first = status;
  }
  return first;
}

TEST(Request, CutAtEveryOctet) {
  std::string const text =
      "GET /a%20b?x=1 HTTP/1.1\r\nHost: h\r\nRange: bytes=1-2\r\nX-Much: 12345\r\n\r\n";
  for (std::size_t cut = 1; cut < text.size(); ++cut) {
    RequestReader reader;
    ASSERT_EQ(feed(reader, text.substr(0, cut), cut), Progress::more) << cut;
    std::size_t left = 0;
    ASSERT_EQ(feed(reader, text.substr(cut) + "GET", 1000, {}, &left), Progress::complete) << cut;
    EXPECT_EQ(left, 3u);
    EXPECT_TRUE(reader.is_get());
    EXPECT_TRUE(reader.keeps_alive());
    EXPECT_EQ(reader.target(), "/a%20b?x=1");
    EXPECT_EQ(reader.range(), "bytes=1-2");
    std::array<char, 512> room;
    EXPECT_EQ(path_of(reader.target(), room), "/a b");
  }
}

//= rfc9112#3.2
//# 9112:MSG-5 Host
//= rfc9112#6.3
//# 9112:MSG-15 Content-Length
//= rfc9112#2.2
//# 9112:MSG-1 empty lines before a request
TEST(Request, WhatIsRefused) {
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: h\r\n\r\n"), 200);
  EXPECT_EQ(status_of("\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n"), 200);
  EXPECT_EQ(status_of("GET / HTTP/1.0\r\n\r\n"), 200);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a b\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost h\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost : h\r\n\r\n"), 400);
  EXPECT_EQ(status_of("\x16\x03\x01\x02"), 400);
  EXPECT_EQ(status_of("GET / HTTP/2.0\r\nHost: h\r\n\r\n"), 505);
  EXPECT_EQ(status_of("GET / XTTP/1.1\r\nHost: h\r\n\r\n"), 400);
  std::string const post = "POST / HTTP/1.1\r\nHost: h\r\n";
  EXPECT_EQ(status_of(post + "Content-Length: 3\r\n\r\nabc"), 200);
  EXPECT_EQ(status_of(post + "Content-Length: 65537\r\n\r\n"), 413);
  EXPECT_EQ(status_of(post + "Content-Length: 1\r\nContent-Length: 2\r\n\r\na"), 400);
  EXPECT_EQ(status_of(post + "Content-Length: 99999999999999999999\r\n\r\n"), 400);
  EXPECT_EQ(status_of(post + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
            400);
  EXPECT_EQ(status_of(post + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"), 200);
  EXPECT_EQ(status_of(post + "Expect: 100-continue\r\nContent-Length: 3\r\n\r\n"), 405);
}

//= rfc9112#5.1
//# 9112:MSG-8 white space before a colon
//= rfc9112#2.2
//# 9112:MSG-2 bare CR
//= rfc9112#2.2
//# 9112:MSG-3 white space before the first field
//= rfc9112#5.2
//# 9112:MSG-9 folded lines
//= rfc9110#5.5
//# 9110:HTTP-5 NUL
TEST(Request, LinesThatTheParserWouldLetPass) {
  std::string const line = "PUT / HTTP/1.1\r\nHost: h\r\n";
  EXPECT_EQ(status_of(line + "Content-Length : 3\r\n\r\nabc"), 400);
  EXPECT_EQ(status_of(line + "Content-Length\t: 3\r\n\r\nabc"), 400);
  EXPECT_EQ(status_of(line + "A b: c\r\n\r\n"), 400);
  EXPECT_EQ(status_of(line + "A(b): c\r\n\r\n"), 400);
  EXPECT_EQ(status_of(line + ": c\r\n\r\n"), 400);
  EXPECT_EQ(status_of(line + "A: b\r\n c\r\n\r\n"), 400);
  EXPECT_EQ(status_of(line + "A: b\rc\r\n\r\n"), 400);
  EXPECT_EQ(status_of(line + "A: b" + std::string(1, '\0') + "\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\n Host: h\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost:\t h \r\nA:\r\n\r\n"), 200);
}

//= rfc9112#6.1
//# 9112:MSG-14 in HTTP/1.0, and beside Content-Length
//= rfc9112#6.3
//# 9112:MSG-16 chunked is not the last coding
TEST(Request, TransferCodings) {
  std::string const line = "POST / HTTP/1.1\r\nHost: h\r\n";
  std::string const body = "\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
  EXPECT_EQ(status_of(line + "Transfer-Encoding: Chunked " + body), 200);
  EXPECT_EQ(status_of(line + "Transfer-Encoding: gzip, chunked" + body), 501);
  EXPECT_EQ(status_of(line + "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked" + body), 501);
  EXPECT_EQ(status_of(line + "Transfer-Encoding: " + std::string(200, 'x') + ", chunked" + body),
            501);
  for (const char* const bad : {"gzip", "identity", "chunked, gzip", "xchunked", "chunkedx", "",
                                "chunked, chunked", "chunked;q=1", "\"chunked\""}) {
    EXPECT_NE(status_of(line + "Transfer-Encoding: " + bad + body), 200) << bad;
  }
  EXPECT_EQ(status_of(line + "Transfer-Encoding: gzip" + body), 400);
  EXPECT_EQ(status_of(line + "Transfer-Encoding: chunked, gzip" + body), 400);
  EXPECT_EQ(status_of(line + "Transfer-Encoding: chunked\r\nContent-Length: 3" + body), 400);
  EXPECT_EQ(status_of(line + "Content-Length: 3\r\nTransfer-Encoding: chunked" + body), 400);
  EXPECT_EQ(status_of("POST / HTTP/1.0\r\nTransfer-Encoding: chunked" + body), 400);
  EXPECT_EQ(status_of(line + "Transfer-Encoding: chunked\r\n\r\n3\r\nabcX0\r\n\r\n"), 400);
}

//= rfc9110#8.6
//# 9110:HTTP-15 large numerals
TEST(Request, ContentLengths) {
  std::string const line = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: ";
  EXPECT_EQ(status_of(line + "0\r\n\r\n"), 200);
  EXPECT_EQ(status_of(line + "003\r\n\r\nabc"), 200);
  for (const char* const bad : {"3, 3", "+3", "-3", "3x", "0x3", "3 3", "", "18446744073709551616",
                                "18446744073709551619", "3\r\nContent-Length: 3"}) {
    EXPECT_EQ(status_of(line + bad + "\r\n\r\nabc"), 400) << bad;
  }
  EXPECT_EQ(status_of(line + "9999999999999999999\r\n\r\n"), 413);
}

TEST(Request, Methods) {
  std::string const rest = " / HTTP/1.1\r\nHost: h\r\n\r\n";
  for (const char* const known : {"GET", "HEAD", "OPTIONS", "TRACE", "DELETE"}) {
    EXPECT_EQ(status_of(known + rest), 200) << known;
  }
  EXPECT_EQ(status_of("BREW" + rest), 501);
  EXPECT_EQ(status_of("get" + rest), 501);
  // What is malformed within it ends the request, and does not wait for more.
  EXPECT_EQ(status_of(std::string("BREW\0", 5) + rest), 400);
  EXPECT_EQ(status_of("BREW\r" + rest), 400);
  EXPECT_EQ(status_of("GETS" + rest), 501);
  EXPECT_EQ(status_of("BR{W" + rest), 400);
  EXPECT_EQ(status_of("BREW\r\n\r\n"), 400);
}

//= rfc9110#10.1.1
//# 9110:HTTP-12 in HTTP/1.0
TEST(Request, Expectations) {
  std::string const put = "PUT /sink HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\nExpect: ";
  EXPECT_EQ(status_of(put + "100-Continue\r\n\r\n"), 200);
  EXPECT_EQ(status_of(put + "magic\r\n\r\n"), 417);
  EXPECT_EQ(status_of(put + "100-continue, magic\r\n\r\n"), 417);
  EXPECT_EQ(status_of("GET / HTTP/1.0\r\nExpect: magic\r\n\r\n"), 200);
}

//= rfc9110#7.4
//# 9110:HTTP-34 https
//= rfc9110#4.2.1
//# 9110:HTTP-35 no host
//= rfc9112#3.2.2
//# 9112:MSG-6 the absolute form
TEST(Request, AbsoluteTargets) {
  std::string const rest = " HTTP/1.1\r\nHost: other\r\n\r\n";
  EXPECT_EQ(status_of("GET http://h/x" + rest), 200);
  EXPECT_EQ(status_of("GET HTTP://h" + rest), 200);
  EXPECT_EQ(status_of("GET https://h/x" + rest), 400);
  EXPECT_EQ(status_of("GET ftp://h/x" + rest), 400);
  EXPECT_EQ(status_of("GET http:///x" + rest), 400);
  EXPECT_EQ(status_of("GET http://:80/x" + rest), 400);
}

//= rfc9112#3
//# 9112:MSG-4 414
//= rfc9110#5.4
//# 9110:HTTP-4 431
TEST(Request, Limits) {
  RequestLimits limits;
  limits.target_max = Bytes{100};
  limits.head_max = Bytes{400};
  limits.body_max = Bytes{10};
  std::string const end = " HTTP/1.1\r\nHost: h\r\n\r\n";
  EXPECT_EQ(status_of("GET /" + std::string(99, 'x') + end, limits), 200);
  EXPECT_EQ(status_of("GET /" + std::string(100, 'x') + end, limits), 414);
  EXPECT_EQ(status_of("GET /" + std::string(1000, 'x'), limits), 414);
  std::string const head = "GET / HTTP/1.1\r\nHost: h\r\nX: ";
  EXPECT_EQ(status_of(head + std::string(400 - head.size() - 4, 'y') + "\r\n\r\n", limits), 200);
  EXPECT_EQ(status_of(head + std::string(401 - head.size() - 4, 'y') + "\r\n\r\n", limits), 431);
  EXPECT_EQ(status_of(head + std::string(5000, 'y'), limits), 431);
  EXPECT_EQ(status_of(std::string(5000, '\n'), limits), 431);
  std::string const chunked = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(status_of(chunked + "a\r\n0123456789\r\n0\r\n\r\n", limits), 200);
  EXPECT_EQ(status_of(chunked + "b\r\n0123456789a\r\n0\r\n\r\n", limits), 413);
}

TEST(Request, LongTargetsAndTheirQueries) {
  RequestReader reader;
  std::string const lines = " HTTP/1.1\r\nHost: h\r\n\r\n";
  ASSERT_EQ(feed(reader, "GET /" + std::string(2000, 'x') + lines, 9000), Progress::complete);
  EXPECT_EQ(reader.target(), "");
  reader.begin();
  ASSERT_EQ(feed(reader, "GET /a?" + std::string(2000, 'x') + lines, 9000), Progress::complete);
  std::array<char, 512> room;
  EXPECT_EQ(path_of(reader.target(), room), "/a");
}

TEST(Request, RangesThatApply) {
  auto const range_in = [](const std::string& fields) {
    RequestReader reader;
    EXPECT_EQ(feed(reader, "GET / HTTP/1.1\r\nHost: h\r\n" + fields + "\r\n", 3),
              Progress::complete);
    return std::string(reader.range());
  };
  EXPECT_EQ(range_in("rAnGe: bytes=0-\r\n"), "bytes=0-");
  EXPECT_EQ(range_in("Range: bytes=0-1\r\nRange: bytes=2-3\r\n"), "");
  EXPECT_EQ(range_in("Range: bytes=" + std::string(70, '1') + "-\r\n"), "");
}

TEST(Request, ConditionsAreKept) {
  RequestReader reader;
  std::string const head = "GET / HTTP/1.1\r\nHost: h\r\n";
  ASSERT_EQ(feed(reader, head + "If-None-Match: \"a\"\r\nif-Match:*\r\nIf-Range: x\r\n\r\n", 3),
            Progress::complete);
  EXPECT_EQ(reader.conditions().only(ConditionKind::if_none_match), "\"a\"");
  EXPECT_EQ(reader.conditions().only(ConditionKind::if_match), "*");
  EXPECT_EQ(reader.conditions().only(ConditionKind::if_range), "x");
  EXPECT_FALSE(reader.conditions().has(ConditionKind::if_modified_since));
  EXPECT_EQ(status_of(head + "If-None-Match: " + std::string(600, 'x') + "\r\n\r\n"), 431);
}

TEST(Request, PathOf) {
  std::array<char, 8> room;
  EXPECT_EQ(path_of("/a/%2e%2E", room), "/a/..");
  EXPECT_EQ(path_of("http://host:1/x?y", room), "/x");
  EXPECT_EQ(path_of("http://host", room), "/");
  EXPECT_EQ(path_of("/x?http://y/z", room), "/x");
  EXPECT_EQ(path_of("*", room), "");
  EXPECT_EQ(path_of("/%4", room), "");
  EXPECT_EQ(path_of("/%41", room), "/A");
  EXPECT_EQ(path_of("/%zz", room), "");
  EXPECT_EQ(path_of("/12345678", room), "");
}

//= rfc9110#14.2
//# 9110:HTTP-24 other units
//= rfc9110#15.3.7.2
//# 9110:HTTP-27 several ranges
TEST(Range, OfTen) {
  auto const text = [](std::string_view value, std::uint64_t length = 10) {
    ByteRange const range = range_of(value, length);
    if (range.kind != ByteRange::Kind::part) {
      return std::string(range.kind == ByteRange::Kind::whole ? "whole" : "none");
    }
    return std::to_string(range.begin) + "," + std::to_string(range.end);
  };
  EXPECT_EQ(text("bytes=0-0"), "0,1");
  EXPECT_EQ(text("bytes=2-5 "), "2,6");
  EXPECT_EQ(text("Bytes=9-"), "9,10");
  EXPECT_EQ(text("bytes=3-99999999999999999999999"), "3,10");
  EXPECT_EQ(text("bytes=-4"), "6,10");
  EXPECT_EQ(text("bytes=-40"), "0,10");
  EXPECT_EQ(text("bytes=10-"), "none");
  EXPECT_EQ(text("bytes=-0"), "none");
  EXPECT_EQ(text("bytes=-1", 0), "none");
  EXPECT_EQ(text("bytes=0-", 0), "none");
  EXPECT_EQ(text("bytes=5-2"), "whole");
  EXPECT_EQ(text("bytes=0-1,3-4"), "whole");
  EXPECT_EQ(text("bytes=--1"), "whole");
  EXPECT_EQ(text("lines=0-1"), "whole");
  EXPECT_EQ(text("bytes="), "whole");
  EXPECT_EQ(text("-"), "whole");
}

}  // namespace
}  // namespace lockstep::http
