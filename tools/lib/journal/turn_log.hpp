// Records the input and output of each turn, and writes the turn if it mattered.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/stack/frame.hpp"
#include "core/units/bytes.hpp"
#include "core/units/time.hpp"
#include "tools/lib/journal/writer.hpp"

namespace lockstep::journal {

/// A turn matters if a frame arrived or was to be sent, if the stack or the application had work
/// due by the clock, or if there was an event. Any other turn changes only the time, which the next
/// turn records anyway; so a loop that spins writes nothing.
class TurnLog {
 public:
  TurnLog(Writer& writer, Count frames_per_turn) : writer_(writer) {
    sent_.reserve(frames_per_turn.value);
  }

  void begin(Instant now, std::span<const Ingress> burst);
  /// Marks this turn as one that matters.
  void note() { matters_ = true; }
  void blocked() { blocked_ = matters_ = true; }
  void sent(std::span<const std::byte> frame);
  /// Writes the current turn if it mattered.
  void end();
  /// Between turns: writes the last turn even if it did not matter, so that the time of what
  /// follows is known.
  void catch_up();
  /// Between turns: stop or abandon.
  void command(Kind kind, Instant now);
  /// Between turns: the link's MTU from now on.
  void link_mtu(Bytes mtu);
  /// After the last turn.
  void finish(std::uint64_t fingerprint);
  /// Writes everything so far to the file.
  void flush();

  std::uint64_t turns() const { return turns_; }
  std::uint64_t frames() const { return frames_; }
  const Writer& writer() const { return writer_; }

 private:
  struct Sent {
    std::uint32_t length = 0;
    std::uint64_t hash = 0;
  };

  Writer& writer_;
  std::vector<Sent> sent_;
  Instant now_;      // of the last turn
  Instant written_;  // of the last turn that was written
  bool open_ = false;
  bool matters_ = false;
  bool blocked_ = false;
  std::uint64_t turns_ = 0;
  std::uint64_t frames_ = 0;
};

}  // namespace lockstep::journal
