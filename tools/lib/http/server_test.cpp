// The server against clients that split, pipeline, stall and misbehave, in virtual time.
#include "tools/lib/http/server.hpp"

#include <gtest/gtest.h>

#include "tools/lib/http/served_kit.hpp"

namespace lockstep::http::testing {
namespace {

TEST_F(Served, FilesAndTheirTypes) {
  Response const file = fetch(get("/short.txt"));
  EXPECT_EQ(file.status, 200);
  EXPECT_EQ(file.body, "hello");
  EXPECT_EQ(file.fields.at("Content-Type"), "text/plain");
  EXPECT_EQ(file.fields.at("Accept-Ranges"), "bytes");
  EXPECT_EQ(fetch(get("/")).body, long_text);
  EXPECT_EQ(fetch(get("/")).fields.at("Content-Type"), "text/html");
  EXPECT_EQ(fetch(get("/empty")).body, "");
  EXPECT_EQ(fetch(get("/empty")).status, 200);
  EXPECT_EQ(fetch(get("/missing")).status, 404);
  EXPECT_EQ(fetch(get("/missing")).body, "404 Not Found\n");
  EXPECT_EQ(fetch(get("/short.txt?v=1")).status, 200);
  EXPECT_EQ(fetch(get("http://h/short.txt")).status, 200);
  EXPECT_EQ(server->counters().ends[static_cast<std::uint32_t>(Cause::finished)],
            server->counters().connections);
  EXPECT_TRUE(server->done());
}

TEST_F(Served, GeneratedBodies) {
  for (std::uint64_t const size : {0u, 1u, 1459u, 1461u, 200'000u, 1'048'573u, 3'000'000u}) {
    Response const out = fetch(get("/bytes/" + std::to_string(size)));
    ASSERT_EQ(out.status, 200) << size;
    ASSERT_EQ(out.body.size(), size);
    ASSERT_TRUE(out.body == generated(0, size)) << size;
  }
  EXPECT_EQ(fetch(get("/bytes/01")).status, 404);
  EXPECT_EQ(fetch(get("/bytes/")).status, 404);
  EXPECT_EQ(fetch(get("/bytes/9999999999999")).status, 404);
}

//= rfc9110#15.3.7.1
//# 9110:HTTP-25 Content-Range
//= rfc9110#14.2
//# 9110:HTTP-23 a range of a HEAD
TEST_F(Served, Ranges) {
  Response const part = fetch(get("/short.txt", "Range: bytes=1-2\r\n"));
  EXPECT_EQ(part.status, 206);
  EXPECT_EQ(part.body, "el");
  EXPECT_EQ(part.fields.at("Content-Range"), "bytes 1-2/5");
  Response const wrapped = fetch(get("/bytes/2000000", "Range: bytes=1048570-1048580\r\n"));
  EXPECT_EQ(wrapped.body, generated(1'048'570, 1'048'581));
  Response const beyond = fetch(get("/short.txt", "Range: bytes=5-\r\n"));
  EXPECT_EQ(beyond.status, 416);
  EXPECT_EQ(beyond.fields.at("Content-Range"), "bytes */5");
  EXPECT_EQ(fetch(get("/short.txt", "Range: bytes=0-1,3-4\r\n")).status, 200);
  EXPECT_EQ(fetch("HEAD /short.txt HTTP/1.1\r\nHost: h\r\nRange: bytes=1-2\r\n\r\n").status, 200);
}

std::string head_of(const std::string& path, const std::string& fields = "") {
  return "HEAD " + path + " HTTP/1.1\r\nHost: h\r\n" + fields + "\r\n";
}

//= rfc9110#6.6.1
//# 9110:HTTP-9 with a clock
TEST_F(Served, DateInEveryAnswer) {
  EXPECT_EQ(fetch(get("/bytes/1")).fields.at("Date"), "Sun, 06 Nov 1994 08:49:37 GMT");
  advance(Duration::seconds(120));
  for (auto const& text :
       {get("/bytes/1"), get("/missing"), get("/a%20b"), std::string("x y\r\n"),
        get("/bytes/1", "If-None-Match: *\r\n"), get("/bytes/9", "Range: bytes=9-\r\n")}) {
    EXPECT_EQ(fetch(text).fields["Date"].substr(0, 19), "Sun, 06 Nov 1994 08") << text;
  }
  EXPECT_NE(fetch(get("/bytes/1")).fields.at("Date"), "Sun, 06 Nov 1994 08:49:37 GMT");
}

//= rfc9110#6.6.1
//# 9110:HTTP-10 without a clock
TEST_F(Served, NoDateWithoutAClock) {
  server_settings.unix_ns = 0;
  server_settings.port = Port{81};
  Server other(site, server_settings, joined.config.tcp.connections_max);
  ASSERT_EQ(other.start(joined.server), Refusal::none);
  Client caller(tools::benchmark::server_address(), Port{81});
  ClientConnection& connection = caller.open(joined.client, get("/short.txt"));
  joined.advance(Duration::seconds(1), joined.client_port, caller, joined.server_port, other);
  EXPECT_EQ(response_in(connection.received).body, "hello");
  EXPECT_EQ(response_in(connection.received).fields.count("Date"), 0u);
}

//= rfc9110#8.8.2.1
//# 9110:HTTP-14 a file from the future
TEST_F(Served, LastModifiedIsNotLaterThanDate) {
  EXPECT_EQ(fetch(get("/a%20b/")).fields.at("Last-Modified"), "Sat, 05 Nov 1994 01:46:40 GMT");
  Site later;
  ASSERT_TRUE(later.add("/f", octets("f"), {900'000'000}));
  later.complete();
  server_settings.port = Port{81};
  Server other(later, server_settings, joined.config.tcp.connections_max);
  ASSERT_EQ(other.start(joined.server), Refusal::none);
  Client caller(tools::benchmark::server_address(), Port{81});
  ClientConnection& connection = caller.open(joined.client, get("/f"));
  joined.advance(Duration::seconds(1), joined.client_port, caller, joined.server_port, other);
  Response out = response_in(connection.received);
  EXPECT_EQ(out.fields["Last-Modified"], out.fields["Date"]);
  EXPECT_FALSE(out.fields["Date"].empty());
}

//= rfc9110#15.4.5
//# 9110:HTTP-31 no content
//= rfc9110#15.4.5
//# 9110:HTTP-32 its fields
//= rfc9110#13.1.2
//# 9110:HTTP-17 to GET and to HEAD
TEST_F(Served, NotModified) {
  Response whole = fetch(get("/a%20b/"));
  std::string const etag = whole.fields["ETag"];
  ASSERT_EQ(etag.size(), 34u) << etag;
  EXPECT_NE(etag, fetch(get("/short.txt")).fields["ETag"]);
  for (auto const& text :
       {get("/a%20b/", "If-None-Match: " + etag + "\r\n"),
        head_of("/a%20b/", "If-None-Match: " + etag + "\r\n"),
        get("/a%20b/", "If-Modified-Since: " + whole.fields["Last-Modified"] + "\r\n")}) {
    Response out = fetch(text);
    EXPECT_EQ(out.status, 304) << text;
    EXPECT_EQ(out.body + out.rest, "");
    EXPECT_EQ(out.fields["ETag"], etag);
    EXPECT_FALSE(out.fields["Date"].empty());
    EXPECT_EQ(out.fields["Content-Length"], "");
  }
  EXPECT_EQ(fetch(get("/a%20b/", "If-Match: \"x\"\r\n")).status, 412);
  EXPECT_EQ(fetch(get("/a%20b/", "If-None-Match: \"x\"\r\n")).body, "sub");
}

//= rfc9110#13.2.1
//# 9110:HTTP-22 other answers
TEST_F(Served, ConditionsDoNotChangeOtherAnswers) {
  EXPECT_EQ(fetch(get("/missing", "If-None-Match: *\r\n")).status, 404);
  EXPECT_EQ(fetch(get("/missing", "If-Match: \"x\"\r\n")).status, 404);
  EXPECT_EQ(fetch("DELETE / HTTP/1.1\r\nHost: h\r\nIf-Match: \"x\"\r\n\r\n").status, 405);
  EXPECT_EQ(fetch(get("/a%20b", "If-None-Match: *\r\n")).status, 301);
}

//= rfc9110#15.3.7
//# 9110:HTTP-26 the fields of a 206
//= rfc9110#13.1.5
//# 9110:HTTP-21 If-Range
TEST_F(Served, IfRange) {
  Response whole = fetch(get("/a%20b/"));
  std::string const part = "Range: bytes=1-1\r\nIf-Range: ";
  Response out = fetch(get("/a%20b/", part + whole.fields["ETag"] + "\r\n"));
  EXPECT_EQ(out.status, 206);
  EXPECT_EQ(out.body, "u");
  EXPECT_EQ(out.fields["ETag"], whole.fields["ETag"]);
  EXPECT_EQ(out.fields["Last-Modified"], whole.fields["Last-Modified"]);
  EXPECT_FALSE(out.fields["Date"].empty());
  EXPECT_EQ(fetch(get("/a%20b/", part + "\"x\"\r\n")).status, 200);
  EXPECT_EQ(fetch(get("/a%20b/", part + whole.fields["Last-Modified"] + "\r\n")).status, 206);
}

TEST_F(Served, AFolderWithoutItsSlashIsRedirected) {
  Response out = fetch(get("/a%20b"));
  EXPECT_EQ(out.status, 301);
  EXPECT_EQ(out.fields["Location"], "/a%20b/");
  EXPECT_EQ(out.body, "301 Moved Permanently\n");
  EXPECT_EQ(fetch(get("/a%20b?x=1&y")).fields["Location"], "/a%20b/?x=1&y");
  EXPECT_EQ(fetch(head_of("/a%20b")).rest, "");
  EXPECT_EQ(fetch(get("//a%20b")).status, 404);
  EXPECT_EQ(fetch(get("/a")).status, 404);
  EXPECT_EQ(fetch(get("/a%20b?" + std::string(900, 'q'))).status, 404);
}

TEST_F(Served, PathsLeadNowhereElse) {
  for (const char* const path :
       {"/../short.txt", "/%2e%2e/short.txt", "/short.txt%00", "/%00", "/a%20b/../short.txt",
        "/short.txt/", "//short.txt", "/%2fshort.txt", "/short.txt%", "/short.txt%0", "/%zz",
        "/short%2"}) {
    EXPECT_EQ(fetch(get(path)).status, 404) << path;
  }
}

//= rfc9110#9.3.2
//# 9110:HTTP-3 no content
//= rfc9110#8.6
//# 9110:HTTP-28 the length of the GET
//= rfc9110#9.1
//# 9110:HTTP-2 both methods
TEST_F(Served, HeadHasNoBody) {
  Response const out = fetch("HEAD /long.html HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(out.status, 200);
  EXPECT_EQ(out.fields.at("Content-Length"), std::to_string(long_text.size()));
  EXPECT_EQ(out.rest, "");
  EXPECT_EQ(fetch("HEAD /missing HTTP/1.1\r\nHost: h\r\n\r\n").rest, "");
}

//= rfc9110#15.5.6
//# 9110:HTTP-33 Allow
//= rfc9112#9.3
//# 9112:MSG-18 after a body that is not read
//= rfc9112#9.6
//# 9112:MSG-21 after a `close` of ours
//= rfc9112#4
//# 9112:MSG-7 the status line
TEST_F(Served, ErrorsHaveAStatusAndClose) {
  EXPECT_EQ(fetch("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nab").status, 405);
  EXPECT_EQ(fetch("DELETE / HTTP/1.1\r\nHost: h\r\n\r\n").fields.at("Allow"), "GET, HEAD");
  for (auto const& [text, status] : std::map<std::string, int>{
           {"GET / HTTP/1.1\r\n\r\n", 400},
           {"nonsense\r\n\r\n", 400},
           {"GET / HTTP/3.0\r\nHost: h\r\n\r\n", 505},
           {"GET /" + std::string(9000, 'x') + " HTTP/1.1\r\nHost: h\r\n\r\n", 414},
           {"GET / HTTP/1.1\r\nHost: h\r\nX: " + std::string(20'000, 'x') + "\r\n\r\n", 431},
           {"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n" +
                std::string(200'000, 'x'),
            413}}) {
    ClientConnection& connection = ask(text + get("/short.txt"));
    advance(Duration::seconds(1));
    Response const out = response_in(connection.received);
    EXPECT_EQ(out.status, status) << text.substr(0, 50);
    EXPECT_EQ(out.fields.at("Connection"), "close");
    EXPECT_EQ(out.rest, "");  // octets after a malformed request are not parsed
    EXPECT_TRUE(connection.closed);
    EXPECT_EQ(connection.cause, Cause::finished) << text.substr(0, 50);
  }
}

//= rfc9110#5.3
//# 9110:HTTP-1 nothing is answered before the head is whole
TEST_F(Served, NothingIsAnsweredEarly) {
  ClientConnection& connection = ask("GET /short.txt HTTP/1.1\r\nHost: h\r\n");
  advance(Duration::seconds(1));
  EXPECT_EQ(connection.received, "");
  connection.to_send = "If-Match: \"x\"\r\n\r\n";
  advance(Duration::seconds(1));
  EXPECT_EQ(response_in(connection.received).status, 412);
}

//= rfc9110#7.8
//# 9110:HTTP-11 Upgrade
TEST_F(Served, UpgradesAreIgnored) {
  Response const out =
      fetch(get("/short.txt", "Connection: upgrade\r\nUpgrade: h2c\r\n") + get("/empty"));
  EXPECT_EQ(out.body, "hello");
  EXPECT_EQ(response_in(out.rest).status, 200);
}

TEST_F(Served, CutAtEveryOctet) {
  ClientConnection& connection = ask(get("/short.txt") + get("/empty") + get("/missing"));
  connection.piece = 1;
  advance(Duration::seconds(5));
  Response out = response_in(connection.received);
  EXPECT_EQ(out.body, "hello");
  out = response_in(out.rest);
  EXPECT_EQ(out.status, 200);
  out = response_in(out.rest);
  EXPECT_EQ(out.status, 404);
  EXPECT_EQ(out.rest, "");
  EXPECT_FALSE(connection.peer_finished);
}

//= rfc9112#9.3.2
//# 9112:MSG-19 the order
//= rfc9112#9.6
//# 9112:MSG-20 after the client's `close`
TEST_F(Served, PipelinedInOrder) {
  std::string all;
  std::string expected;
  for (int i = 0; i < 100; ++i) {
    all += get("/bytes/" + std::to_string(i * 97));
    expected += std::to_string(i * 97) + " ";
  }
  ClientConnection& connection =
      ask(all + get("/empty", "Connection: close\r\n") + get("/short.txt"));
  advance(Duration::seconds(5));
  std::string found;
  std::string rest = connection.received;
  for (int i = 0; i < 100; ++i) {
    Response const out = response_in(rest);
    ASSERT_EQ(out.status, 200) << i;
    ASSERT_EQ(out.body, generated(0, static_cast<std::uint64_t>(i) * 97));
    found += std::to_string(out.body.size()) + " ";
    rest = out.rest;
  }
  EXPECT_EQ(found, expected);
  Response const last = response_in(rest);
  EXPECT_EQ(last.fields.at("Connection"), "close");
  EXPECT_EQ(last.rest, "");
  EXPECT_TRUE(connection.closed);
  EXPECT_EQ(server->counters().requests, 101u);
}

std::string put(std::uint64_t octets, const std::string& fields = "") {
  return "PUT /sink HTTP/1.1\r\nHost: h\r\n" + fields +
         "Content-Length: " + std::to_string(octets) + "\r\n\r\n";
}

std::string sunk(const std::string& text) {
  Sha256 hash;
  hash.add(octets(text));
  auto const hex = hash.hex();
  return std::to_string(text.size()) + " " + std::string(hex.begin(), hex.end()) + "\n";
}

TEST_F(Served, TheSinkReportsLengthAndHash) {
  for (std::uint64_t const size : {0u, 1u, 1459u, 200'000u, 3'000'000u}) {
    std::string const body = generated(7, 7 + size);
    ClientConnection& connection = ask(put(size) + body + get("/short.txt"));
    connection.half_close = true;
    advance(Duration::seconds(1));
    Response const out = response_in(connection.received);
    ASSERT_EQ(out.status, 200) << size;
    EXPECT_EQ(out.body, sunk(body));
    EXPECT_EQ(response_in(out.rest).body, "hello");  // the connection stayed open
  }
  EXPECT_EQ(server->counters().upload_octets, 3'201'460u);
  std::string const chunks = "3\r\nabc\r\n1;x=y\r\nd\r\n0\r\n\r\n";
  //= rfc9112#7.1.2
  //# 9112:MSG-24 a trailer field changes nothing
  EXPECT_EQ(response_in(fetch("PUT /sink HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                              "1\r\na\r\n0\r\nConnection: close\r\n\r\n" +
                              get("/short.txt"))
                            .rest)
                .body,
            "hello");
  EXPECT_EQ(
      fetch("POST /%73ink?a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks)
          .body,
      sunk("abcd"));
}

TEST_F(Served, TheSinkRefusesOtherMethods) {
  EXPECT_EQ(fetch(get("/sink")).status, 405);
  EXPECT_EQ(fetch(get("/sink")).fields.at("Allow"), "PUT, POST");
  EXPECT_EQ(fetch("DELETE /sink HTTP/1.1\r\nHost: h\r\n\r\n").status, 405);
  EXPECT_EQ(fetch("PUT /sinks HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\na").status, 405);
  EXPECT_EQ(fetch(put((std::uint64_t{1} << 40) + 1)).status, 413);
}

//= rfc9110#10.1.1
//# 9110:HTTP-13 100 Continue
TEST_F(Served, AClientThatWaitsGetsContinueOnce) {
  ClientConnection& connection = ask(put(5, "Expect: 100-continue\r\n"));
  advance(Duration::seconds(1));
  EXPECT_EQ(connection.received, "HTTP/1.1 100 Continue\r\n\r\n");
  connection.received.clear();
  connection.to_send = "hello" + get("/short.txt");
  advance(Duration::seconds(1));
  Response const out = response_in(connection.received);
  EXPECT_EQ(out.body, sunk("hello"));
  EXPECT_EQ(response_in(out.rest).body, "hello");
  // A client that does not wait gets no 100 Continue.
  EXPECT_EQ(fetch(put(2, "Expect: 100-continue\r\n") + "ab").body, sunk("ab"));
}

TEST_F(Served, AnUploadMayBeSlowButNotIdle) {
  std::string const piece = generated(0, 5'000);
  ClientConnection& connection = ask(put(20'000));
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(connection.received, "");
    advance(server_settings.request - Duration::seconds(1));
    connection.to_send = piece;
  }
  advance(Duration::seconds(1));
  EXPECT_EQ(response_in(connection.received).body, sunk(piece + piece + piece + piece));
  ClientConnection& rests = ask(put(3) + "x");
  advance(server_settings.request + Duration::seconds(1));
  EXPECT_EQ(response_in(rests.received).status, 408);
}

// An upload or download of a few octets now and then must not hold a connection for ever.
TEST_F(Served, AnUploadInDribletsTimesOut) {
  ClientConnection& connection = ask(put(1'000'000));
  for (int i = 0; i < 4; ++i) {
    advance(server_settings.request / 2);
    connection.to_send = generated(0, 2'400);
  }
  EXPECT_EQ(response_in(connection.received).status, 408);
  EXPECT_EQ(server->counters().request_timeouts, 1u);
  advance(server_settings.linger + Duration::seconds(1));
  EXPECT_TRUE(server->done());
}

TEST_F(Served, AReaderInDribletsIsAborted) {
  read_in_driblets(ask(get("/bytes/3000000")), 6);
  EXPECT_EQ(server->counters().send_timeouts, 1u);
}

TEST_F(Served, AReaderInDribletsIsAbortedOnceAllIsQueued) {
  read_in_driblets(ask(get("/bytes/130000", "Connection: close\r\n")), 3);
  EXPECT_EQ(server->counters().linger_timeouts, 1u);
}

//= rfc9112#6.1
//# 9112:MSG-11 no Transfer-Encoding
TEST_F(Served, Http10) {
  ClientConnection& once = ask("GET /short.txt HTTP/1.0\r\n\r\n");
  ClientConnection& again = ask("GET /short.txt HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  advance(Duration::seconds(1));
  EXPECT_TRUE(once.closed);
  EXPECT_FALSE(again.closed);
  EXPECT_EQ(response_in(again.received).fields.at("Connection"), "keep-alive");
  EXPECT_EQ(response_in(again.received).fields.count("Transfer-Encoding"), 0u);
}

TEST_F(Served, AnIdleConnectionIsClosed) {
  ClientConnection& connection = ask(get("/short.txt"));
  advance(server_settings.idle - Duration::seconds(1));
  EXPECT_FALSE(connection.peer_finished);
  advance(Duration::seconds(2));
  EXPECT_TRUE(connection.closed);
  EXPECT_EQ(connection.cause, Cause::finished);
  EXPECT_EQ(server->counters().idle_ends, 1u);
}

TEST_F(Served, ASlowRequestTimesOut) {
  ClientConnection& connection = ask("GET / HTT");
  advance(server_settings.request - Duration::seconds(1));
  connection.to_send = "P/1";  // continuing the request does not help
  EXPECT_EQ(connection.received, "");
  advance(Duration::seconds(2));
  EXPECT_EQ(response_in(connection.received).status, 408);
  EXPECT_TRUE(connection.closed);
  EXPECT_EQ(server->counters().request_timeouts, 1u);
}

TEST_F(Served, ASlowReaderIsAborted) {
  ClientConnection& connection = ask(get("/bytes/3000000"));
  connection.reads = false;
  advance(server_settings.send - Duration::seconds(5));
  EXPECT_FALSE(connection.closed);
  advance(Duration::seconds(10));
  connection.reads = true;
  advance(Duration::seconds(1));
  EXPECT_EQ(connection.cause, Cause::reset);
  EXPECT_EQ(server->counters().send_timeouts, 1u);
  EXPECT_TRUE(server->done());
}

TEST_F(Served, ASlowButSteadyReaderIsServed) {
  ClientConnection& connection = ask(get("/bytes/300000"));
  for (int i = 0; i < 60 && connection.received.size() < 300'000; ++i) {
    connection.reads = false;
    advance(Duration::seconds(20));
    connection.reads = true;
    advance(Duration::milliseconds(300));
  }
  EXPECT_TRUE(response_in(connection.received).body == generated(0, 300'000));
}

TEST_F(Served, AClientThatNeverClosesIsAborted) {
  ClientConnection& connection = ask(get("/short.txt", "Connection: close\r\n"));
  connection.finished = true;  // it never sends a FIN
  advance(server_settings.linger + Duration::seconds(1));
  EXPECT_EQ(server->counters().linger_timeouts, 1u);
  EXPECT_TRUE(connection.closed);
  EXPECT_TRUE(server->done());
}

//= rfc9112#6.3
//# 9112:MSG-17 the last request is cut off
TEST_F(Served, HalfClosedClientsGetTheirResponses) {
  ClientConnection& connection = ask(get("/bytes/100000") + get("/short.txt") + "GET / HT");
  connection.half_close = true;
  advance(Duration::seconds(1));
  Response const first = response_in(connection.received);
  EXPECT_TRUE(first.body == generated(0, 100'000));
  EXPECT_EQ(response_in(first.rest).body, "hello");
  EXPECT_EQ(connection.cause, Cause::finished);
}

TEST_F(Served, StopFinishesResponsesInProgress) {
  ClientConnection& idle = ask(get("/short.txt"));
  ClientConnection& half = ask("GET /");
  ClientConnection& busy = ask(get("/bytes/3000000"));
  advance(Duration::microseconds(40));
  ASSERT_FALSE(busy.received.empty());
  ASSERT_LT(busy.received.size(), 3'000'000u);
  server->stop(joined.server, joined.now());
  advance(Duration::seconds(1));
  EXPECT_TRUE(server->done());
  EXPECT_EQ(idle.cause, Cause::finished);
  EXPECT_EQ(half.cause, Cause::finished);
  EXPECT_EQ(busy.cause, Cause::finished);
  EXPECT_TRUE(response_in(busy.received).body == generated(0, 3'000'000));
  ClientConnection& late = ask(get("/short.txt"));
  advance(Duration::seconds(1));
  EXPECT_EQ(late.cause, Cause::refused);
}

TEST_F(Served, AbandonResetsOpenConnections) {
  ClientConnection& connection = ask(get("/bytes/3000000"));
  connection.reads = false;
  advance(Duration::seconds(1));
  server->stop(joined.server, joined.now());
  server->abandon(joined.server, joined.now());
  advance(Duration::seconds(1));
  EXPECT_TRUE(server->done());
  connection.reads = true;
  advance(Duration::seconds(1));
  EXPECT_EQ(connection.cause, Cause::reset);
}

TEST_F(Served, ManyAtOnce) {
  std::vector<ClientConnection*> connections;
  for (std::uint32_t i = 0; i < 500; ++i) {
    connections.push_back(&ask(get("/bytes/" + std::to_string(i * 31), "Connection: close\r\n")));
  }
  advance(Duration::seconds(20));
  for (std::uint32_t i = 0; i < connections.size(); ++i) {
    EXPECT_TRUE(response_in(connections[i]->received).body == generated(0, i * 31)) << i;
    EXPECT_EQ(connections[i]->cause, Cause::finished);
  }
  EXPECT_EQ(server->counters().connections, 500u);
}

// Every 9th frame of the server is lost, and the pools are so small that calls are refused.
class Starved : public Served {
 protected:
  Starved()
      : Served(
            {},
            [](Config& config) {
              config.tcp.pieces_max = Count{16};
              config.tcp.send_buffer = Bytes{8192};
            },
            9) {}
};

TEST_F(Starved, EveryOctetArrives) {
  std::vector<ClientConnection*> connections;
  for (std::uint32_t i = 0; i < 30; ++i) {
    connections.push_back(&ask(get("/bytes/" + std::to_string(10'000 + i)) + get("/long.html") +
                               get("/short.txt", "Connection: close\r\n")));
  }
  advance(Duration::seconds(300));
  for (std::uint32_t i = 0; i < connections.size(); ++i) {
    Response const first = response_in(connections[i]->received);
    EXPECT_TRUE(first.body == generated(0, 10'000 + i)) << i;
    Response const second = response_in(first.rest);
    EXPECT_TRUE(second.body == long_text) << i;
    EXPECT_EQ(response_in(second.rest).body, "hello") << i;
    EXPECT_EQ(connections[i]->cause, Cause::finished) << i;
  }
  EXPECT_GT(joined.server.statistics().tcp.retransmissions, 0u);
}

}  // namespace
}  // namespace lockstep::http::testing
