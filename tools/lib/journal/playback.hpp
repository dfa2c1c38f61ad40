// A driver that plays a journal's turns back and compares the frames sent.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/stack/driver.hpp"
#include "tools/lib/journal/reader.hpp"

namespace lockstep::journal {

/// The first frame that differs from the recorded one.
struct Divergence {
  std::uint64_t frame = 0;  ///< counted over all frames sent, from 1
  std::uint64_t turn = 0;   ///< from 1
  Instant at;
  std::optional<FrameOut> recorded;                ///< none: no frame was recorded there
  std::optional<std::vector<std::byte>> replayed;  ///< none: no frame is sent there now
};

/// A Driver. For each turn call start, turn(), finish.
class Playback {
 public:
  explicit Playback(std::uint32_t frame_max) : room_(frame_max) {}

  void start(const Turn& turn);
  /// Ends a turn; a recorded frame that was not sent is a divergence too.
  void finish();
  const std::optional<Divergence>& divergence() const { return divergence_; }
  std::uint64_t frames_out() const { return frames_out_; }
  std::uint64_t turns() const { return turns_; }
  /// Called with every frame sent that matches the recording.
  std::function<void(std::span<const std::byte>)> on_sent;

  Instant now() const { return turn_->now; }
  std::span<const Ingress> receive() { return burst_; }
  std::span<std::byte> claim();
  void commit(const Egress& egress);
  void reclaim() {}
  void flush() {}

 private:
  void diverge(std::optional<FrameOut> recorded, std::optional<std::vector<std::byte>> replayed);

  const Turn* turn_ = nullptr;
  std::size_t sent_ = 0;  // frames sent in this turn
  std::uint64_t frames_out_ = 0;
  std::uint64_t turns_ = 0;
  std::vector<Ingress> burst_;
  std::vector<std::byte> room_;
  std::optional<Divergence> divergence_;
};

static_assert(Driver<Playback>);

}  // namespace lockstep::journal
