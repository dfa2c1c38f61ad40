// Both ends of a short connection: 64 bytes each way, then both close.
#pragma once

#include <array>
#include <cstdint>

#include "core/stack/stack.hpp"
#include "tools/lib/pair/pair.hpp"

namespace lockstep::tools::benchmark {

inline constexpr std::uint32_t message_bytes = 64;
inline constexpr std::uint16_t first_port = 80;
inline constexpr std::uint32_t listeners = 64;  // many, so that four-tuples do not run out
inline constexpr std::uint32_t opens_per_turn = 32;

using Message = std::array<std::byte, message_bytes>;

// Reads all available data; returns the number of bytes.
inline std::uint32_t read_all(Stack& stack, ConnectionId id) {
  std::uint32_t done = 0;
  for (auto part = stack.readable(id); !part.empty(); part = stack.readable(id)) {
    auto const bytes = static_cast<std::uint32_t>(part.size());
    stack.consume(id, Bytes{bytes});
    done += bytes;
  }
  return done;
}

struct ShortCaller {
  std::uint32_t at_once;
  Message message{};
  std::uint32_t live = 0;
  std::uint64_t opened = 0;
  std::uint64_t finished = 0;
  std::uint64_t received = 0;

  void on_event(Stack& stack, const Event& event) {
    switch (event.kind) {
      case EventKind::connected: {
        Taken const taken = stack.write(event.id, message);
        CHECK(taken.bytes.count == message_bytes);
        break;
      }
      case EventKind::received:
        received += read_all(stack, event.id);
        break;
      case EventKind::peer_finished: {
        Refusal const refused = stack.close(event.id);
        CHECK(refused == Refusal::none);
        break;
      }
      case EventKind::closed:
        CHECK(event.cause == Cause::finished);
        --live;
        ++finished;
        break;
      default:
        break;
    }
  }

  // Replaces connections that ended, spread over all ports of the server.
  void run(Stack& stack, Instant) {
    for (std::uint32_t i = 0; i < opens_per_turn && live < at_once; ++i) {
      auto const number = static_cast<std::uint32_t>(opened);
      Open open;
      open.local.address = client_address();
      open.remote = {server_address(),
                     {static_cast<std::uint16_t>(first_port + number % listeners)}};
      ConnectionId id;
      Refusal const refused = stack.connect(open, id);
      CHECK(refused == Refusal::none);
      ++opened;
      ++live;
    }
  }
};

struct ShortAnswerer {
  Message message{};

  void on_event(Stack& stack, const Event& event) {
    if (event.kind != EventKind::received) {
      return;
    }
    std::uint32_t const read = read_all(stack, event.id);
    CHECK(read == message_bytes);
    Taken const taken = stack.write(event.id, message);
    CHECK(taken.bytes.count == message_bytes);
    Refusal const refused = stack.close(event.id);
    CHECK(refused == Refusal::none);
  }

  void run(Stack&, Instant) {}
  Instant deadline() const { return Instant::never(); }
};

// Listens on all ports of the server.
inline void listen_everywhere(Stack& server, Count pending) {
  for (std::uint32_t i = 0; i < listeners; ++i) {
    ListenerId listener;
    Local local;
    local.port = {static_cast<std::uint16_t>(first_port + i)};
    Backlog backlog;
    backlog.pending = pending;
    Refusal const refused = server.listen(local, backlog, listener);
    CHECK(refused == Refusal::none);
  }
}

}  // namespace lockstep::tools::benchmark
