// Compares times segment by segment, and sorts them with a heap.
#include "tools/verbs/lint/time_order.hpp"

#include <algorithm>
#include <utility>

namespace lockstep::tools {
namespace {

bool is_later(const Segment& one, const Segment& other) {
  return std::pair(one.time, one.number) > std::pair(other.time, other.number);
}

std::size_t bytes_of(const Segment& segment) {
  return sizeof(Segment) + segment.options.size() + segment.payload.size();
}

}  // namespace

void Times::take(Instant time, std::uint32_t interface) {
  newest_of_.resize(std::max(newest_of_.size(), interface + std::size_t{1}));
  Instant& newest = newest_of_[interface];
  late_most_ = std::max(late_most_, newest_.since(time));
  late_most_of_one_ = std::max(late_most_of_one_, newest.since(time));
  newest_ = std::max(newest_, time);
  newest = std::max(newest, time);
}

FileOrder Times::order() const {
  constexpr Duration of_queues = Duration::milliseconds(20);
  constexpr Duration of_blocks = Duration::seconds(2);
  if (late_most_ <= of_queues) {
    return FileOrder::as_read;
  }
  const bool by_blocks = late_most_of_one_ <= of_queues && late_most_ <= of_blocks;
  return by_blocks ? FileOrder::sorted_here : FileOrder::unknown;
}

void TimeOrder::put(Segment&& segment) {
  newest_ = std::max(newest_, segment.time);
  bytes_ += bytes_of(segment);
  held_.push_back(std::move(segment));
  std::push_heap(held_.begin(), held_.end(), is_later);
}

bool TimeOrder::take(Segment& out) {
  if (held_.empty()) {
    return false;
  }
  const bool sure = ended_ || newest_.since(held_.front().time) >= late_most_;
  if (!sure && bytes_ <= held_max) {
    return false;
  }
  std::pop_heap(held_.begin(), held_.end(), is_later);
  out = std::move(held_.back());
  held_.pop_back();
  bytes_ -= bytes_of(out);
  failed_ = failed_ || out.time < last_;
  last_ = out.time;
  return true;
}

}  // namespace lockstep::tools
