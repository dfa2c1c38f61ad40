// Two stacks joined by a wire in memory, in one thread, on one virtual clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/stack/stack.hpp"
#include "core/stack/turn.hpp"
#include "tools/lib/pair/wire.hpp"

// [[gnu::noinline]] in the program that counts each host's turns (tools/dev/tilegx/segments).
#ifndef LOCKSTEP_OWN_TURN
#define LOCKSTEP_OWN_TURN
#endif

namespace lockstep::tools::benchmark {

// What each of the two hosts is made of.
struct PairSettings {
  LinkType link = LinkType::ip;
  Bytes mtu{1500};
  bool extensions = false;  // all that a bare Config offers; without: switch_extensions_off()
  Bytes receive_buffer{65535};
  Count ack_stretch_segments = tcp::Config{}.ack_stretch_segments;
  Count connections_max{1024};
  // Connections with something in flight, queued or unread at once, and all that hangs on them.
  Count active_max{1024};
  Count blocks_max = tcp::Config{}.blocks_max;  // beside two for each of these connections
};

// The configuration of the client (host 1) or of the server (host 2): the default profile with the
// pools that the settings need.
Config config_of(const PairSettings& settings, bool server);
IpAddress client_address();
IpAddress server_address();

// Memory for a stack, aligned as it wants it, every page of it touched.
class Arena {
 public:
  explicit Arena(std::uint64_t bytes);
  std::span<std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::byte> memory_;
  std::span<std::byte> bytes_;
};

class Pair {
 public:
  explicit Pair(const PairSettings& settings);

  // One turn of the client, then one of the server; the clock goes on by a microsecond, or to the
  // next deadline if there was nothing to do at all.
  template <Application Client, Application Server>
  void step(Client& client_app, Server& server_app) {
    Outcome const first = client_turn(client_app);
    Outcome const second = server_turn(server_app);
    clock_ = clock_ + Duration::microseconds(1);
    if (first == Outcome::idle && second == Outcome::idle) {
      skip_idle_time();
    }
  }

  std::uint64_t frames() const { return client_port.frames_sent + server_port.frames_sent; }
  std::uint64_t retransmissions() const;
  // Frames that died, for whatever reason: a fault of the workload, as the wire loses nothing.
  std::uint64_t drops() const;

 private:
  // Who counts instructions tells the hosts apart by these.
  template <Application App>
  LOCKSTEP_OWN_TURN Outcome client_turn(App& app) {
    return turn(client, client_port, app);
  }
  template <Application App>
  LOCKSTEP_OWN_TURN Outcome server_turn(App& app) {
    return turn(server, server_port, app);
  }

  void skip_idle_time();

  Instant clock_ = Instant{} + Duration::seconds(1000);
  Ring to_server_;
  Ring to_client_;
  Arena client_arena_;
  Arena server_arena_;

 public:
  Stack client;
  Stack server;
  Port client_port;
  Port server_port;
};

}  // namespace lockstep::tools::benchmark
