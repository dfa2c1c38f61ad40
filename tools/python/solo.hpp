// One stack alone with its virtual clock: packets and calls go in, packets and events come out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/stack/stack.hpp"
#include "core/stack/turn.hpp"
#include "sim/kernel/host.hpp"
#include "tools/lib/calls/calls.hpp"
#include "tools/python/judge.hpp"

namespace lockstep::tools::python {

class SnapshotReader;

/// A packet that has left.
struct Sent {
  Instant at;
  std::vector<std::byte> bytes;
};

/// Runs turn() of core/stack; holds no protocol. Failures are thrown as Failure.
class Solo final : public Calls {
 public:
  /// Of a packet that comes in, link header included.
  static constexpr std::uint32_t packet_bytes_max = 65'535 + 18;
  /// Packets of one advance_to(); more is a Failure.
  static constexpr std::uint32_t packets_max = 1'000'000;

  /// `config` is without fault; `seed` is what it was drawn from, to be told if a CHECK fails.
  Solo(const Config& config, Instant start, std::uint64_t seed);

  Instant now() const { return port_.clock; }
  /// The packets arrive now, in turns of at most Config::burst_frames. Nothing leaves yet.
  void receive(std::span<const Packet> packets);
  /// Turns at this instant until nothing happens any more; gives what leaves.
  std::vector<Sent> transmit();
  /// From deadline to deadline; `to` is not in the past. Gives what leaves on the way.
  std::vector<Sent> advance_to(Instant to);
  /// When something happens next though nobody does anything.
  Instant deadline() const { return stack_.deadline(); }

  /// From now on a referee sees what comes and goes.
  void judge();
  /// What it is certain of, in order; nothing before judge().
  std::vector<Wrong> wrongs() const;

  /// Memory to lend from. It must neither change nor go before this object does. Nothing: there is
  /// no region left.
  std::optional<RegionId> bind(std::span<const std::byte> content);
  /// As Stack::lend; a region of another stack's is refused.
  Taken lend(ConnectionId id, Payload payload, More more);

  Stack& stack() override;
  Inbox& inbox() override { return inbox_; }

  /// All of it: the clock, the stack, events and what is known of connections; of the regions what
  /// is needed to know them again.
  std::vector<std::byte> snapshot() const;
  /// False: this is no snapshot of a stack with this configuration, or regions that it had are not
  /// bound here to the same bytes; nothing was changed.
  bool restore(std::span<const std::byte> from);

  // An Application of turn().
  void on_event(Stack& stack, const Event& event);
  void run(Stack& stack, Instant) { inbox_.run(stack); }

 private:
  struct Port {
    Instant now() const { return clock; }
    std::span<const Ingress> receive() { return arrived; }
    std::span<std::byte> claim() { return sent == nullptr ? std::span<std::byte>{} : room; }
    void commit(const Egress& egress);
    void reclaim() { arrived = {}; }
    void flush() {}

    Instant clock;
    std::vector<std::byte> room;
    std::span<const Ingress> arrived;
    std::vector<Sent>* sent = nullptr;  ///< nullptr: there is no room to send
    std::unique_ptr<Judge> judge;       ///< nullptr: nobody watches
  };

  /// What was bound; its place is the number of its region.
  struct Bound {
    std::span<const std::byte> content;
    std::uint64_t hash = 0;
    std::vector<std::uint16_t> sums;
  };

  void drain(std::vector<Sent>& into);
  bool holds_regions(SnapshotReader& in) const;

  std::uint64_t seed_ = 0;
  std::deque<Bound> bound_;  ///< never moved: the stack reads the sums
  sim::ArenaMemory arena_;
  Stack stack_;
  Port port_;
  Inbox inbox_;
};

}  // namespace lockstep::tools::python
