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

// Set to [[gnu::noinline]] by the program that counts each host's turns
// (tools/dev/tilegx/segments).
#ifndef LOCKSTEP_OWN_TURN
#define LOCKSTEP_OWN_TURN
#endif

namespace lockstep::tools::benchmark {

// The configuration of both hosts.
struct PairSettings {
  LinkType link = LinkType::ip;
  Bytes mtu{1500};
  bool extensions = false;  // the extensions of a bare Config; otherwise switch_extensions_off()
  Bytes receive_buffer{65535};
  Count ack_stretch_segments = tcp::Config{}.ack_stretch_segments;
  Count connections_max{1024};
  // Connections with data in flight, queued or unread at once; pools are sized for them.
  Count active_max{1024};
  Count blocks_max = tcp::Config{}.blocks_max;  // besides two for each of these connections
};

// The configuration of the client (host 1) or the server (host 2): profile default, with pools of
// the required size.
Config config_of(const PairSettings& settings, bool server);
IpAddress client_address();
IpAddress server_address();

// Memory for a stack, suitably aligned, with every page touched.
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

  // One turn of the client, then one of the server. The clock advances by a microsecond, or to the
  // next deadline if neither had anything to do.
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
  // Dropped frames. The wire loses nothing, so any drop is a fault of the workload.
  std::uint64_t drops() const;

 private:
  // Separate functions, so that instruction counts of the hosts can be told apart.
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
