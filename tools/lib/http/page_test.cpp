// The page beside a server: made for each request, and each event reaches the right application.
#include "tools/lib/http/page.hpp"

#include <gtest/gtest.h>

#include "tools/lib/http/http_kit.hpp"

namespace lockstep::http::testing {
namespace {

class Paged : public ::testing::Test {
 protected:
  static constexpr std::uint16_t port = 9100;

  Paged() {
    site.complete();
    EXPECT_EQ(server.start(joined.server), Refusal::none);
    EXPECT_EQ(page.start(joined.server), Refusal::none);
  }
  PageSettings page_settings() {
    PageSettings out;
    out.local.port = Port{port};
    out.path = "/metrics";
    out.type = "text/plain";
    out.text = [this] { return "made " + std::to_string(++made) + " times\n" + more; };
    return out;
  }
  /// Clients of the page and of the server beside it.
  struct Callers {
    Client page{tools::benchmark::server_address(), Port{port}};
    Client server{tools::benchmark::server_address()};
    void on_event(Stack& stack, const Event& event) {
      page.on_event(stack, event);
      server.on_event(stack, event);
    }
    void run(Stack& stack, Instant now) {
      page.run(stack, now);
      server.run(stack, now);
    }
  };
  void advance(Duration by) {
    joined.advance(by, joined.client_port, callers, joined.server_port, both);
  }
  static std::string request(const std::string& path, const std::string& method = "GET") {
    return method + " " + path + " HTTP/1.1\r\nHost: h\r\n\r\n";
  }
  ClientConnection& ask(const std::string& path, const std::string& method = "GET") {
    return callers.page.open(joined.client, request(path, method));
  }

  Site site;
  Joined joined;
  Server server{site, {}, joined.config.tcp.connections_max};
  int made = 0;
  std::string more;
  PageServer page{page_settings()};
  WithPage<Server> both{server, page};
  Callers callers;
};

TEST_F(Paged, IsMadeForEachRequest) {
  for (int i = 1; i <= 3; ++i) {
    ClientConnection& connection = ask("/metrics");
    advance(Duration::seconds(1));
    Response const response = response_in(connection.received);
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(response.body, "made " + std::to_string(i) + " times\n");
    EXPECT_EQ(response.fields.at("Connection"), "close");
  }
  EXPECT_EQ(page.answered(), 3u);
  advance(Duration::seconds(200));
  EXPECT_TRUE(both.done());
  EXPECT_EQ(server.counters().connections, 0u);
}

TEST_F(Paged, ALongPageIsWrittenAsRoomAllows) {
  more.assign(3'000'000, 'm');
  ClientConnection& connection = ask("/metrics");
  advance(Duration::seconds(5));
  EXPECT_EQ(response_in(connection.received).body.size(), 3'000'000u + 13);
}

TEST_F(Paged, WhatIsNotThere) {
  ClientConnection& other = ask("/else");
  ClientConnection& wrong = ask("/metrics", "PUT");
  ClientConnection& head = ask("/metrics", "HEAD");
  ClientConnection& beside = callers.server.open(joined.client, request("/bytes/10"));
  advance(Duration::seconds(1));
  EXPECT_EQ(response_in(other.received).status, 404);
  EXPECT_EQ(response_in(wrong.received).status, 405);
  EXPECT_EQ(response_in(head.received, true).status, 200);
  EXPECT_TRUE(response_in(head.received, true).rest.empty());
  EXPECT_EQ(response_in(beside.received).body.size(), 10u);
  EXPECT_EQ(server.counters().connections, 1u);
}

TEST_F(Paged, SilentClientsTimeOutAndTooManyAreAborted) {
  for (std::uint32_t i = 0; i < PageServer::exchanges_max + 4; ++i) {
    callers.page.open(joined.client, "GET");
  }
  advance(Duration::seconds(1));
  EXPECT_FALSE(both.done());
  advance(Duration::seconds(20));
  EXPECT_TRUE(page.done());
  ClientConnection& connection = ask("/metrics");
  advance(Duration::seconds(1));
  EXPECT_EQ(response_in(connection.received).status, 200);
}

TEST_F(Paged, AStopEndsBoth) {
  callers.page.open(joined.client, "GET");
  advance(Duration::seconds(1));
  both.stop(joined.server, joined.now());
  advance(Duration::seconds(1));
  EXPECT_TRUE(both.done());
}

}  // namespace
}  // namespace lockstep::http::testing
