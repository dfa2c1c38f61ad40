// The schedule of events in one total order: (instant, rank of kind, insertion number).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/units/check.hpp"
#include "core/units/time.hpp"

namespace lockstep::sim {

// What an entry does. The value is the rank: at one instant frames arrive before hosts take turns,
// so that a host receives all frames of that instant in one burst.
enum class Kind : std::uint8_t {
  arrival,  // subject: a frame that reaches the end of its link
  station,  // subject: a station that runs
  turn,     // subject: a host that takes a turn at this instant
  timer,    // subject: a host whose deadline may have come
  output,   // subject: a lane whose output can send
};

// One scheduled event. `order` has the rank in its upper 8 bits and the insertion number below.
struct Entry {
  Instant at;
  std::uint64_t order = 0;
  std::uint32_t subject = 0;
  std::uint32_t detail = 0;

  constexpr Kind kind() const { return static_cast<Kind>(order >> 56); }
  constexpr bool precedes(const Entry& other) const {
    return at.ns < other.at.ns || (at.ns == other.at.ns && order < other.order);
  }
};

// A 4-ary heap: one cache line holds most of a node's children. A plain value: a copy is a
// snapshot.
class Schedule {
 public:
  bool empty() const { return heap_.empty(); }
  std::uint64_t size() const { return heap_.size(); }
  const Entry& first() const {
    CHECK(!heap_.empty());
    return heap_.front();
  }

  // `at` must not be never. O(log n).
  struct What {
    Kind kind;
    std::uint32_t subject;
    std::uint32_t detail;
  };
  void add(Instant at, What what) {
    CHECK(!at.is_never());
    CHECK(inserted_ < insertions_max);
    std::uint64_t const order = std::uint64_t{static_cast<std::uint8_t>(what.kind)} << 56;
    heap_.push_back({});
    sift_up({at, order | inserted_, what.subject, what.detail});
    ++inserted_;
  }

  // Removes the first entry. The schedule must not be empty. O(log n).
  Entry take() {
    CHECK(!heap_.empty());
    Entry const first = heap_.front();
    Entry const last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) {
      sift_down(last);
    }
    return first;
  }

  // The number of entries of that kind. O(n).
  std::uint64_t count(Kind kind) const {
    std::uint64_t found = 0;
    for (const Entry& entry : heap_) {
      found += entry.kind() == kind ? 1 : 0;
    }
    return found;
  }

  std::uint64_t inserted() const { return inserted_; }

 private:
  static constexpr std::uint64_t insertions_max = std::uint64_t{1} << 56;
  static constexpr std::size_t fan_out = 4;

  // Inserts `entry`; the last position of the heap is free.
  void sift_up(const Entry& entry) {
    std::size_t hole = heap_.size() - 1;
    while (hole != 0) {
      std::size_t const parent = (hole - 1) / fan_out;
      if (!entry.precedes(heap_[parent])) {
        break;
      }
      heap_[hole] = heap_[parent];
      hole = parent;
    }
    heap_[hole] = entry;
  }

  // Inserts `entry`; the first position of the heap is free.
  void sift_down(const Entry& entry) {
    std::size_t const size = heap_.size();
    std::size_t hole = 0;
    while (true) {
      std::size_t const eldest = hole * fan_out + 1;
      if (eldest >= size) {
        break;
      }
      std::size_t const end = eldest + fan_out < size ? eldest + fan_out : size;
      std::size_t least = eldest;
      for (std::size_t child = eldest + 1; child < end; ++child) {
        if (heap_[child].precedes(heap_[least])) {
          least = child;
        }
      }
      if (!heap_[least].precedes(entry)) {
        break;
      }
      heap_[hole] = heap_[least];
      hole = least;
    }
    heap_[hole] = entry;
  }

  std::vector<Entry> heap_;
  std::uint64_t inserted_ = 0;
};

}  // namespace lockstep::sim
