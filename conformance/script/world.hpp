// One stack with its sockets under a script, and its virtual clock.
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

/// Memory for a stack, reused from one script to the next.
class Arena {
 public:
  /// Aligned to 64 bytes; valid until the next call.
  std::span<std::byte> of(std::uint64_t bytes);

 private:
  std::vector<std::byte> memory_;
};

class World {
 public:
  /// The instant at which the script's clock starts.
  static constexpr Instant origin{1'000'000'000'000};

  World(const Plan& plan, Arena& arena);

  Instant now() const { return port_.clock; }
  /// Takes turns at this instant until nothing changes. False: that did not come to an end.
  bool settle();
  /// The time of the next event if nothing arrives and no call is made.
  Instant next() const;
  /// Advances the clock; `at` must not be later than next().
  void go_to(Instant at) { port_.clock = later(port_.clock, at); }
  void inject(std::vector<std::byte> packet);

  Stack& stack() { return stack_; }
  lockstep_sockets* sockets() { return sockets_.c(); }
  std::deque<Sent> sent;  ///< not yet matched, in order

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
