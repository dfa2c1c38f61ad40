// Collects what one turn was told and what it sent, and writes it if it mattered.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/stack/frame.hpp"
#include "core/units/bytes.hpp"
#include "core/units/time.hpp"
#include "tools/lib/journal/writer.hpp"

namespace lockstep::journal {

/// A turn matters if a frame came or was to leave, if the stack or the application had something to
/// do by the clock, or if there was an event. Without any of these it changes nothing but the time,
/// which the next one tells anyway: a loop that spins writes nothing.
class TurnLog {
 public:
  TurnLog(Writer& writer, Count frames_per_turn) : writer_(writer) {
    sent_.reserve(frames_per_turn.value);
  }

  void begin(Instant now, std::span<const Ingress> burst);
  /// This turn matters.
  void note() { matters_ = true; }
  void blocked() { blocked_ = matters_ = true; }
  void sent(std::span<const std::byte> frame);
  /// Writes the turn that was begun, if there is one and it mattered.
  void end();
  /// Between turns: writes the last turn even if it did not matter, so that what follows has its
  /// time.
  void catch_up();
  /// Between turns: stop or abandon.
  void command(Kind kind, Instant now);
  /// After the last turn.
  void finish(std::uint64_t fingerprint);
  /// Everything so far is handed to the file.
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
  Instant written_;  // of the last one that was written
  bool open_ = false;
  bool matters_ = false;
  bool blocked_ = false;
  std::uint64_t turns_ = 0;
  std::uint64_t frames_ = 0;
};

}  // namespace lockstep::journal
