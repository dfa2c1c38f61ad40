// Echoes received data: the server of a load's echo protocol.
#pragma once

#include <cstdint>
#include <vector>

#include "core/stack/stack.hpp"

namespace lockstep::load {

/// Where the server listens.
struct EchoSettings {
  Port port{7};
  Backlog backlog{Count{1024}, Count::unlimited()};
};

/// Connections accepted and octets sent back, since the server was made.
struct EchoCounters {
  std::uint64_t connections = 0;
  std::uint64_t octets = 0;
};

/// Data that cannot be sent yet stays unread, so that the receive window closes; nothing is
/// buffered.
class EchoServer {
 public:
  /// Allocates a slot for each of `connections_max`, which are those of the stack's Config.
  EchoServer(const EchoSettings& settings, Count connections_max);

  /// Listens. Any refusal of Stack::listen().
  [[nodiscard]] Refusal start(Stack& stack);

  // An Application that can be stopped (hw/poll/loop.hpp).
  /// Echoes what has come on the event's connection.
  void on_event(Stack& stack, const Event& event);
  void run(Stack&, Instant) {}
  Instant deadline() const { return Instant::never(); }
  /// Accepts no more and closes its half of each connection; done() once all have ended.
  void stop(Stack& stack, Instant now);
  bool done() const { return open_ == 0; }
  /// Aborts what stop() has left open.
  void abandon(Stack& stack, Instant now);

  std::uint32_t open() const { return open_; }
  const EchoCounters& counters() const { return counters_; }

 private:
  struct Slot {
    ConnectionId id;
    bool is_open = false;
    bool peer_finished = false;
    bool is_finished = false;  // our half is closed
  };
  void go_on(Stack& stack, Slot& slot);

  EchoSettings settings_;
  ListenerId listener_;
  bool stopping_ = false;
  std::uint32_t open_ = 0;
  EchoCounters counters_;
  std::vector<Slot> slots_;
};

}  // namespace lockstep::load
