// The responses of memcached's text protocol to valid and invalid commands.
#include "tools/lib/load/cache_server.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tools/lib/http/http_kit.hpp"

namespace lockstep::load {
namespace {

/// The output of a new server for `text`, sent `piece` octets a turn.
std::string replies_to(const std::string& text, std::uint32_t piece = 65'535) {
  http::testing::Joined joined;
  CacheServer server({}, joined.config.tcp.connections_max);
  EXPECT_EQ(server.start(joined.server), Refusal::none);
  http::testing::Client client(tools::benchmark::server_address(), Port{11'211});
  http::testing::ClientConnection& connection = client.open(joined.client, text);
  connection.piece = piece;
  joined.advance(Duration::seconds(100), joined.client_port, client, joined.server_port, server);
  EXPECT_FALSE(connection.closed) << text;
  return connection.received;
}

const std::string get = "get a\r\n";
const std::string found = "VALUE a 0 3\r\nxyz\r\nEND\r\n";

TEST(CacheServer, SetsAndGets) {
  for (std::uint32_t const piece : {1u, 7u, 1'000u}) {
    EXPECT_EQ(replies_to("get a\r\nset a 0 0 3\r\nxyz\r\n" + get, piece),
              "END\r\nSTORED\r\n" + found);
    EXPECT_EQ(replies_to("set a 0 0 0\r\n\r\n" + get, piece),
              "STORED\r\nVALUE a 0 0\r\n\r\nEND\r\n");
  }
}

TEST(CacheServer, ReportsWhatItDoesNotStore) {
  std::string const set = "set a 0 0 3\r\nxyz\r\n";
  for (const char* count : {"-1", "x", "3x", "99999999999999999999"}) {
    EXPECT_EQ(replies_to(set + "set a 0 0 " + count + "\r\n" + get),
              "STORED\r\nCLIENT_ERROR bad command line format\r\n" + found);
  }
  EXPECT_EQ(replies_to(set + "set a 0 0 3\r\nabcde" + get),
            "STORED\r\nCLIENT_ERROR bad data chunk\r\n" + found);
  EXPECT_EQ(replies_to("what\r\n" + set + get), "ERROR\r\nSTORED\r\n" + found);
}

TEST(CacheServer, KeepsFlags) {
  EXPECT_EQ(replies_to("set a 4294967295 0 1\r\nx\r\n" + get),
            "STORED\r\nVALUE a 4294967295 1\r\nx\r\nEND\r\n");
  EXPECT_EQ(replies_to("set a 4294967296 0 1\r\nx\r\n" + get),
            "CLIENT_ERROR bad command line format\r\nEND\r\n");
}

TEST(CacheServer, GetsSeveralKeys) {
  std::string sets;
  std::string line = "get";
  std::string expected;
  std::string values;
  for (int i = 0; i < 100; ++i) {
    std::string const key = "key" + std::to_string(i);
    std::string const value(1'000, static_cast<char>('a' + i % 26));
    sets += "set " + key + " 7 0 1000 noreply\r\n" + value + "\r\n";
    line += (i % 2 == 0 ? " " : "  missing ") + key;
    values += "VALUE " + key + " 7 1000\r\n" + value + "\r\n";
  }
  for (std::uint32_t const piece : {97u, 65'535u}) {
    EXPECT_EQ(replies_to(sets + line + "\r\n" + line + "\r\n", piece),
              values + "END\r\n" + values + "END\r\n");
  }
}

TEST(CacheServer, Deletes) {
  EXPECT_EQ(replies_to("set a 0 0 3\r\nxyz\r\ndelete a\r\ndelete a\r\n" + get),
            "STORED\r\nDELETED\r\nNOT_FOUND\r\nEND\r\n");
  EXPECT_EQ(replies_to("set a 0 0 3\r\nxyz\r\ndelete a noreply\r\n" + get), "STORED\r\nEND\r\n");
}

TEST(CacheServer, QuitsAndSaysItsVersion) {
  EXPECT_EQ(replies_to("version\r\n"), "VERSION lockstep\r\n");
  http::testing::Joined joined;
  CacheServer server({}, joined.config.tcp.connections_max);
  ASSERT_EQ(server.start(joined.server), Refusal::none);
  http::testing::Client client(tools::benchmark::server_address(), Port{11'211});
  auto& connection = client.open(joined.client, "version\r\nquit\r\n");
  joined.advance(Duration::seconds(1), joined.client_port, client, joined.server_port, server);
  EXPECT_EQ(connection.received, "VERSION lockstep\r\n");
  EXPECT_TRUE(connection.closed);
  EXPECT_EQ(connection.cause, Cause::finished);
}

TEST(CacheServer, WhatItLacksIsRefusedByName) {
  for (std::string const name : {"gets a", "touch a 1", "incr a 1", "stats", "flush_all", "mg a"}) {
    EXPECT_EQ(replies_to(name + "\r\nversion\r\n"),
              "SERVER_ERROR " + name.substr(0, name.find(' ')) +
                  " is not supported\r\nVERSION lockstep\r\n");
  }
  for (std::string const name : {"add", "cas", "append"}) {
    EXPECT_EQ(replies_to(name + " a 0 0 9 5\r\nversion\r\n\r\n" + get),
              "SERVER_ERROR " + name + " is not supported\r\nEND\r\n");
  }
  EXPECT_EQ(replies_to("set a 0 60 3\r\nxyz\r\n" + get),
            "SERVER_ERROR an expiry is not supported\r\nEND\r\n");
}

TEST(CacheStore, RemovedKeysMakeRoom) {
  CacheStore store(Count{8}, Bytes{16});
  for (int round = 0; round < 200; ++round) {
    for (int i = 0; i < 8; ++i) {
      EXPECT_TRUE(store.set(std::to_string(round * 3 + i), {std::to_string(i), 1}));
    }
    EXPECT_FALSE(store.set("one more", {"", 0}));
    for (int i = 0; i < 8; ++i) {
      ASSERT_EQ(store.find(std::to_string(round * 3 + i))->octets, std::to_string(i)) << round;
    }
    for (int i = 0; i < 8; ++i) {
      ASSERT_TRUE(store.remove(std::to_string(round * 3 + (i * 5) % 8)));
      ASSERT_FALSE(store.find(std::to_string(round * 3 + (i * 5) % 8)));
    }
  }
}

// The value is discarded as it arrives, and the connection stays open.
TEST(CacheServer, ATooLargeValueIsRefused) {
  std::string const large(100'000, 'v');
  for (std::uint32_t const piece : {200u, 1'460u, 65'535u}) {
    EXPECT_EQ(
        replies_to("set a 0 0 3\r\nxyz\r\nset a 0 0 100000\r\n" + large + "\r\n" + get, piece),
        "STORED\r\nSERVER_ERROR object too large for cache\r\n" + found);
  }
}

}  // namespace
}  // namespace lockstep::load
