// Responses of servers, valid and invalid, in pieces of every length.
#include "tools/lib/load/reply.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tools/lib/load/cache_reply.hpp"

namespace lockstep::load {
namespace {

std::span<const std::byte> octets(std::string_view text) { return std::as_bytes(std::span(text)); }

struct Read {
  Progress progress = Progress::more;
  std::size_t used = 0;
  Fault fault = Fault::none;
};

/// Reads `text` in pieces of `piece` octets; with `ends` the connection ends after them.
template <class Reply>
Read read(Reply& reply, std::string_view text, std::size_t piece, bool ends = false) {
  Read out;
  while (out.progress == Progress::more && out.used < text.size()) {
    Bytes used;
    out.progress = reply.read(octets(text.substr(out.used, piece)), used);
    out.used += used.count;
  }
  if (out.progress == Progress::more && ends) {
    out.progress = reply.ended();
  }
  out.fault = reply.fault();
  return out;
}

Expected of(std::string_view body) { return {body.size(), 0, octets(body)}; }

TEST(HttpReply, WholeHoweverItIsSplit) {
  std::string_view const text =
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 404 Not Found\r\n";
  for (std::size_t piece = 1; piece < text.size(); ++piece) {
    HttpReply reply;
    reply.begin(of("hello"));
    Read const got = read(reply, text, piece);
    EXPECT_EQ(got.progress, Progress::complete) << piece;
    EXPECT_EQ(text.substr(got.used, 12), "HTTP/1.1 404") << piece;
    EXPECT_EQ(reply.body_octets(), 5u);
    EXPECT_TRUE(reply.keeps_alive());
  }
}

TEST(HttpReply, InChunksUntilTheEndOrWithoutABody) {
  HttpReply reply;
  reply.begin(of("hello"));
  EXPECT_EQ(read(reply,
                 "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                 "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
                 7)
                .progress,
            Progress::complete);
  reply.begin(of("hello"));
  EXPECT_EQ(read(reply, "HTTP/1.0 200 OK\r\n\r\nhello", 7, true).progress, Progress::complete);
  EXPECT_FALSE(reply.keeps_alive());
  reply.begin({});
  EXPECT_EQ(read(reply, "HTTP/1.1 204 No Content\r\n\r\n", 3).progress, Progress::complete);
  reply.begin(of("hello"));
  EXPECT_EQ(
      read(reply, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
           1000)
          .progress,
      Progress::complete);
}

TEST(HttpReply, EachFaultHasAName) {
  struct Case {
    std::string_view text;
    Fault fault;
  };
  for (const Case& each : {
           Case{"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", Fault::status},
           Case{"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhell", Fault::wrong_length},
           Case{"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello!", Fault::wrong_length},
           Case{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhallo", Fault::wrong_body},
           Case{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", Fault::closed_early},
           Case{"HTTP/1.1 200 OK\r\nConte", Fault::closed_early},
           Case{"SSH-2.0-OpenSSH_9.2\r\n", Fault::malformed},
       }) {
    HttpReply reply;
    reply.begin(of("hello"));
    Read const got = read(reply, each.text, 9, true);
    EXPECT_EQ(got.progress, Progress::failed) << each.text;
    EXPECT_EQ(name_of(got.fault), name_of(each.fault)) << each.text;
  }
}

TEST(HttpReply, AHeadWithoutEndIsMalformed) {
  HttpReply reply;
  reply.begin({});
  std::string text = "HTTP/1.1 200 OK\r\n";
  for (int i = 0; i < 10'000; ++i) {
    text += "X-Field: value\r\n";
  }
  EXPECT_EQ(read(reply, text, 1'400).fault, Fault::malformed);
}

TEST(EchoReply, TheSameOctetsFromWhereTheyBegan) {
  std::string_view const pattern = "abcdefgh";
  EchoReply reply;
  reply.begin({4, 6, octets(pattern)});
  Read const got = read(reply, "ghabX", 3);
  EXPECT_EQ(got.progress, Progress::complete);
  EXPECT_EQ(got.used, 4u);
  reply.begin({4, 6, octets(pattern)});
  EXPECT_EQ(read(reply, "ghaa", 3).fault, Fault::wrong_body);
  reply.begin({4, 6, octets(pattern)});
  EXPECT_EQ(read(reply, "gha", 3, true).fault, Fault::closed_early);
}

TEST(CacheReply, HitsMissesAndUpdates) {
  std::string_view const hit = "VALUE k 0 4\r\nghab\r\nEND\r\nVALUE";
  Expected const value{4, 6, octets("abcdefgh"), false};
  for (std::size_t piece = 1; piece < hit.size(); ++piece) {
    CacheReply reply;
    reply.begin(value);
    Read const got = read(reply, hit, piece);
    EXPECT_EQ(got.progress, Progress::complete) << piece;
    EXPECT_EQ(hit.substr(got.used), "VALUE");
    EXPECT_FALSE(reply.is_miss());
  }
  CacheReply reply;
  reply.begin(value);
  EXPECT_EQ(read(reply, "END\r\n", 2).progress, Progress::complete);
  EXPECT_TRUE(reply.is_miss());
  reply.begin({4, 6, octets("abcdefgh"), true});
  EXPECT_EQ(read(reply, "STORED\r\n", 3).progress, Progress::complete);
}

TEST(CacheReply, EachFaultHasAName) {
  struct Case {
    std::string_view text;
    Fault fault;
  };
  std::string const endless(1'000, 'x');
  for (const Case& each : {
           Case{"ERROR\r\n", Fault::status},
           Case{"SERVER_ERROR out of memory\r\n", Fault::status},
           Case{"STORED\r\n", Fault::malformed},
           Case{"VALUE k 0 x\r\n", Fault::malformed},
           Case{"\r\n", Fault::malformed},
           Case{"END\n", Fault::malformed},
           Case{endless, Fault::malformed},
           Case{"VALUE k 0 5\r\nghabc\r\nEND\r\n", Fault::wrong_length},
           Case{"VALUE k 0 4\r\nghaa\r\nEND\r\n", Fault::wrong_body},
           Case{"VALUE k 0 4\r\nghabc\r\nEND\r\n", Fault::malformed},
           Case{"VALUE k 0 4\r\nghab\r\nend\r\n", Fault::malformed},
           Case{"VALUE k 0 4\r\ngh", Fault::closed_early},
       }) {
    CacheReply reply;
    reply.begin({4, 6, octets("abcdefgh"), false});
    EXPECT_EQ(name_of(read(reply, each.text, 5, true).fault), name_of(each.fault)) << each.text;
  }
}

}  // namespace
}  // namespace lockstep::load
