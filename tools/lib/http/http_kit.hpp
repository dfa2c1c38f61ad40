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
struct Talk {
  std::string to_say;
  std::uint32_t piece = 65'535;  // octets sent in one turn at most
  bool half_close = false;       // shut down our half after the last octet
  bool reads = true;
  std::size_t appetite = ~std::size_t{0};  // octets still to be read
  std::string heard;
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

  Talk& open(Stack& stack, std::string to_say) {
    auto& talk = talks_.emplace_back(std::make_unique<Talk>());
    talk->to_say = std::move(to_say);
    Open open;
    open.remote = remote_;
    EXPECT_EQ(stack.connect(open, talk->id), Refusal::none);
    return *talk;
  }
  void on_event(Stack& stack, const Event& event) {
    for (auto& talk : talks_) {
      if (talk->id == event.id && !talk->closed) {
        hear(stack, event, *talk);
      }
    }
  }
  void run(Stack& stack, Instant) {
    for (auto& talk : talks_) {
      say(stack, *talk);
    }
  }
  bool all_closed() const {
    for (auto const& talk : talks_) {
      if (!talk->closed) {
        return false;
      }
    }
    return true;
  }

 private:
  static void hear(Stack& stack, const Event& event, Talk& talk) {
    talk.connected = talk.connected || event.kind == EventKind::connected;
    talk.peer_finished = talk.peer_finished || event.kind == EventKind::peer_finished;
    if (event.kind == EventKind::closed) {
      talk.closed = true;
      talk.cause = event.cause;
    }
    if (event.kind == EventKind::peer_finished && !talk.finished) {
      talk.finished = stack.finish(talk.id) == Refusal::none;
    }
  }
  static void say(Stack& stack, Talk& talk) {
    if (!talk.connected || talk.closed) {
      return;
    }
    if (!talk.to_say.empty()) {
      std::string_view const piece = std::string_view(talk.to_say).substr(0, talk.piece);
      Taken const taken = stack.write(talk.id, std::as_bytes(std::span(piece)));
      talk.to_say.erase(0, taken.bytes.count);
    } else if (talk.half_close && !talk.finished) {
      talk.finished = stack.finish(talk.id) == Refusal::none;
    }
    for (auto part = stack.readable(talk.id); talk.reads && talk.appetite != 0 && !part.empty();
         part = stack.readable(talk.id)) {
      std::size_t const taken = std::min(part.size(), talk.appetite);
      talk.heard.append(reinterpret_cast<const char*>(part.data()), taken);
      stack.consume(talk.id, Bytes{static_cast<std::uint32_t>(taken)});
      talk.appetite -= taken;
    }
  }

  Endpoint remote_;
  std::vector<std::unique_ptr<Talk>> talks_;
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
inline Response response_in(const std::string& heard, bool to_head = false) {
  Response out;
  std::size_t const end = heard.find("\r\n\r\n");
  if (end == std::string::npos || !heard.starts_with("HTTP/1.1 ")) {
    return out;
  }
  std::size_t at = heard.find("\r\n") + 2;
  while (at < end) {
    std::size_t const line = heard.find("\r\n", at);
    std::size_t const colon = heard.find(": ", at);
    out.fields[heard.substr(at, colon - at)] = heard.substr(colon + 2, line - colon - 2);
    at = line + 2;
  }
  std::size_t const length = to_head ? 0 : std::stoul("0" + out.fields["Content-Length"]);
  if (heard.size() < end + 4 + length) {
    return out;
  }
  out.status = std::stoi(heard.substr(9, 3));
  out.body = heard.substr(end + 4, length);
  out.rest = heard.substr(end + 4 + length);
  return out;
}

}  // namespace lockstep::http::testing
