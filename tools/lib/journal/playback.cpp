// Compares the frames of a turn one by one, by length and hash.
#include "tools/lib/journal/playback.hpp"

#include "core/units/check.hpp"

namespace lockstep::journal {

void Playback::start(const Turn& turn) {
  turn_ = &turn;
  sent_ = 0;
  ++turns_;
  burst_.clear();
  for (const FrameIn& frame : turn.in) {
    burst_.push_back({frame.bytes, frame.checksum, frame.arrived});
  }
}

std::span<std::byte> Playback::claim() {
  bool const all_sent = sent_ >= turn_->out.size();
  return (turn_->blocked && all_sent) || divergence_ ? std::span<std::byte>{} : room_;
}

void Playback::commit(const Egress& egress) {
  CHECK(egress.length <= room_.size());
  auto const frame = std::span<const std::byte>(room_).first(egress.length);
  ++frames_out_;
  bool const expected = sent_ < turn_->out.size();
  if (!expected || turn_->out[sent_].length != frame.size() ||
      turn_->out[sent_].hash != hash_of(frame)) {
    diverge(expected ? std::optional(turn_->out[sent_]) : std::nullopt,
            std::vector(frame.begin(), frame.end()));
  } else if (on_sent) {
    on_sent(frame);
  }
  ++sent_;
}

void Playback::finish() {
  if (sent_ < turn_->out.size() && !divergence_) {
    ++frames_out_;
    diverge(turn_->out[sent_], std::nullopt);
  }
}

void Playback::diverge(std::optional<FrameOut> recorded,
                       std::optional<std::vector<std::byte>> replayed) {
  if (!divergence_) {
    divergence_ = {frames_out_, turns_, turn_->now, recorded, std::move(replayed)};
  }
}

}  // namespace lockstep::journal
