// A lane: one direction of a link, with its rate, delay, queue, largest packet and fault rules.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/units/time.hpp"
#include "sim/bus/frame_pool.hpp"
#include "sim/bus/link_drop.hpp"
#include "sim/faults/rule.hpp"
#include "sim/schedule/schedule.hpp"

namespace lockstep::sim {

// What one direction of a link can do. Zero means without bound, but for the MTU.
struct LaneSpec {
  std::uint64_t rate_bits_per_second = 0;
  Duration delay;
  std::uint64_t queue_bytes = 0;    // waiting or being sent
  std::uint32_t queue_packets = 0;  // waiting or being sent
  std::uint32_t mark_packets = 0;   // so many waiting or being sent: ECT is marked; 0: never
  std::uint32_t mtu_bytes = 1500;   // without the link header
  // A router stands before it and answers what is larger than that, and may not be cut up.
  bool answers_too_big = false;
  std::uint32_t overhead_bytes = 0;  // around each frame on the wire, which takes time there alone
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
  std::uint64_t marked = 0;  // given CE
  std::array<std::uint64_t, link_drop_count> drops{};
};

// Where a frame that was sent is to arrive: at most itself and one copy.
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
      : spec_(spec), link_header_bytes_(link_header_bytes) {}

  void add(const Rule& rule) { rules_.push_back(rule); }

  // A frame enters at `now`, which never runs backwards; `frame` may be changed in place.
  // O(1) and the rules.
  Arrivals send(Instant now, std::span<std::byte> frame);

  // A frame of a router on the way enters: when it arrives. It waits for nothing and nothing waits
  // for it, so that whoever sends on this lane has its queue to itself; no rule holds for it.
  Instant answer(Instant now, std::uint32_t length);

  // Frames that have not wholly left at `now`.
  std::uint32_t waiting(Instant now);
  // The same for whoever only watches; O(frames).
  std::uint32_t seen_waiting(Instant now) const;
  // When the first of those will have left; never if there are none.
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
  std::uint32_t link_header_bytes_;
  Instant free_at_{0};
  // A ring of what has not left: head_ is the oldest, the size is a power of two.
  std::vector<Departure> departures_;
  std::uint32_t head_ = 0;
  std::uint32_t waiting_ = 0;
  std::uint64_t waiting_bytes_ = 0;
  // The last length and its time on the wire: most frames are as long as the one before.
  std::uint32_t timed_length_ = 0;
  Duration timed_;
  std::vector<Rule> rules_;
  LaneCounters counters_;
};

}  // namespace lockstep::sim
