// A single stack with its virtual clock: packets and calls go in, packets and events come out.
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

/// A packet that was sent.
struct Sent {
  Instant at;
  std::vector<std::byte> bytes;
};

/// Runs turn() of core/stack; has no protocol code. Errors are thrown as Failure.
class Solo final : public Calls {
 public:
  /// The longest packet accepted, link header included.
  static constexpr std::uint32_t packet_bytes_max = 65'535 + 18;
  /// Packets sent in one advance_to(); more is a Failure.
  static constexpr std::uint32_t packets_max = 1'000'000;

  /// `config` must be valid. `seed` is the seed that it was drawn from, printed if a CHECK fails.
  Solo(const Config& config, Instant start, std::uint64_t seed);

  Instant now() const { return port_.clock; }
  /// Delivers the packets now, in turns of at most Config::burst_frames. Nothing is sent yet.
  void receive(std::span<const Packet> packets);
  /// Runs turns at this instant until nothing more happens; returns the packets sent.
  std::vector<Sent> transmit();
  /// Advances from deadline to deadline; `to` must not be in the past. Returns the packets sent.
  std::vector<Sent> advance_to(Instant to);
  /// When the next timer is due.
  Instant deadline() const { return stack_.deadline(); }

  /// From now on a checker sees every packet.
  void judge();
  /// The violations so far, in order; empty before judge().
  std::vector<Wrong> wrongs() const;

  /// Binds memory to lend from, which must stay unchanged as long as this object. Nothing: no
  /// region is left.
  std::optional<RegionId> bind(std::span<const std::byte> content);
  /// As Stack::lend; refuses a region of another stack.
  Taken lend(ConnectionId id, Payload payload, More more);

  Stack& stack() override;
  Inbox& inbox() override { return inbox_; }

  /// The whole state: the clock, the stack, events and known connections; of the regions only what
  /// identifies them.
  std::vector<std::byte> snapshot() const;
  /// False, with nothing changed: not a snapshot of a stack with this configuration, or its regions
  /// are not bound here to the same bytes.
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
    std::unique_ptr<Judge> judge;       ///< nullptr: not judged
  };

  /// A bound region; its index is the number of the region.
  struct Bound {
    std::span<const std::byte> content;
    std::uint64_t hash = 0;
    std::vector<std::uint16_t> sums;
  };

  void drain(std::vector<Sent>& into);
  bool holds_regions(SnapshotReader& in) const;

  std::uint64_t seed_ = 0;
  std::deque<Bound> bound_;  ///< never moved, because the stack refers to the checksum tables
  sim::ArenaMemory arena_;
  Stack stack_;
  Port port_;
  Inbox inbox_;
};

}  // namespace lockstep::tools::python
