// Ranges of sequence numbers whose octets were received: what a host may report in SACK blocks.
#include "sim/checkers/received_ranges.hpp"

namespace lockstep::sim {
namespace {

constexpr std::int32_t past = 1 << 30;

}  // namespace

void ReceivedRanges::add(Sequence begin, Bytes length) {
  if (length.empty()) {
    return;
  }
  Range fresh{begin, begin + length};
  std::size_t at = 0;
  while (at < ranges_.size() && ranges_[at].end.before(fresh.begin)) {
    ++at;
  }
  std::size_t last = at;
  while (last < ranges_.size() && ranges_[last].begin.at_or_before(fresh.end)) {
    fresh.begin = first_of(fresh.begin, ranges_[last].begin);
    fresh.end = last_of(fresh.end, ranges_[last].end);
    ++last;
  }
  auto const where = ranges_.begin() + static_cast<std::ptrdiff_t>(at);
  ranges_.erase(where, ranges_.begin() + static_cast<std::ptrdiff_t>(last));
  ranges_.insert(ranges_.begin() + static_cast<std::ptrdiff_t>(at), fresh);
  if (ranges_.size() > ranges_max) {
    ranges_[1].begin = ranges_[0].begin;
    ranges_.erase(ranges_.begin());
    forgetful_ = true;
  }
  Sequence const newest = ranges_.back().end;
  for (Range& range : ranges_) {
    if (range.end.distance_from(range.begin) > past || range.end.before(range.begin)) {
      range.begin = range.end - Bytes{past};
    }
  }
  std::size_t const kept = ranges_.size();
  std::erase_if(ranges_,
                [newest](const Range& range) { return newest.distance_from(range.end) > past; });
  forgetful_ = forgetful_ || ranges_.size() != kept;
}

void ReceivedRanges::forget_before(Sequence at) {
  if (!ranges_.empty() && at.distance_from(ranges_.back().end) > past) {
    ranges_.clear();
  }
}

bool ReceivedRanges::touches(Sequence begin, Sequence end) const {
  for (Range const& range : ranges_) {
    if (range.begin.before(end) && begin.before(range.end)) {
      return true;
    }
  }
  return false;
}

Sequence ReceivedRanges::reach(Sequence from) const {
  for (Range const& range : ranges_) {
    if (range.begin.at_or_before(from) && from.before(range.end)) {
      return range.end;
    }
  }
  return from;
}

bool ReceivedRanges::holds(Sequence begin, Sequence end) const {
  if (ranges_.empty()) {
    return false;
  }
  // At a distance of 2^30 or more (from a forged segment) we cannot tell whether it is older or
  // newer.
  bool const old = forgetful_ || ranges_.back().end.distance_from(begin) >= past;
  for (Range const& range : ranges_) {
    if (range.begin.at_or_before(begin) && end.at_or_before(range.end)) {
      return true;
    }
  }
  return old;
}

}  // namespace lockstep::sim
