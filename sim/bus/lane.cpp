// Lanes: the queue, the transmission time, and the verdicts of the fault rules.
#include "sim/bus/lane.hpp"

#include "sim/bus/ecn_mark.hpp"

namespace lockstep::sim {

Arrivals Lane::send(Instant now, std::span<std::byte> frame) {
  auto const length = static_cast<std::uint32_t>(frame.size());
  ++counters_.frames_offered;
  counters_.bytes_offered += length;
  Arrivals arrivals;
  arrivals.drop = refusal_of(now, length);
  if (arrivals.drop == LinkDrop::none) {
    mark_if_long(frame);
    arrivals = judged(departure_of(now, length), frame);
  }
  if (arrivals.drop != LinkDrop::none) {
    count(arrivals.drop);
  }
  return arrivals;
}

LinkDrop Lane::offer(std::uint32_t length) {
  ++counters_.frames_offered;
  counters_.bytes_offered += length;
  LinkDrop const drop =
      length > spec_.mtu_bytes + link_header_bytes_ ? LinkDrop::mtu_exceeded : LinkDrop::none;
  if (drop != LinkDrop::none) {
    count(drop);
  }
  return drop;
}

Arrivals Lane::leave(Instant left, std::span<std::byte> frame) {
  Arrivals const arrivals = judged(left, frame);
  if (arrivals.drop != LinkDrop::none) {
    count(arrivals.drop);
  }
  return arrivals;
}

Instant Lane::answer(Instant now, std::uint32_t length) {
  ++counters_.frames_offered;
  counters_.bytes_offered += length;
  return now + spec_.delay;
}

LinkDrop Lane::refusal_of(Instant now, std::uint32_t length) {
  if (length > spec_.mtu_bytes + link_header_bytes_) {
    return LinkDrop::mtu_exceeded;
  }
  forget_departed(now);
  bool const packets_full = spec_.queue_packets != 0 && waiting_ >= spec_.queue_packets;
  bool const bytes_full = spec_.queue_bytes != 0 && waiting_bytes_ + length > spec_.queue_bytes;
  // An idle link accepts any frame, however small its queue.
  return waiting_ != 0 && (packets_full || bytes_full) ? LinkDrop::queue_full : LinkDrop::none;
}

// Step marking as in data centre switches: marks every packet that finds that many in the queue.
void Lane::mark_if_long(std::span<std::byte> frame) {
  if (spec_.mark_packets != 0 && waiting_ >= spec_.mark_packets &&
      mark_congestion(frame, link_header_bytes_)) {
    ++counters_.marked;
  }
}

Duration Lane::transmission_of(std::uint32_t length) {
  if (length != timed_length_) {
    std::uint64_t const bit_ns = (std::uint64_t{length} + spec_.overhead_bytes) * 8 * 1'000'000'000;
    std::uint64_t const rate = spec_.rate_bits_per_second;
    timed_length_ = length;
    timed_ = Duration{rate == 0 ? 0 : (bit_ns + rate - 1) / rate};
  }
  return timed_;
}

Instant Lane::departure_of(Instant now, std::uint32_t length) {
  if (spec_.rate_bits_per_second == 0) {
    return now;
  }
  free_at_ = later(now, free_at_) + transmission_of(length);
  if (waiting_ == departures_.size()) {
    // Unrolls the ring into a larger one.
    std::vector<Departure> grown(departures_.empty() ? 16 : departures_.size() * 2);
    for (std::uint32_t i = 0; i < waiting_; ++i) {
      grown[i] = departures_[(head_ + i) % departures_.size()];
    }
    departures_ = grown;
    head_ = 0;
  }
  departures_[(head_ + waiting_) & (departures_.size() - 1)] = {free_at_, length};
  ++waiting_;
  waiting_bytes_ += length;
  if (waiting_ > counters_.queue_packets_most) {
    counters_.queue_packets_most = waiting_;
  }
  return free_at_;
}

Arrivals Lane::judged(Instant left, std::span<std::byte> frame) {
  // Copies requested by two rules are one copy, delayed by both. A rule that drops ends the loop.
  Arrivals arrivals;
  Duration extra;
  Duration copy_late;
  for (Rule& rule : rules_) {
    Verdict const verdict = rule.judge({left, frame});
    switch (verdict.act) {
      case Act::pass:
        break;
      case Act::drop:
        arrivals.drop = verdict.reason;
        return arrivals;
      case Act::deliver:
        if (verdict.twice) {
          arrivals.copied = true;
          copy_late = copy_late + verdict.delay;
        } else {
          extra = extra + verdict.delay;
          ++counters_.delayed;
        }
        break;
      case Act::replace:
        ++counters_.replaced;
        break;
    }
  }
  arrivals.at = left + spec_.delay + extra;
  arrivals.copy_at = arrivals.at + copy_late;
  if (arrivals.copy_at.is_never()) {
    // Later than the end of time: it never arrives.
    arrivals.drop = LinkDrop::lost;
  }
  counters_.duplicated += arrivals.copied ? 1 : 0;
  return arrivals;
}

void Lane::forget_departed(Instant now) {
  while (waiting_ != 0 && departures_[head_].at <= now) {
    waiting_bytes_ -= departures_[head_].bytes;
    head_ = static_cast<std::uint32_t>((head_ + 1) & (departures_.size() - 1));
    --waiting_;
  }
}

std::uint32_t Lane::waiting(Instant now) {
  forget_departed(now);
  return waiting_;
}

std::uint32_t Lane::seen_waiting(Instant now) const {
  std::uint32_t gone = 0;
  while (gone != waiting_ && departures_[(head_ + gone) & (departures_.size() - 1)].at <= now) {
    ++gone;
  }
  return waiting_ - gone;
}

Instant Lane::first_departure() const {
  return waiting_ == 0 ? Instant::never() : departures_[head_].at;
}

}  // namespace lockstep::sim
