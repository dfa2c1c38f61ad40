// A lane: one direction of a link, with its rate, delay, queue, MTU and fault rules.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/units/time.hpp"
#include "sim/bus/frame_pool.hpp"
#include "sim/bus/link_drop.hpp"
#include "sim/faults/rule.hpp"
#include "sim/queues/output.hpp"
#include "sim/schedule/schedule.hpp"

namespace lockstep::sim {

// The properties of one direction of a link. Zero means unlimited, except for the MTU.
struct LaneSpec {
  std::uint64_t rate_bits_per_second = 0;
  Duration delay;
  std::uint64_t queue_bytes = 0;    // including the frame being sent
  std::uint32_t queue_packets = 0;  // including the frame being sent
  std::uint32_t mark_packets = 0;   // packets in the queue from which on ECT is marked CE; 0: never
  std::uint32_t mtu_bytes = 1500;   // without the link header
  // A router ahead of the lane answers a packet that exceeds the MTU and must not be fragmented.
  bool answers_too_big = false;
  std::uint32_t overhead_bytes = 0;  // per frame on the wire; costs transmission time only
  OutputSpec output;                 // the discipline of its queue, a shaper, a rate trace
};

struct LaneCounters {
  std::uint64_t frames_offered = 0;
  std::uint64_t frames_delivered = 0;
  std::uint64_t bytes_offered = 0;
  std::uint64_t bytes_delivered = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t replaced = 0;
  std::uint64_t delayed = 0;
  std::uint64_t queue_packets_most = 0;
  std::uint64_t marked = 0;  // packets marked CE
  std::array<std::uint64_t, link_drop_count> drops{};
};

// When a sent frame arrives: the frame itself and at most one copy.
struct Arrivals {
  LinkDrop drop = LinkDrop::none;  // of the frame itself
  bool copied = false;
  Instant at;
  Instant copy_at;
};

// A plain value: a copy is a snapshot.
class Lane {
 public:
  explicit Lane(const LaneSpec& spec, std::uint32_t link_header_bytes)
      : spec_(spec), queued_(!spec.output.plain()), link_header_bytes_(link_header_bytes) {}

  // Whether frames wait in an output of the bus instead of being sent at once.
  bool is_queued() const { return queued_; }

  void add(const Rule& rule) { rules_.push_back(rule); }

  // Sends a frame at `now`, which must not decrease between calls; may change `frame` in place.
  // O(1) plus the rules.
  Arrivals send(Instant now, std::span<std::byte> frame);

  // The parts of send() for a lane with an output: whether the lane takes the frame, and the
  // arrival of a frame whose transmission ends at `left`.
  LinkDrop offer(std::uint32_t length);
  Arrivals leave(Instant left, std::span<std::byte> frame);
  void count_marked() { ++counters_.marked; }
  void note_waiting(std::uint32_t packets) {
    counters_.queue_packets_most =
        packets > counters_.queue_packets_most ? packets : counters_.queue_packets_most;
  }

  // Sends a frame of a router on the path and returns its arrival. It bypasses the queue in both
  // directions, so that it does not affect the lane's sender; no fault rule applies to it.
  Instant answer(Instant now, std::uint32_t length);

  // Frames in the queue at `now`, including the one being sent.
  std::uint32_t waiting(Instant now);
  // The same without a state change, for observers; O(frames).
  std::uint32_t seen_waiting(Instant now) const;
  // When the first of those finishes transmission; never if there are none.
  Instant first_departure() const;

  void count_delivered(std::uint32_t length) {
    ++counters_.frames_delivered;
    counters_.bytes_delivered += length;
  }
  void count(LinkDrop drop) { ++counters_.drops[static_cast<std::uint32_t>(drop)]; }
  const LaneCounters& counters() const { return counters_; }
  const LaneSpec& spec() const { return spec_; }
  std::uint32_t link_header_bytes() const { return link_header_bytes_; }
  const std::vector<Rule>& rules() const { return rules_; }

 private:
  struct Departure {
    Instant at;
    std::uint32_t bytes = 0;
  };

  LinkDrop refusal_of(Instant now, std::uint32_t length);
  void mark_if_long(std::span<std::byte> frame);
  Instant departure_of(Instant now, std::uint32_t length);
  Arrivals judged(Instant left, std::span<std::byte> frame);
  Duration transmission_of(std::uint32_t length);
  void forget_departed(Instant now);

  LaneSpec spec_;
  bool queued_;
  std::uint32_t link_header_bytes_;
  Instant free_at_{0};
  // A ring of queued frames: head_ is the oldest; the size is a power of two.
  std::vector<Departure> departures_;
  std::uint32_t head_ = 0;
  std::uint32_t waiting_ = 0;
  std::uint64_t waiting_bytes_ = 0;
  // The last length and its transmission time, cached: most frames are as long as the previous one.
  std::uint32_t timed_length_ = 0;
  Duration timed_;
  std::vector<Rule> rules_;
  LaneCounters counters_;
};

}  // namespace lockstep::sim
