// Finds the segments that carried an octet without a walk over the whole trace.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>

namespace lockstep::conformance {

/// An index of one side's segments by their octets. The cost of a query is the number of segments
/// that begin within the longest segment's length before the octet.
class Transmissions {
 public:
  /// `index` orders the segments in time. A segment without length is ignored.
  void add(std::uint32_t begin, std::uint32_t length, std::size_t index) {
    if (length == 0) {
      return;
    }
    if (!known_) {
      origin_ = begin;
      known_ = true;
    }
    std::int64_t const at = offset(begin);
    last_ = at;
    longest_ = std::max<std::int64_t>(longest_, length);
    all_.emplace(at, Span{at + length, index});
  }

  /// Calls visit(index) for each segment that carried the octet, in no particular order.
  template <class Visit>
  void each(std::uint32_t octet, Visit visit) const {
    if (!known_) {
      return;
    }
    std::int64_t const at = offset(octet);
    for (auto found = all_.upper_bound(at - longest_); found != all_.end() && found->first <= at;
         ++found) {
      if (at < found->second.end) {
        visit(found->second.index);
      }
    }
  }

  /// The number of segments before `end` that carried the octet.
  std::size_t count(std::uint32_t octet, std::size_t end) const {
    std::size_t out = 0;
    each(octet, [&](std::size_t index) { out += index < end ? 1u : 0u; });
    return out;
  }

  std::optional<std::size_t> first(std::uint32_t octet) const {
    std::optional<std::size_t> out;
    each(octet, [&](std::size_t index) { out = !out || index < *out ? index : *out; });
    return out;
  }

  /// The last segment before `end` that carried the octet.
  std::optional<std::size_t> last(std::uint32_t octet, std::size_t end) const {
    std::optional<std::size_t> out;
    each(octet, [&](std::size_t index) {
      out = index < end && (!out || index > *out) ? std::optional(index) : out;
    });
    return out;
  }

 private:
  struct Span {
    std::int64_t end = 0;
    std::size_t index = 0;
  };

  /// Sequence numbers wrap: a number is taken to be near the previous one.
  std::int64_t offset(std::uint32_t number) const {
    auto const reference = origin_ + static_cast<std::uint32_t>(last_);
    return last_ + static_cast<std::int32_t>(number - reference);
  }

  std::multimap<std::int64_t, Span> all_;
  std::int64_t last_ = 0, longest_ = 0;
  std::uint32_t origin_ = 0;
  bool known_ = false;
};

}  // namespace lockstep::conformance
