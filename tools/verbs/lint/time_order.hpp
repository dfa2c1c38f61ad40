// Gives out segments by time where the file is not sorted by time: a recorder of several interfaces
// writes in turn what each of them has collected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/units/time.hpp"
#include "tools/base/capture/decode.hpp"

namespace lockstep::tools {

/// Whether the packets are judged in the order of the file, or in that of their times, or in that
/// of the file although its times go back.
enum class FileOrder : std::uint8_t { as_read, sorted_here, unknown };

/// How the order of a file differs from that of its times. Feed it each segment of the file.
class Times {
 public:
  void take(Instant time, std::uint32_t interface);

  /// The packets of one interface are written as they pass, but for some milliseconds, and the
  /// units of two clocks may differ as much. What several interfaces have collected has passed in
  /// the order of the times. Otherwise, if these go back, a clock was set, or captures were
  /// appended.
  FileOrder order() const;
  /// The most by which an earlier segment of the file is later.
  Duration late_most() const { return late_most_; }

 private:
  std::vector<Instant> newest_of_;  ///< by interface
  Instant newest_;
  Duration late_most_;
  Duration late_most_of_one_;  ///< among the segments of the same interface
};

/// Sorts segments by time, those of equal times as in the file. Holds what may not be the next one,
/// up to 256 MB.
class TimeOrder {
 public:
  /// `late_most`: as of Times.
  explicit TimeOrder(Duration late_most) : late_most_(late_most) {}

  void put(Segment&& segment);
  /// There are no more segments.
  void end() { ended_ = true; }
  /// Moves the next segment to `out`; false if one that follows in the file may be earlier.
  bool take(Segment& out);
  /// Whether there was too little memory to sort all.
  bool failed() const { return failed_; }

 private:
  static constexpr std::size_t held_max = 256'000'000;

  Duration late_most_;
  std::vector<Segment> held_;  // a heap: the earliest one is the first
  std::size_t bytes_ = 0;
  Instant newest_;
  Instant last_;
  bool ended_ = false;
  bool failed_ = false;
};

}  // namespace lockstep::tools
