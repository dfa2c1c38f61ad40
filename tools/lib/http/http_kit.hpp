// A server and a scripted client on two stacks in memory, in virtual time, with optional loss.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/stack/statistics.hpp"
#include "core/stack/turn.hpp"
#include "tools/lib/http/server.hpp"
#include "tools/lib/pair/pair.hpp"
#include "tools/lib/pair/wire.hpp"

namespace lockstep::http::testing {

using tools::benchmark::Arena;
using tools::benchmark::PairSettings;

/// A driver that loses one in every `every` frames to send; 0: none.
template <class Port>
class Lossy {
 public:
  Lossy(Port& port, std::uint32_t every) : port_(port), every_(every) {}
  Instant now() const { return port_.now(); }
  std::span<const Ingress> receive() { return port_.receive(); }
  std::span<std::byte> claim() { return port_.claim(); }
  void commit(const Egress& egress) {
    ++sent_;
    if (every_ == 0 || sent_ % every_ != 0) {
      port_.commit(egress);
    }
  }
  void reclaim() { port_.reclaim(); }
  void flush() { port_.flush(); }

 private:
  Port& port_;
  std::uint32_t every_;
  std::uint32_t sent_ = 0;
};

/// One connection of the client: the octets it has yet to send, and those it has received.
struct ClientConnection {
  std::string to_send;
  std::uint32_t piece = 65'535;  // octets sent in one turn at most
  bool half_close = false;       // shut down our half after the last octet
  bool reads = true;
  std::size_t to_read = ~std::size_t{0};  // octets still to be read
  std::string received;
  bool peer_finished = false;
  bool closed = false;
  Cause cause = Cause::none;
  ConnectionId id;
  bool connected = false;
  bool finished = false;
};

/// Opens one connection for each exchange, sends its request and collects everything received.
class Client {
 public:
  explicit Client(IpAddress server, Port port = {80}) : remote_{server, port} {}

  ClientConnection& open(Stack& stack, std::string to_send) {
    auto& connection = connections_.emplace_back(std::make_unique<ClientConnection>());
    connection->to_send = std::move(to_send);
    Open open;
    open.remote = remote_;
    EXPECT_EQ(stack.connect(open, connection->id), Refusal::none);
    return *connection;
  }
  void on_event(Stack& stack, const Event& event) {
    for (auto& connection : connections_) {
      if (connection->id == event.id && !connection->closed) {
        handle(stack, event, *connection);
      }
    }
  }
  void run(Stack& stack, Instant) {
    for (auto& connection : connections_) {
      send_and_read(stack, *connection);
    }
  }
  bool all_closed() const {
    for (auto const& connection : connections_) {
      if (!connection->closed) {
        return false;
      }
    }
    return true;
  }

 private:
  static void handle(Stack& stack, const Event& event, ClientConnection& connection) {
    connection.connected = connection.connected || event.kind == EventKind::connected;
    connection.peer_finished = connection.peer_finished || event.kind == EventKind::peer_finished;
    if (event.kind == EventKind::closed) {
      connection.closed = true;
      connection.cause = event.cause;
    }
    if (event.kind == EventKind::peer_finished && !connection.finished) {
      connection.finished = stack.finish(connection.id) == Refusal::none;
    }
  }
  static void send_and_read(Stack& stack, ClientConnection& connection) {
    if (!connection.connected || connection.closed) {
      return;
    }
    if (!connection.to_send.empty()) {
      std::string_view const piece =
          std::string_view(connection.to_send).substr(0, connection.piece);
      Taken const taken = stack.write(connection.id, std::as_bytes(std::span(piece)));
      connection.to_send.erase(0, taken.bytes.count);
    } else if (connection.half_close && !connection.finished) {
      connection.finished = stack.finish(connection.id) == Refusal::none;
    }
    for (auto part = stack.readable(connection.id);
         connection.reads && connection.to_read != 0 && !part.empty();
         part = stack.readable(connection.id)) {
      std::size_t const taken = std::min(part.size(), connection.to_read);
      connection.received.append(reinterpret_cast<const char*>(part.data()), taken);
      stack.consume(connection.id, Bytes{static_cast<std::uint32_t>(taken)});
      connection.to_read -= taken;
    }
  }

  Endpoint remote_;
  std::vector<std::unique_ptr<ClientConnection>> connections_;
};

/// Two stacks, a wire between them, one clock.
class Joined {
 public:
  using Port = tools::benchmark::Port;

  explicit Joined(const PairSettings& settings = {}, void (*change)(Config&) = nullptr)
      : config(changed(tools::benchmark::config_of(settings, true), change)),
        to_server_(Bytes{settings.mtu.count + 14}),
        to_client_(Bytes{settings.mtu.count + 14}),
        client_arena_(Stack::arena_bytes(tools::benchmark::config_of(settings, false))),
        server_arena_(Stack::arena_bytes(config)),
        client(tools::benchmark::config_of(settings, false), client_arena_.bytes()),
        server(config, server_arena_.bytes()),
        client_port(to_client_, to_server_, clock_),
        server_port(to_server_, to_client_, clock_) {}

  Instant now() const { return clock_; }

  /// One turn on each side.
  template <class ClientDriver, class ClientApp, class ServerDriver, class ServerApp>
  bool step(ClientDriver& client_driver, ClientApp& client_app, ServerDriver& server_driver,
            ServerApp& server_app) {
    Outcome const first = turn(client, client_driver, client_app);
    Outcome const second = turn(server, server_driver, server_app);
    client.check_invariants();
    server.check_invariants();
    clock_ = clock_ + Duration::microseconds(1);
    return first != Outcome::idle || second != Outcome::idle;
  }
  /// Runs until `by` has passed, or until nothing more is due before that.
  template <class ClientDriver, class ClientApp, class ServerDriver, class ServerApp>
  void advance(Duration by, ClientDriver& client_driver, ClientApp& client_app,
               ServerDriver& server_driver, ServerApp& server_app) {
    Instant const end = clock_ + by;
    while (clock_ < end) {
      if (!step(client_driver, client_app, server_driver, server_app)) {
        Instant const next =
            earlier(earlier(client.deadline(), server.deadline()), server_app.deadline());
        clock_ = earlier(end, later(clock_, next));
      }
    }
  }

 private:
  static Config changed(Config config, void (*change)(Config&)) {
    if (change != nullptr) {
      change(config);
    }
    return config;
  }

 public:
  Config config;

 private:
  Instant clock_ = Instant{} + Duration::seconds(1000);
  tools::benchmark::Ring to_server_;
  tools::benchmark::Ring to_client_;
  Arena client_arena_;
  Arena server_arena_;

 public:
  Stack client;
  Stack server;
  Port client_port;
  Port server_port;
};

/// A parsed response; `rest` is what follows it.
struct Response {
  int status = 0;
  std::map<std::string, std::string> fields;
  std::string body;
  std::string rest;
};

/// The first response in the received octets; status 0 if it is incomplete.
inline Response response_in(const std::string& received, bool to_head = false) {
  Response out;
  std::size_t const end = received.find("\r\n\r\n");
  if (end == std::string::npos || !received.starts_with("HTTP/1.1 ")) {
    return out;
  }
  std::size_t at = received.find("\r\n") + 2;
  while (at < end) {
    std::size_t const line = received.find("\r\n", at);
    std::size_t const colon = received.find(": ", at);
    out.fields[received.substr(at, colon - at)] = received.substr(colon + 2, line - colon - 2);
    at = line + 2;
  }
  std::size_t const length = to_head ? 0 : std::stoul("0" + out.fields["Content-Length"]);
  if (received.size() < end + 4 + length) {
    return out;
  }
  out.status = std::stoi(received.substr(9, 3));
  out.body = received.substr(end + 4, length);
  out.rest = received.substr(end + 4 + length);
  return out;
}

}  // namespace lockstep::http::testing
