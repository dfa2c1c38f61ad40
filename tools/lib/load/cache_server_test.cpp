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
