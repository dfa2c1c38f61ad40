// One stack with its sockets, alone under a script, and its virtual clock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "conformance/script/settings.hpp"
#include "core/stack/stack.hpp"
#include "core/stack/turn.hpp"
#include "tools/lib/sockets/sockets.hpp"

namespace lockstep::conformance::script {

/// A packet that the stack has sent.
struct Sent {
  Instant at;
  std::vector<std::byte> bytes;
};

/// Memory of a stack, kept from one script to the next.
class Arena {
 public:
  /// 64 bytes aligned; valid until the next call.
  std::span<std::byte> of(std::uint64_t bytes);

 private:
  std::vector<std::byte> memory_;
};

class World {
 public:
  /// Where the script's clock begins.
  static constexpr Instant origin{1'000'000'000'000};

  World(const Plan& plan, Arena& arena);

  Instant now() const { return port_.clock; }
  /// Turns at this instant until nothing happens any more. False: that never came to an end.
  bool settle();
  /// When something happens next if nobody does anything.
  Instant next() const;
  /// Goes on to an instant, which is no later than next().
  void go_to(Instant at) { port_.clock = later(port_.clock, at); }
  void inject(std::vector<std::byte> packet);

  Stack& stack() { return stack_; }
  lockstep_sockets* sockets() { return sockets_.c(); }
  std::deque<Sent> sent;  ///< and not yet taken, in order

 private:
  struct Port {
    Instant now() const { return clock; }
    std::span<const Ingress> receive();
    std::span<std::byte> claim() { return room; }
    void commit(const Egress& egress);
    void reclaim() { arrived.clear(); }
    void flush() {}

    Instant clock = origin;
    std::vector<std::byte> room;
    std::vector<std::byte> arrived;
    Ingress lent;
    std::deque<Sent>* sent = nullptr;
  };

  Stack stack_;
  tools::Sockets sockets_;
  Port port_;
};

}  // namespace lockstep::conformance::script
