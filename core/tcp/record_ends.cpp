// Where segments have to end because of record ends.
#include "core/tcp/record_ends.hpp"

#include "core/tcp/sack_report.hpp"

namespace lockstep::tcp {

[[gnu::cold]] Bytes up_to_record_end(const Engine& e, const Connection& c, Sequence begin,
                                     Bytes data) {
  InFlightState const& a = e.active(c);
  Bytes const from = begin.since(queue_begin(c));
  return from < a.send.length() ? a.send.within_record(e.pools, {from, data}) : data;
}

[[gnu::cold]] Bytes queued_of_record(const Engine& e, const Connection& c, Bytes queued) {
  Bytes const near = least(queued, Bytes{eff_snd_mss(c, e.active(c)) + 1});
  Bytes const part = up_to_record_end(e, c, c.send.nxt, near);
  return part < near ? part : queued;
}

[[gnu::cold]] bool is_record_end(const Engine& e, const Connection& c, Sequence end) {
  return up_to_record_end(e, c, end.previous(), Bytes{2}) == Bytes{1};
}

Sequence last_segment_of(const Engine& e, const Connection& c, const Range& range) {
  InFlightState const& a = e.active(c);
  Sequence begin = last_of(range.begin, range.end - Bytes{eff_snd_mss(c, a)});
  // As many steps as records fit into a segment.
  while (a.send.record_ends != 0) {
    Bytes const left = range.end.since(begin);
    Bytes const part = up_to_record_end(e, c, begin, left);
    if (part == left) {
      break;
    }
    begin = begin + part;
  }
  return begin;
}

}  // namespace lockstep::tcp
