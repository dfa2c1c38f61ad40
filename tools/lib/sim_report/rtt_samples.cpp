// Round trip times of single segments, from the frames at the sender.
#include "tools/lib/sim_report/rtt_samples.hpp"

namespace lockstep::tools {

void RttSamples::sent(Instant at, Sequence begin, Sequence end) {
  if (begin == end) {
    return;
  }
  if (!begun_ || begin.at_or_after(next_)) {
    begun_ = true;
    next_ = end;
    outstanding_.push_back({begin, end, at});
    return;
  }
  for (Segment& each : outstanding_) {
    each.twice = each.twice || (each.end.after(begin) && each.begin.before(end));
  }
  if (end.after(next_)) {
    outstanding_.push_back({next_, end, at, true});
    next_ = end;
  }
}

std::optional<Duration> RttSamples::acknowledged(Instant at, Sequence ack) {
  std::optional<Duration> sample;
  bool twice = false;
  while (!outstanding_.empty() && outstanding_.front().end.at_or_before(ack)) {
    twice = twice || outstanding_.front().twice;
    sample = at.since(outstanding_.front().at);
    outstanding_.pop_front();
  }
  return twice ? std::nullopt : sample;
}

}  // namespace lockstep::tools
