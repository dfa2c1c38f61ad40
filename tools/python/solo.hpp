// One stack alone with its virtual clock: packets and calls go in, packets and events come out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/seam/stack.hpp"
#include "core/seam/turn.hpp"
#include "sim/kernel/host.hpp"
#include "tools/python/calls.hpp"

namespace lockstep::tools::python {

/// A packet that has left.
struct Sent {
  Instant at;
  std::vector<std::byte> bytes;
};

/// Runs turn() of core/seam; holds no protocol. Failures are thrown as Failure.
class Solo final : public Calls {
 public:
  /// Of a packet that comes in, link header included.
  static constexpr std::uint32_t packet_bytes_max = 65'535 + 18;
  /// Packets of one advance_to(); more is a Failure.
  static constexpr std::uint32_t packets_max = 1'000'000;

  /// `config` is without fault.
  Solo(const Config& config, Instant start);

  Instant now() const { return port_.clock; }
  /// The packets arrive now, in turns of at most Config::burst_frames. Nothing leaves yet.
  void receive(std::span<const Packet> packets);
  /// Turns at this instant until nothing happens any more; gives what leaves.
  std::vector<Sent> transmit();
  /// From deadline to deadline; `to` is not in the past. Gives what leaves on the way.
  std::vector<Sent> advance_to(Instant to);
  /// When something happens next though nobody does anything.
  Instant deadline() const { return stack_.deadline(); }

  Stack& stack() override { return stack_; }
  Inbox& inbox() override { return inbox_; }

  /// All of it: the clock, the stack, events and what is known of connections.
  std::vector<std::byte> snapshot() const;
  /// False: this is no snapshot of a stack with this configuration; nothing was changed.
  bool restore(std::span<const std::byte> from);

  // An Application of turn().
  void told(Stack& stack, const Event& event);
  void run(Stack& stack, Instant) { inbox_.run(stack); }

 private:
  struct Port {
    Instant now() const { return clock; }
    std::span<const Ingress> receive() { return arrived; }
    std::span<std::byte> claim() { return sent == nullptr ? std::span<std::byte>{} : room; }
    void commit(const Egress& egress);
    void reclaim() { arrived = {}; }

    Instant clock;
    std::vector<std::byte> room;
    std::span<const Ingress> arrived;
    std::vector<Sent>* sent = nullptr;  ///< nullptr: there is no room to send
  };

  void drain(std::vector<Sent>& into);

  sim::ArenaMemory arena_;
  Stack stack_;
  Port port_;
  Inbox inbox_;
};

}  // namespace lockstep::tools::python
