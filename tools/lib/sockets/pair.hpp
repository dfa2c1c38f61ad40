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

/// The configuration of the left or the right side: IPv4 and IPv6, no link header.
Config pair_config(bool right);

/// The configuration of both sides.
struct PairOf {
  Config left = pair_config(false);
  Config right = pair_config(true);
  SocketSettings left_sockets;
  SocketSettings right_sockets;
};

/// Frames take one microsecond from one side to the other and are never lost unless a wire is cut.
class SocketPair {
 public:
  explicit SocketPair(const PairOf& of = {});

  /// Runs one turn on each side and advances the clock by a microsecond. False: nothing happened.
  bool step();
  /// Runs for `by`; while nothing happens, the clock jumps to the next deadline.
  void run(Duration by);
  Instant now() const { return clock_; }
  /// From now on, frames that leave either side are lost (`lost`), or delivered again.
  void cut(bool lost) { left_port_.cut = right_port_.cut = lost; }
  /// Appends a copy of every frame that the left side sends, lost ones included, to the vector.
  using Frames = std::vector<std::vector<std::byte>>;
  void note_left(Frames* frames) { left_port_.seen = frames; }
  void note_right(Frames* frames) { right_port_.seen = frames; }
  /// Holds the next frame that the left side sends; let_left_go() delivers it after later frames.
  void hold_left() { left_port_.hold = true; }
  void let_left_go() {
    std::ranges::copy(left_port_.held, to_right_.room().begin());
    to_right_.push(static_cast<std::uint16_t>(left_port_.held.size()));
  }
  /// Delivers a frame that the peer did not send to the left side.
  void deliver_left(std::span<const std::byte> frame) {
    std::ranges::copy(frame, to_left_.room().begin());
    to_left_.push(static_cast<std::uint16_t>(frame.size()));
  }

 private:
  /// The benchmark's port with a wire that can be cut.
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

/// The opaque type of the C calls.
struct lockstep_pair {
  lockstep::tools::SocketPair self;
};
