// Two stacks joined by a wire in memory, in virtual time, each with its sockets.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/stack/turn.hpp"
#include "tools/lib/pair/pair.hpp"
#include "tools/lib/pair/wire.hpp"
#include "tools/lib/sockets/pair.h"
#include "tools/lib/sockets/sockets.hpp"

namespace lockstep::tools {

/// Of the left side or of the right one: IPv4 and IPv6, no link header.
Config pair_config(bool right);

/// What the two sides are made of.
struct PairOf {
  Config left = pair_config(false);
  Config right = pair_config(true);
  SocketSettings left_sockets;
  SocketSettings right_sockets;
};

/// The frames between the two cross in a microsecond and are never lost, unless a wire is cut.
class SocketPair {
 public:
  explicit SocketPair(const PairOf& of = {});

  /// A turn of each, and a microsecond. False: nothing happened.
  bool step();
  /// Until `by` has passed; where nothing happens, from one deadline to the next.
  void run(Duration by);
  Instant now() const { return clock_; }
  /// Frames that leave are lost from here on, or no longer.
  void cut(bool lost) { left_port_.cut = right_port_.cut = lost; }
  /// Every frame that leaves a side is copied behind those in the vector, the lost ones too.
  using Frames = std::vector<std::vector<std::byte>>;
  void note_left(Frames* frames) { left_port_.seen = frames; }
  void note_right(Frames* frames) { right_port_.seen = frames; }
  /// The next frame that leaves the left is kept, until it is let go behind those that follow it.
  void hold_left() { left_port_.hold = true; }
  void let_left_go() {
    std::ranges::copy(left_port_.held, to_right_.room().begin());
    to_right_.push(static_cast<std::uint16_t>(left_port_.held.size()));
  }
  /// A frame from somebody else comes to the left.
  void deliver_left(std::span<const std::byte> frame) {
    std::ranges::copy(frame, to_left_.room().begin());
    to_left_.push(static_cast<std::uint16_t>(frame.size()));
  }

 private:
  /// The benchmark's port, but the wire may be cut.
  struct Cuttable : benchmark::Port {
    using Port::Port;
    std::span<std::byte> claim() { return room = Port::claim(); }
    void commit(const Egress& egress) {
      if (seen != nullptr) {
        seen->emplace_back(room.begin(), room.begin() + egress.length);
      }
      if (hold) {
        held.assign(room.begin(), room.begin() + egress.length);
        hold = false;
      } else if (!cut) {
        Port::commit(egress);
      }
    }
    bool cut = false;
    bool hold = false;
    std::vector<std::byte> held;
    Frames* seen = nullptr;
    std::span<std::byte> room;
  };

  bool turn_both();

  Instant clock_ = Instant{} + Duration::seconds(1000);
  benchmark::Ring to_right_;
  benchmark::Ring to_left_;
  benchmark::Arena left_arena_;
  benchmark::Arena right_arena_;
  Stack left_stack_;
  Stack right_stack_;
  Cuttable left_port_;
  Cuttable right_port_;

 public:
  Sockets left;
  Sockets right;
};

}  // namespace lockstep::tools

/// What C holds.
struct lockstep_pair {
  lockstep::tools::SocketPair self;
};
