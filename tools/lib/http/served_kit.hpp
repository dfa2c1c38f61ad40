// A server of a small site with a client, for tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tools/lib/http/http_kit.hpp"
#include "tools/lib/http/server.hpp"

namespace lockstep::http::testing {

inline std::span<const std::byte> octets(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

class Served : public ::testing::Test {
 protected:
  explicit Served(const PairSettings& settings = {}, void (*change)(Config&) = nullptr,
                  std::uint32_t lose_every = 0)
      : joined(settings, change),
        lossy(joined.server_port, lose_every),
        client(tools::benchmark::server_address()) {
    for (int i = 0; i < 3000; ++i) {
      long_text += std::to_string(i) + ",";
    }
    EXPECT_TRUE(site.add("/short.txt", octets("hello")));
    EXPECT_TRUE(site.add("/long.html", octets(long_text)));
    EXPECT_TRUE(site.add("/empty", octets("")));
    EXPECT_TRUE(site.add_alias("/", "/long.html"));
    EXPECT_TRUE(site.add("/a b/index.html", octets("sub"), modified));
    EXPECT_TRUE(site.add_alias("/a b/", "/a b/index.html"));
    site.complete();
    // At the virtual 1000 s, when a test begins, it is Sun, 06 Nov 1994 08:49:37 GMT.
    server_settings.unix_ns = (784'111'777 - 1000) * std::uint64_t{1'000'000'000};
    server = std::make_unique<Server>(site, server_settings, joined.config.tcp.connections_max);
    EXPECT_EQ(server->start(joined.server), Refusal::none);
  }

  void advance(Duration by) { joined.advance(by, joined.client_port, client, lossy, *server); }
  ClientConnection& ask(std::string text) { return client.open(joined.client, std::move(text)); }
  /// The client reads one segment's payload every nine seconds, `times` times, and is then reset.
  void read_in_driblets(ClientConnection& connection, int times) {
    connection.to_read = 0;
    for (int i = 0; i < times; ++i) {
      advance(Duration::seconds(9));
      connection.to_read += 1'460;
    }
    EXPECT_EQ(connection.cause, Cause::reset);
    EXPECT_TRUE(server->done());
  }
  /// Sends one request on a connection of its own.
  Response fetch(const std::string& request) {
    ClientConnection& connection = ask(request);
    connection.half_close = true;
    advance(Duration::seconds(1));
    EXPECT_TRUE(connection.closed) << request.substr(0, 100);
    return response_in(connection.received, request.starts_with("HEAD"));
  }
  std::string generated(std::uint64_t begin, std::uint64_t end) const {
    std::string out;
    for (std::uint64_t i = begin; i < end; ++i) {
      out += static_cast<char>(site.pattern()[i % Site::pattern_bytes]);
    }
    return out;
  }

  static constexpr UnixSeconds modified{784'000'000};
  ServerSettings server_settings;
  std::string long_text;
  Site site;
  Joined joined;
  Lossy<Joined::Port> lossy;
  Client client;
  std::unique_ptr<Server> server;
};

inline std::string get(const std::string& path, const std::string& fields = "") {
  return "GET " + path + " HTTP/1.1\r\nHost: h\r\n" + fields + "\r\n";
}

}  // namespace lockstep::http::testing
